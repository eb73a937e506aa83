#include "glint/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "glint/base/error.h"

namespace glint {
namespace {

// Long enough to catch the next loop of a training step (tens of microseconds), short enough that an idle
// pool leaves the core to others: endless spinning beside busy neighbours costs a scheduler slice per loop.
constexpr int kSpins = 2000;

constexpr size_t kClosed = ~(~size_t{0} >> 1);  // the highest bit

constexpr size_t kMaxThreads = 1024;  // far above any use; a slip of the finger must not start a million

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable start, finished;

  // One loop: set by run(), read by workers that see a new generation.
  Call call = nullptr;
  void* body = nullptr;
  size_t tiles = 0;
  std::atomic<uint64_t> generation{0};
  std::atomic<size_t> next{0};
  // Workers inside the loop, and whether it takes no more of them. The loop ends when its tiles are done, and
  // waits for nobody who has not come yet: to wake a thread can take longer than the tiles.
  std::atomic<size_t> door{kClosed};
  std::atomic<bool> stop{false};

  std::function<bool()> should_stop;  // asked by the thread that calls run() alone

  std::mutex error_mutex;
  std::exception_ptr error;
  size_t error_tile = 0;

  void check_stop() const {
    if (should_stop && should_stop()) throw Error({.code = ErrorCode::interrupted, .what = "interrupted"});
  }

  void work(size_t worker) {
    for (size_t tile; (tile = next.fetch_add(1, std::memory_order_relaxed)) < tiles;) {
      try {
        if (worker == 0) check_stop();
        call(body, tile, worker);
      } catch (...) {
        next.store(tiles, std::memory_order_relaxed);
        const std::lock_guard lock(error_mutex);
        if (!error || tile < error_tile) error = std::current_exception(), error_tile = tile;
      }
    }
  }

  void worker_main(size_t worker) {
    uint64_t seen = 0;
    for (;;) {
      for (int i = 0; i < kSpins && generation.load(std::memory_order_acquire) == seen; i++) pause_cpu();
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        start.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
      }
      seen = generation.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      if (!enter()) continue;
      work(worker);
      if (door.fetch_sub(1, std::memory_order_acq_rel) == kClosed + 1) {
        const std::lock_guard lock(mutex);
        finished.notify_one();
      }
    }
  }

  bool enter() {
    size_t inside = door.load(std::memory_order_relaxed);
    while (!(inside & kClosed))
      if (door.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void publish() {
    {
      const std::lock_guard lock(mutex);
      generation.fetch_add(1, std::memory_order_acq_rel);
    }
    start.notify_all();
  }

  void stop_all() {
    stop.store(true, std::memory_order_release);
    publish();
    for (std::thread& t : workers) t.join();
    workers.clear();
  }
};

ThreadPool::ThreadPool(size_t threads)
    : state_(std::make_unique<State>()), threads_(threads ? threads : available_threads()) {
  if (threads_ > kMaxThreads)
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(threads_) + " threads are too many",
                 .expected = "at most " + std::to_string(kMaxThreads),
                 .hint = std::to_string(available_threads()) + ", what this process may run on"});
  try {
    state_->workers.reserve(threads_);
    for (size_t w = 1; w < threads_; w++) state_->workers.emplace_back([s = state_.get(), w] { s->worker_main(w); });
  } catch (const std::bad_alloc&) {
    state_->stop_all();  // a thread that is destroyed before it is joined would end the process
    throw;
  } catch (const std::system_error& e) {
    state_->stop_all();
    throw Error(
        {.what = "cannot start " + std::to_string(threads_) + " threads: " + e.what(), .hint = "fewer threads"});
  }
}

ThreadPool::~ThreadPool() { state_->stop_all(); }

void ThreadPool::run(size_t tiles, Call call, void* body) {
  State& s = *state_;
  if (threads_ == 1 || tiles <= 1) {
    for (size_t i = 0; i < tiles; i++) s.check_stop(), call(body, i, 0);
    return;
  }
  s.check_stop();
  s.call = call;
  s.body = body;
  s.tiles = tiles;
  s.error = nullptr;
  s.next.store(0, std::memory_order_relaxed);
  s.door.store(0, std::memory_order_release);
  s.publish();
  s.work(0);
  s.door.fetch_or(kClosed, std::memory_order_acq_rel);
  const auto empty = [&] { return s.door.load(std::memory_order_acquire) == kClosed; };
  for (int i = 0; i < kSpins && !empty(); i++) pause_cpu();
  if (!empty()) {
    std::unique_lock lock(s.mutex);
    s.finished.wait(lock, empty);
  }
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

StopScope::StopScope(ThreadPool& pool, std::function<bool()> should_stop)
    : pool_(pool), outer_(std::exchange(pool.state_->should_stop, std::move(should_stop))) {}

StopScope::~StopScope() { pool_.state_->should_stop = std::move(outer_); }

size_t available_threads() {
  size_t n = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = std::max(1, CPU_COUNT(&set));
  // A container's quota: "max 100000" or "150000 100000" (microseconds per period).
  std::ifstream quota("/sys/fs/cgroup/cpu.max");
  std::string limit;
  double period = 0;
  if (quota >> limit >> period && limit != "max" && period > 0)
    n = std::min(n, std::max<size_t>(1, static_cast<size_t>(std::ceil(std::atof(limit.c_str()) / period))));
  return n;
}

}  // namespace glint

#include "engines.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "errors.h"
#include "gil.h"
#include "glint/base/error.h"
#include "glint/base/threads.h"
#include "glint/kernels/kernels.h"

namespace glint::python {
namespace {

// Never destroyed: their threads may outlive the interpreter.
struct Engines {
  size_t threads = 0;
  uint64_t generation = 0;
  std::vector<std::unique_ptr<EngineBox>> free;
  std::vector<std::weak_ptr<EngineSeat>> seats;
};
Engines& engines() {
  static Engines* all = new Engines;
  return *all;
}
constexpr size_t kMostFree = 4, kMostSeats = 4;

}  // namespace

EngineBox::EngineBox(size_t count, const std::string& word, Group* group, Listener* first)
    : threads(count), precision(word), listener(first) {
  engine = std::make_unique<Engine>(EngineOptions{.threads = count, .precision = word, .group = group},
                                    Callbacks{.note =
                                                  [this](const std::string& text) {
                                                    if (listener) listener->note(text);
                                                  },
                                              .progress =
                                                  [this](const ProgressReport& report) {
                                                    if (listener) listener->progress(report);
                                                  },
                                              .should_stop = [this] { return listener && listener->should_stop(); }});
}

EngineLease::EngineLease(std::string precision) : generation_(engines().generation) {
  Engines& all = engines();
  const auto fits = [&](const auto& box) { return box->threads == all.threads && box->precision == precision; };
  const auto found = std::find_if(all.free.begin(), all.free.end(), fits);
  if (found != all.free.end()) {
    box_ = std::move(*found);
    all.free.erase(found);
  } else {
    box_ = std::make_unique<EngineBox>(all.threads, precision);
  }
}

EngineLease::~EngineLease() {
  box_->listener = nullptr;
  Engines& all = engines();
  if (generation_ != all.generation) {  // made before a fork, given back in the child
    box_.release();
    return;
  }
  if (box_->threads == all.threads && all.free.size() < kMostFree) all.free.push_back(std::move(box_));
}

EngineSeat::EngineSeat() : threads_(engines().threads), generation_(engines().generation) {}

EngineBox& EngineSeat::box(const std::string& precision) {
  std::unique_ptr<EngineBox>& box = boxes_[precision];
  if (!box) box = std::make_unique<EngineBox>(threads_, precision);
  return *box;
}

EngineSeat::~EngineSeat() {
  if (here()) return;
  for (auto& [precision, box] : boxes_) box.release();  // their threads do not exist
}

bool EngineSeat::here() const { return generation_ == engines().generation; }

bool EngineSeat::current() const { return here() && threads_ == engines().threads; }

SeatLock::SeatLock(std::shared_ptr<EngineSeat> seat) : seat_(std::move(seat)) {
  if (seat_->owner_ == std::this_thread::get_id())
    refuse("run", "glint is called from inside a call on a run", "one call after the other");
  while (!seat_->mutex_.try_lock()) {
    {
      const GilReleased release;
      if (seat_->mutex_.try_lock_for(std::chrono::milliseconds(50))) break;
    }
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }
  seat_->owner_ = std::this_thread::get_id();
}

SeatLock::~SeatLock() {
  seat_->owner_ = {};
  seat_->mutex_.unlock();
}

std::shared_ptr<EngineSeat> free_seat() {
  std::vector<std::weak_ptr<EngineSeat>>& seats = engines().seats;
  std::erase_if(seats, [](const auto& seat) { return seat.expired() || !seat.lock()->current(); });
  if (seats.size() < kMostSeats) {
    auto fresh = std::make_shared<EngineSeat>();
    seats.push_back(fresh);
    return fresh;
  }
  return std::ranges::min_element(seats, {}, &std::weak_ptr<EngineSeat>::use_count)->lock();
}

size_t thread_count() { return engines().threads ? engines().threads : available_threads(); }
size_t asked_threads() { return engines().threads; }

void set_thread_count(size_t threads) {
  if (threads > 1024)
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(threads) + " threads",
                 .where = "threads",
                 .expected = "a number from 1 to 1024, or 0: as many as the system grants"});
  Engines& all = engines();
  if (threads == all.threads) return;
  all.threads = threads;
  all.free.clear();
}

void after_fork_in_child() {
  Engines& all = engines();
  all.generation++;
  for (auto& box : all.free) box.release();
  all.free.clear();
}

const Kernels& best_kernels() {
  static const Kernels& best = kernels(detect_cpu().best);
  return best;
}

}  // namespace glint::python

// A small thread pool whose only operation is a loop over tiles. Which thread runs which tile is left to
// chance; tile borders are the caller's and must not depend on the number of threads, so that results do not
// either.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>

namespace glint {

class ThreadPool {
 public:
  // 0: as many as the process may run on (affinity and cgroup quota counted). Error (usage) above 1024, Error
  // (failure) when the system refuses.
  explicit ThreadPool(size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t size() const { return threads_; }

  // Calls body(tile, worker) for every tile in [0, tiles), worker in [0, size()); returns when all are done.
  // The calling thread works too. An exception stops the handing out of tiles; the one of the lowest tile
  // that fails is rethrown, at any number of threads: tiles are handed out in order, and a tile that was
  // handed out is finished. No allocation. Not re-entrant: a body must not use the same pool. Inside a
  // StopScope the loop can be stopped between tiles, with Error (interrupted): what it was writing is then
  // half done.
  template <class Body>
  void for_tiles(size_t tiles, Body&& body) {
    run(tiles, &invoke<std::remove_reference_t<Body>>, const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  friend class StopScope;
  using Call = void (*)(void* body, size_t tile, size_t worker);
  template <class Body>
  static void invoke(void* body, size_t tile, size_t worker) {
    (*static_cast<Body*>(body))(tile, worker);
  }
  void run(size_t tiles, Call call, void* body);

  struct State;
  std::unique_ptr<State> state_;
  size_t threads_;
};

// While it lives every loop of the pool can be stopped: the thread that starts a loop asks `should_stop` at
// its beginning and before each tile that it takes itself, and true ends the loop. This makes every call that
// computes on the pool one that can be cancelled. An empty function: the loops inside cannot be stopped,
// whatever is around them. What was set before comes back at the end.
class StopScope {
 public:
  StopScope(ThreadPool& pool, std::function<bool()> should_stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  ThreadPool& pool_;
  std::function<bool()> outer_;
};

// What ThreadPool(0) uses.
size_t available_threads();

}  // namespace glint

// The engines that calls compute with. A call takes one that is free, or makes one, and gives it back: so
// that several Python threads, and calls from inside callbacks, never wait for each other. Only touched with
// the GIL held, which is all the locking there is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "glint/lab/work/engine.h"

namespace glint::python {

// What the callbacks of an engine go to while a call has it.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void note(const std::string& text) = 0;
  virtual void progress(const ProgressReport& report) = 0;
  virtual bool should_stop() = 0;
};

struct EngineBox {
  EngineBox(size_t threads, const std::string& precision, Group* group = nullptr, Listener* listener = nullptr);
  size_t threads;
  std::string precision;
  Listener* listener = nullptr;
  std::unique_ptr<Engine> engine;
};

class EngineLease {
 public:
  explicit EngineLease(std::string precision = "f32");
  ~EngineLease();
  EngineLease(const EngineLease&) = delete;
  EngineLease& operator=(const EngineLease&) = delete;
  EngineBox& box() const { return *box_; }

 private:
  std::unique_ptr<EngineBox> box_;
  uint64_t generation_;
};

// The engines of open runs, which keep them: at most kMostSeats, so that many runs are not many threads. Runs
// that sit together compute one after the other.
struct EngineSeat {
  EngineSeat();
  ~EngineSeat();
  EngineBox& box(const std::string& precision);  // made when it is first asked for
  bool here() const;                             // made in this process, not in the parent of a fork
  bool current() const;                          // that, and with as many threads as are asked for now

 private:
  friend class SeatLock;
  const size_t threads_;
  const uint64_t generation_;
  std::map<std::string, std::unique_ptr<EngineBox>> boxes_;
  std::timed_mutex mutex_;
  std::thread::id owner_ = {};  // who holds the mutex; only looked at with the GIL held
};
std::shared_ptr<EngineSeat> free_seat();  // where the fewest sit

// The turn of one call. Waits without the GIL, and hears Ctrl-C; Error (usage) inside a call that has it.
class SeatLock {
 public:
  explicit SeatLock(std::shared_ptr<EngineSeat> seat);
  ~SeatLock();
  SeatLock(const SeatLock&) = delete;
  SeatLock& operator=(const SeatLock&) = delete;

 private:
  const std::shared_ptr<EngineSeat> seat_;
};

size_t thread_count();   // that engines are made with
size_t asked_threads();  // the same, 0 for as many as the system grants
// 0: as many as the system grants. Error (usage) above 1024.
void set_thread_count(size_t threads);
// In the child of a fork the threads of the parent's engines do not exist: they are left alone for good.
void after_fork_in_child();

// The kernels for this processor, for work that needs no engine.
const Kernels& best_kernels();

}  // namespace glint::python

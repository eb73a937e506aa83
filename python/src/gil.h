// Python's lock. A daemon thread that asks for it while Python ends gets it no more: Python before 3.14 ends the
// thread with a forced unwind, which no destructor of work under way can stand. Here such a thread sleeps for good,
// as later Pythons have it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace glint::python {

[[noreturn]] inline void sleep_for_good() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Without the lock as long as it lives.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      sleep_for_good();
    }
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

// With the lock as long as it lives.
class GilHeld {
 public:
  GilHeld() {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      sleep_for_good();
    }
  }
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  PyGILState_STATE state_ = {};
};

}  // namespace glint::python

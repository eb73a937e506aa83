#include "call.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace glint::python {

Call::Call(nb::handle talk, const std::string& precision) : lease_(precision), talk_(nb::borrow(talk)) {
  lease_.listen(this);
}

Call::~Call() { lease_.listen(nullptr); }

void Call::on_python(const std::function<void()>& job) {
  std::unique_lock lock(mutex_);
  if (raised_) return;
  jobs_.push_back(&job);
  wake_.notify_one();
  served_.wait(lock, [&] { return std::find(jobs_.begin(), jobs_.end(), &job) == jobs_.end(); });
}

// With the lock held and without the GIL: runs what waits, and looks for signals.
void Call::serve(std::unique_lock<std::mutex>& lock) {
  const std::function<void()>* job = jobs_.empty() ? nullptr : jobs_.front();
  lock.unlock();
  std::exception_ptr raised;
  {
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (job) (*job)();
    } catch (...) {
      raised = std::current_exception();
    }
  }
  lock.lock();
  if (raised && !raised_) {
    raised_ = raised;
    stop_ = true;
    jobs_.clear();  // nobody is told any more
  } else if (job && !jobs_.empty()) {
    jobs_.pop_front();
  }
  served_.notify_all();
}

void Call::run_thread(const std::function<void()>& work) {
  {
    nb::gil_scoped_release release;
    std::thread thread([&] {
      try {
        work();
      } catch (...) {
        failed_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      finished_ = true;
      wake_.notify_one();
    });
    std::unique_lock lock(mutex_);
    while (!finished_) {
      const bool told =
          wake_.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished_ || !jobs_.empty(); });
      if (finished_ && jobs_.empty()) break;
      if (!raised_ && (!told || !jobs_.empty())) serve(lock);
    }
    lock.unlock();
    thread.join();
  }
  if (raised_) std::rethrow_exception(raised_);
  if (failed_) std::rethrow_exception(failed_);
}

void Call::note(const std::string& text) {
  if (talk_.is_none()) return;
  on_python([&] { talk_.attr("note")(text); });
}

void Call::progress(const ProgressReport& r) {
  if (talk_.is_none()) return;
  on_python([&] { talk_.attr("progress")(r.label, r.done, r.total, r.start, r.unit, r.detail); });
}

}  // namespace glint::python

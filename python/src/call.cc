#include "call.h"

#include <cxxabi.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "gil.h"
#include "ranks.h"

namespace glint::python {

Call::Call(nb::handle talk, const std::string& precision)
    : Call(
          talk, [precision] { return precision; }, nb::none()) {}

Call::Call(nb::handle talk, std::function<std::string()> precision, nb::handle ranks)
    : precision_(std::move(precision)), talk_(nb::borrow(talk)), ranks_(nb::borrow(ranks)), threads_(asked_threads()) {
  if (!ranks_.is_none()) return;
  lease_.emplace(precision_());
  box_ = &lease_->box();
  box_->listener = this;
}

Call::Call(nb::handle talk, EngineBox& box)
    : box_(&box), talk_(nb::borrow(talk)), ranks_(nb::none()), threads_(box.threads) {
  box_->listener = this;
}

Call::~Call() {
  if (box_) box_->listener = nullptr;
}

void Call::on_python(const std::function<void()>& job, bool always) {
  std::unique_lock lock(mutex_);
  if (raised_ && !always) return;
  jobs_.push_back({&job, always});
  wake_.notify_one();
  served_.wait(lock, [&] { return std::ranges::find(jobs_, &job, &Asked::job) == jobs_.end(); });
}

// With the lock held and without the GIL: looks for signals, and runs what waits.
void Call::serve(std::unique_lock<std::mutex>& lock) {
  const Asked asked = jobs_.empty() ? Asked{nullptr, false} : jobs_.front();
  const bool told = raised_ != nullptr;
  lock.unlock();
  std::exception_ptr raised;
  const auto run = [&](const auto& what) {
    try {
      what();
    } catch (const abi::__forced_unwind&) {  // Python ended the thread in a callback
      sleep_for_good();
    } catch (...) {
      if (!raised) raised = std::current_exception();
    }
  };
  {
    const GilHeld gil;
    run([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    if (asked.job && (asked.always || (!raised && !told))) run(*asked.job);
  }
  lock.lock();
  if (raised && !raised_) raised_ = raised, stop_ = true;
  if (asked.job) jobs_.pop_front();
  if (raised_) std::erase_if(jobs_, [](const Asked& a) { return !a.always; });  // nobody is told any more
  served_.notify_all();
}

// An error of this rank is told to the others, and theirs comes from the group.
void Call::run_work(const std::function<void()>& work) {
  if (ranks_.is_none()) return work();
  Group group(std::make_unique<PythonTransport>(*this, ranks_));
  first_ = group.first();
  try {
    EngineBox box(threads_, precision_(), &group, this);
    box_ = &box;
    work();
    box_ = nullptr;
  } catch (const Error& e) {
    group.report(e);
    throw;
  } catch (const std::exception& e) {
    group.report(Error({.what = e.what()}));
    throw;
  }
}

void Call::run_thread(const std::function<void()>& work) {
  {
    const GilReleased release;
    std::thread thread([&] {
      try {
        run_work(work);
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
      if (!told || !jobs_.empty()) serve(lock);
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

// How long work runs. The work is done on a thread of its own; the Python thread that called waits without
// the GIL, looks for Ctrl-C every 50 ms, and is the only one that runs Python: what the work has to tell goes
// to it and comes back. So callbacks run where the caller is, and no thread of glint ever needs the GIL.
//
// With a glint._ranks.Ranks the work is shared with other processes (python/src/ranks.h): its engine is made
// on the thread of the work, with the group, and an error of one rank is raised at all.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>

#include "engines.h"

namespace glint::python {

namespace nb = nanobind;

class Call : public Listener {
 public:
  // `talk` is a glint._talk.Talk, or None.
  explicit Call(nb::handle talk, const std::string& precision = "f32");
  // `precision` is asked before the engine is made: with ranks within run(), so that its error reaches all.
  Call(nb::handle talk, std::function<std::string()> precision, nb::handle ranks);
  // On an engine that is held for it: that of an open run.
  Call(nb::handle talk, EngineBox& box);
  ~Call() override;

  // With ranks only within run().
  const Engine& engine() const { return *box_->engine; }
  bool first() const { return first_; }  // after run(): whether this is rank 0
  nb::handle talk() const { return talk_; }

  // work() on another thread. What it throws is thrown here, unless Python raised meanwhile: Ctrl-C or a
  // callback. Then the work is asked to stop, and that is raised when it has.
  template <class Work>
  auto run(const Work& work) {
    using Result = std::invoke_result_t<Work>;
    if constexpr (std::is_void_v<Result>) {
      run_thread([&] { work(); });
    } else {
      std::optional<Result> result;
      run_thread([&] { result.emplace(work()); });
      return std::move(*result);
    }
  }

  // From the thread of the work: `job` runs on the Python thread, with the GIL; returns when it has. Nothing
  // happens after Python raised, unless it is done `always`: then it must not raise itself.
  void on_python(const std::function<void()>& job, bool always = false);

  void note(const std::string& text) override;
  void progress(const ProgressReport& report) override;
  bool should_stop() override { return stop_; }

 private:
  struct Asked {
    const std::function<void()>* job;
    bool always;
  };
  void run_thread(const std::function<void()>& work);
  void run_work(const std::function<void()>& work);
  void serve(std::unique_lock<std::mutex>& lock);

  const std::function<std::string()> precision_;
  std::optional<EngineLease> lease_;  // none with ranks, nor where an engine is held
  EngineBox* box_ = nullptr;
  nb::object talk_, ranks_;
  const size_t threads_;
  bool first_ = true;
  std::mutex mutex_;
  std::condition_variable wake_, served_;
  std::deque<Asked> jobs_;
  bool finished_ = false;
  std::atomic<bool> stop_ = false;
  std::exception_ptr failed_, raised_;
};

}  // namespace glint::python

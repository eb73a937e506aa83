// An open run for Python: glint::Run, opened once, with the engine that it computes on. Calls on one run come
// one after the other; a Python thread that waits for its turn does so without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call.h"
#include "glint/lab/models/run.h"

namespace glint::python {

namespace nb = nanobind;

class OpenRun {
 public:
  OpenRun(RunSource source, nb::handle talk);
  ~OpenRun();
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;

  // What it was opened as. A call asks for the same model with other data, say, by another source.
  const RunSource& source() const { return source_; }
  // work(engine, run), on a thread of its own (call.h).
  template <class Work>
  auto call(nb::handle talk, const RunSource& source, const Work& work, bool own_precision = false) {
    const Turn turn(*this);
    const std::string precision = own_precision ? first().info().precision : "f32";
    Call call(talk, seat_->box(precision));
    return call.run([&] { return work(call.engine(), run_of(source, call.engine())); });
  }
  template <class Work>
  auto call(nb::handle talk, const Work& work) {
    return call(talk, source_, work);
  }
  // work(run) here and now: for what takes no time.
  template <class Work>
  auto look(const Work& work) {
    const Turn turn(*this);
    return work(first());
  }
  // The run as it was opened, kept alive by who has this.
  std::shared_ptr<Run> share();
  void close();
  bool closed() const { return kept_.empty(); }

 private:
  // One call on the run; Error (usage) when it is closed by then.
  struct Turn {
    explicit Turn(OpenRun& run);
    std::optional<SeatLock> lock;
  };
  struct Kept {
    RunSource source;
    const Engine* engine;
    std::shared_ptr<Run> run;
  };
  Run& first() { return *kept_.front().run; }
  Run& run_of(const RunSource& source, const Engine& engine);
  // To another seat: after a fork, or when the number of threads was changed. The old one is held by who calls,
  // unless it is of the parent.
  void move_seat();

  RunSource source_;
  std::shared_ptr<EngineSeat> seat_;
  std::vector<Kept> kept_;  // the first as it was opened; none: closed
};

}  // namespace glint::python

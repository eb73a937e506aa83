#include "open_run.h"

#include <utility>

#include "errors.h"

namespace glint::python {
namespace {

constexpr size_t kMostKept = 4;  // of the same model with other data, and the first

}  // namespace

// Who waits for a seat lets others move the run or close it: so it is looked at again when the seat is held.
OpenRun::Turn::Turn(OpenRun& run) {
  for (std::shared_ptr<EngineSeat> held;;) {
    if (run.closed())
      refuse("run", "the run " + run.source_.run + " is closed", "an open run",
             "`load(" + run.source_.run + ")` opens it again");
    if (held != run.seat_) {
      held = run.seat_;
      lock.reset();
      if (held->here()) lock.emplace(held);
    } else if (held->current()) {
      return;
    } else {
      run.move_seat();
    }
  }
}

void OpenRun::move_seat() {
  std::shared_ptr<EngineSeat> old = free_seat();
  const Engine& engine = *old->box("f32").engine;
  std::vector<Kept> moved;
  moved.push_back({source_, &engine, first().again(engine, source_)});
  moved.swap(kept_), old.swap(seat_);
  if (!old->here()) new auto(std::move(moved));  // a thread of the parent may have been at work on them
}

OpenRun::OpenRun(RunSource source, nb::handle talk) : source_(std::move(source)), seat_(free_seat()) {
  const SeatLock turn(seat_);
  Call call(talk, seat_->box("f32"));
  std::unique_ptr<Run> opened = call.run([&] { return open_run(call.engine(), source_); });
  kept_.push_back({source_, &call.engine(), std::move(opened)});
}

OpenRun::~OpenRun() {
  if (!seat_->here()) new auto(std::move(kept_));
}

Run& OpenRun::run_of(const RunSource& source, const Engine& engine) {
  for (const Kept& kept : kept_)
    if (kept.source == source && kept.engine == &engine) return *kept.run;
  if (kept_.size() > kMostKept) kept_.erase(kept_.begin() + 1);
  return *kept_.emplace_back(source, &engine, first().again(engine, source)).run;
}

std::shared_ptr<Run> OpenRun::share() {
  const Turn turn(*this);
  return kept_.front().run;
}

void OpenRun::close() {
  if (closed()) return;
  const Turn turn(*this);
  kept_.clear();
}

}  // namespace glint::python

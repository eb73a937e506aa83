// Ctrl-C, SIGTERM and SIGHUP as a request that a verb answers when it can stop without harm. A verb makes a
// StopOnSignal; the engine of the verb asks (engine_of.cc).
#pragma once

namespace glint::cli {

// Whether a signal asked for it since the last StopOnSignal was made.
bool signal_asked_to_stop();

// While it lives, Ctrl-C, SIGTERM and a terminal that goes away ask the verb to save or clean up and stop; a
// second Ctrl-C ends at once. A reader of stdout or stderr that goes away is no reason to stop: from here on
// it is an error of the stream alone.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  void (*hangup_)(int);
};

}  // namespace glint::cli

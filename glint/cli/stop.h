// Ctrl-C, SIGTERM and SIGHUP as a request that a verb answers when it can stop without harm.
#pragma once

#include <atomic>
#include <csignal>

namespace glint::cli {

inline std::atomic<bool> stop_requested{false};

// While it lives, Ctrl-C, SIGTERM and a terminal that goes away ask the verb to save or clean up and stop; a
// second Ctrl-C ends at once. A reader of stdout or stderr that goes away is no reason to stop: from here on
// it is an error of the stream alone.
class StopOnSignal {
 public:
  StopOnSignal() {
    stop_requested = false;
    for (const int s : {SIGINT, SIGTERM})
      std::signal(s, [](int signal) {
        stop_requested = true;
        std::signal(signal, SIG_DFL);
      });
    // The system and the shell may both send it, so a second one must not end the process. Where it is ignored
    // (nohup) it stays so.
    hangup_ = std::signal(SIGHUP, [](int) { stop_requested = true; });
    if (hangup_ == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~StopOnSignal() {
    for (const int s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);
    std::signal(SIGHUP, hangup_ == SIG_ERR ? SIG_DFL : hangup_);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  void (*hangup_)(int) = SIG_DFL;
};

}  // namespace glint::cli

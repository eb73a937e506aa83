// Ctrl-C and SIGTERM as a request that a verb answers when it can stop without harm.
#pragma once

#include <atomic>
#include <csignal>

namespace glint::cli {

inline std::atomic<bool> stop_requested{false};

// While it lives, Ctrl-C and SIGTERM ask the verb to save or clean up and stop; a second Ctrl-C ends at once.
class StopOnSignal {
 public:
  StopOnSignal() {
    stop_requested = false;
    for (const int s : {SIGINT, SIGTERM})
      std::signal(s, [](int signal) {
        stop_requested = true;
        std::signal(signal, SIG_DFL);
      });
  }
  ~StopOnSignal() {
    for (const int s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);
  }
};

}  // namespace glint::cli

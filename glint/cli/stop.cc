#include "glint/cli/stop.h"

#include <atomic>
#include <csignal>

namespace glint::cli {
namespace {

std::atomic<bool> asked{false};  // a signal handler can reach nothing but a global

}  // namespace

bool signal_asked_to_stop() { return asked; }

StopOnSignal::StopOnSignal() {
  asked = false;
  for (const int s : {SIGINT, SIGTERM})
    std::signal(s, [](int signal) {
      asked = true;
      std::signal(signal, SIG_DFL);
    });
  // The system and the shell may both send it, so a second one must not end the process. Where it is ignored
  // (nohup) it stays so.
  hangup_ = std::signal(SIGHUP, [](int) { asked = true; });
  if (hangup_ == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

StopOnSignal::~StopOnSignal() {
  for (const int s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);
  std::signal(SIGHUP, hangup_ == SIG_ERR ? SIG_DFL : hangup_);
}

}  // namespace glint::cli

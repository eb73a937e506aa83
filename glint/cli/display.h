// What long work tells, on stderr: one bar for its progress, which goes away when the work is done or other
// work begins, and a line for every note. Any thread may call it.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "glint/cli/progress.h"
#include "glint/cli/verb.h"
#include "glint/lab/work/engine.h"

namespace glint::cli {

class Display {
 public:
  explicit Display(const Context& context) : context_(context) {}

  void progress(const ProgressReport& report);
  void note(const std::string& text);
  // For logs: shown where there is no terminal.
  void line(const std::string& text);
  // Units per second of the work shown last, as text; "-" when there was none.
  std::string rate();
  void finish();

 private:
  const Context& context_;
  std::mutex mutex_;
  std::optional<Progress> bar_;
  std::string label_;
  bool complete_ = false;
};

}  // namespace glint::cli

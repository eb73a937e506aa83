// The Engine of a verb, made from what it was given. Every verb that computes gets it here.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "glint/cli/progress.h"
#include "glint/cli/verb.h"
#include "glint/lab/work/engine.h"

namespace glint::cli {

// What long work tells, on stderr: one bar for its progress, which goes away when the work is done or other
// work begins, and a line for every note. Any thread may call it.
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

// Heeds --threads, --precision, --isa and --linalg. Notes of the engine are lines on stderr, and its progress
// is a bar there. `context` is kept. A verb without --linalg has no use for it: its engine opens no library
// for linear algebra.
Engine engine_of(const Context& context);
// The same with a display that the verb tells of other work too.
Engine engine_of(const Context& context, const std::shared_ptr<Display>& display);

}  // namespace glint::cli

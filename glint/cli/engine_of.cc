#include "glint/cli/engine_of.h"

#include <memory>
#include <optional>

#include "glint/cli/stop.h"

namespace glint::cli {
namespace {

LinalgBackend backend(const std::string& word) {
  if (word == "auto") return LinalgBackend::automatic;
  return word == "openblas" ? LinalgBackend::openblas : LinalgBackend::eigen;
}

// What the engine tells, on stderr: a bar for its progress, which goes away when the work is done or other
// work begins, and a line for every note. The engine calls it from one thread at a time.
class EngineDisplay {
 public:
  explicit EngineDisplay(const Context& context) : context_(context) {}

  void note(const std::string& text) {
    const std::string line = "note: " + text;
    bar_ ? bar_->message(line) : context_.say(line);
  }
  void progress(const ProgressReport& p) {
    if (!bar_ || p.label != label_) {
      bar_.reset();  // takes the old one away
      bar_.emplace(context_.err, context_.terminal, context_.shared.quiet,
                   ProgressSetup{.label = p.label, .total = p.total, .unit = p.unit});
      label_ = p.label;
    }
    bar_->set_total(p.total);
    bar_->update(p.done, p.detail);
    if (p.total > 0 && p.done >= p.total) bar_.reset();
  }

 private:
  const Context& context_;
  std::optional<Progress> bar_;
  std::string label_;
};

}  // namespace

Engine engine_of(const Context& context) {
  const SharedOptions& o = context.shared;
  const auto display = std::make_shared<EngineDisplay>(context);
  return Engine({.threads = o.threads,
                 .isa = std::string(name(context.isa)),
                 .precision = o.precision,
                 .linalg = backend(o.linalg),
                 .files = &context.files},
                {.note = [display](const std::string& text) { display->note(text); },
                 .progress = [display](const ProgressReport& p) { display->progress(p); },
                 .should_stop = signal_asked_to_stop});
}

}  // namespace glint::cli

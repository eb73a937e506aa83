#include "glint/cli/engine_of.h"

#include "glint/cli/ranks.h"
#include "glint/cli/stop.h"

namespace glint::cli {
namespace {

LinalgBackend backend(const std::string& word) {
  if (word == "auto") return LinalgBackend::automatic;
  return word == "openblas" ? LinalgBackend::openblas : LinalgBackend::eigen;
}

}  // namespace

Engine engine_of(const Context& context) { return engine_of(context, std::make_shared<Display>(context)); }

Engine engine_of(const Context& context, const std::shared_ptr<Display>& display) {
  const SharedOptions& o = context.shared;
  return Engine({.threads = o.threads.value_or(0),
                 .isa = std::string(name(context.isa)),
                 .precision = o.precision,
                 .linalg = backend(o.linalg),
                 .files = &context.files,
                 .group = context.ranks.started()},
                {.note = [display](const std::string& text) { display->note(text); },
                 .progress = [display](const ProgressReport& p) { display->progress(p); },
                 .should_stop = signal_asked_to_stop});
}

}  // namespace glint::cli

#include "glint/cli/engine_of.h"

#include "glint/cli/stop.h"

namespace glint::cli {
namespace {

LinalgBackend backend(const std::string& word) {
  if (word == "auto") return LinalgBackend::automatic;
  return word == "openblas" ? LinalgBackend::openblas : LinalgBackend::eigen;
}

}  // namespace

Engine engine_of(const Context& context) {
  const SharedOptions& o = context.shared;
  return Engine({.threads = o.threads,
                 .isa = std::string(name(context.isa)),
                 .precision = o.precision,
                 .linalg = backend(o.linalg),
                 .files = &context.files},
                {.note = [&context](const std::string& text) { context.say("note: " + text); },
                 .progress = {},
                 .should_stop = [] { return stop_requested.load(); }});
}

}  // namespace glint::cli

// The Engine of a verb, made from what it was given. Every verb that computes gets it here.
#pragma once

#include <memory>

#include "glint/cli/progress.h"
#include "glint/cli/verb.h"
#include "glint/lab/work/engine.h"

namespace glint::cli {

// Heeds --threads, --precision, --isa and --linalg. Notes of the engine are lines on stderr, and its progress
// is a bar there. `context` is kept. A verb without --linalg has no use for it: its engine opens no library
// for linear algebra.
Engine engine_of(const Context& context);
// The same with a display that the verb tells of other work too.
Engine engine_of(const Context& context, const std::shared_ptr<Display>& display);

}  // namespace glint::cli

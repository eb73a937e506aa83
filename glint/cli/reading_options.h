// The options that every verb that reads weights has: RUN, --data, --data-dir, --refine.
#pragma once

#include "glint/cli/verb.h"
#include "glint/lab/run.h"

namespace glint::cli {

void add_reading_options(Verb& verb, RunSource& options);

}  // namespace glint::cli

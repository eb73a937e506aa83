// The options that every verb that reads weights has: RUN, --data, --data-dir, --refine.
#pragma once

#include "glint/cli/verb.h"
#include "glint/lab/run.h"

namespace glint::cli {

inline constexpr char kRefineHelp[] =
    "images: improve the scaled form by descent on logits and decisions; once for a run, seconds";

void add_reading_options(Verb& verb, RunSource& options);

}  // namespace glint::cli

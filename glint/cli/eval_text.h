// The part of `glint eval` for language models.
#pragma once

#include "glint/cli/verb.h"

namespace glint::cli {

struct EvalTextOptions {
  std::string run, data, split, text, precision;
};
void evaluate_text(Context& context, const EvalTextOptions& options);

}  // namespace glint::cli

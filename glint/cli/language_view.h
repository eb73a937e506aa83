// The part of `glint spectrum` for language models: the GLU of a layer, with tokens as its outputs.
#pragma once

#include <string>
#include <vector>

#include "glint/cli/verb.h"
#include "glint/lab/opened_run.h"

namespace glint::cli {

struct LanguageSpectrumOptions {
  std::string run, data, form = "calibrated";
  std::string token, direction;
  std::string hidden;  // the number of a hidden unit from 1 on, or a .npy file; "": not asked for
  bool scan = false, no_figures = false;
  size_t layer = 0;  // from 1 on; 0: the last
  size_t top = 0, show = 4, near = 8;
};
void language_spectrum(Context& context, const LanguageSpectrumOptions& options);

}  // namespace glint::cli

// What `glint spectrum` says on a terminal.
#pragma once

#include <string>

#include "glint/cli/picture.h"
#include "glint/lab/read.h"

namespace glint::cli {

// For an image model; with pictures where the terminal shows them.
std::string spectrum_text(const ReadResult& result, const Drawing& drawing);

// What stands below the table of forms: what its columns mean, and the even share of the layer.
std::string fidelity_notes(const ReadResult& result);

// "97.6", or "-" for what is not a number.
std::string percent_text(double share, int decimals);

}  // namespace glint::cli

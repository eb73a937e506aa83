// What `glint spectrum` says on a terminal.
#pragma once

#include <string>

#include "glint/cli/picture.h"
#include "glint/lab/read/read.h"

namespace glint::cli {

// The last of the commands that make sense after a reading.
inline constexpr const char* kHelpReading = "glint help reading  # what the tables and pictures show";

// For an image model; with pictures where the terminal shows them.
std::string spectrum_text(const ReadResult& result, const Drawing& drawing);

// What stands below the table of forms: what its columns mean, and the even share of the layer.
std::string fidelity_notes(const ReadResult& result);

// "97.6", or "-" for what is not a number.
std::string percent_text(double share, int decimals);

}  // namespace glint::cli

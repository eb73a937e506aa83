// What the program knows about the terminal it talks to, and how an error looks there.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "glint/base/error.h"

namespace glint::cli {

struct Terminal {
  bool interactive = false;                                   // a person sees it, lines can be redrawn
  bool color = false;                                         // interactive, and NO_COLOR is not set
  std::function<size_t()> width = [] { return size_t{80}; };  // columns, asked anew: windows change
};

// `descriptor`: 1 for stdout, 2 for stderr.
Terminal detect_terminal(int descriptor);

// "glint: error: WHAT" and lines for where, expected and try.
std::string error_text(const ErrorParts& parts, bool color);

}  // namespace glint::cli

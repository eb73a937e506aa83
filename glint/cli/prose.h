// Sentences of a result that are wider than the terminal.
#pragma once

#include <string>

namespace glint::cli {

// Breaks every line that is wider than `columns` at spaces. Behind a label ("data:  ") what follows is
// indented as the first line is. Lines with colours are pictures, which fit, and stay.
std::string prose(const std::string& text, size_t columns);

}  // namespace glint::cli

// Bars of characters in tables.
#pragma once

#include <string>

namespace glint::cli {

// As long as |value| is beside `largest`, at most `width` columns, in eighths of a column.
std::string bar(double value, double largest, size_t width);
// The same in whole columns: full blocks above 0, light ones below.
std::string signed_bar(double value, double largest, size_t width);

}  // namespace glint::cli

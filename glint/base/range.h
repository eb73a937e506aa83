// What a number may be: checked, and said in words.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace glint {

// The lower limit of a range without 0: "above 0".
inline constexpr double kAboveZero = std::numeric_limits<double>::min();

// "a number from 0 to 1", "a number above 0, at most 1000", "a number from 1 on", "a finite number".
// Whole limits have no exponent: 1000000, not 1e+06.
std::string range_text(double low, double high, const std::string& kind = "a number");

// Error (usage) that names the parameter when `value` is not from `low` to `high`.
void check_range(const char* parameter, size_t value, size_t low, size_t high);
// Throws the same Error for a number that the caller found to be outside.
[[noreturn]] void refuse_value(const char* parameter, double value, double low, double high);

}  // namespace glint

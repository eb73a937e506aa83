#include "glint/base/range.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

std::string limit_text(double value) {
  const bool whole = std::trunc(value) == value && std::fabs(value) < 1e16;
  return whole ? fixed_text(value, 0) : number_text(value);
}

}  // namespace

std::string range_text(double low, double high, const std::string& kind) {
  const bool from = low > std::numeric_limits<double>::lowest(), to = high < std::numeric_limits<double>::max();
  if (low == kAboveZero) return kind + " above 0" + (to ? ", at most " + limit_text(high) : "");
  if (from && to) return kind + " from " + limit_text(low) + " to " + limit_text(high);
  if (from) return kind + " from " + limit_text(low) + " on";
  if (to) return kind + " up to " + limit_text(high);
  return kind == "a number" ? "a finite number" : kind;
}

[[noreturn]] static void refuse(const char* parameter, const std::string& value, const std::string& expected) {
  bad_argument(parameter, "`" + std::string(parameter) + "` = " + value + " is out of range", expected);
}

void check_range(const char* parameter, size_t value, size_t low, size_t high) {
  if (value >= low && value <= high) return;
  refuse(parameter, std::to_string(value),
         range_text(static_cast<double>(low), static_cast<double>(high), "a whole number"));
}

void refuse_value(const char* parameter, double value, double low, double high) {
  refuse(parameter, number_text(value), range_text(low, high));
}

}  // namespace glint

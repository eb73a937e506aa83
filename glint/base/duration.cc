#include "glint/base/duration.h"

#include <algorithm>
#include <cmath>

namespace glint {

std::string duration_text(double seconds) {
  const long long s = std::llround(std::clamp(seconds, 0.0, 1e9));
  const long long hours = s / 3600, minutes = s / 60 % 60;
  const auto two_digits = [](long long n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (hours > 0) return std::to_string(hours) + ":" + two_digits(minutes) + ":" + two_digits(s % 60);
  return std::to_string(minutes) + ":" + two_digits(s % 60);
}

}  // namespace glint

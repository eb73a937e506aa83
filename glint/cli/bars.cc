#include "glint/cli/bars.h"

#include <algorithm>
#include <cmath>

namespace glint::cli {

std::string bar(double value, double largest, size_t width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double cells = largest > 0 ? std::fabs(value) / largest * static_cast<double>(width) : 0;
  const auto eighths = static_cast<size_t>(std::lround(8 * std::min(cells, static_cast<double>(width))));
  std::string out;
  for (size_t i = 0; i < eighths / 8; i++) out += "█";
  return out + kEighths[eighths % 8];
}

std::string signed_bar(double value, double largest, size_t width) {
  const double cells = largest > 0 ? std::fabs(value) / largest * static_cast<double>(width) : 0;
  std::string out;
  for (size_t i = 0; i < std::min(width, static_cast<size_t>(std::lround(cells))); i++) out += value < 0 ? "░" : "█";
  return out;
}

}  // namespace glint::cli

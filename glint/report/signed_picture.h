// Signed maps as small pictures in a figure: blue below 0, white at 0, red above, which people with a colour
// vision deficiency can tell apart. Each picture has its own scale.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/report/figure.h"

namespace glint {

// An eigenvector seen in the input space, with its eigenvalue.
struct SignedPicture {
  double value = 0;
  std::vector<double> pixels = {};  // [height * width]
};

struct Rgb8 {
  uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb8&) const = default;
};
// t from -1 to 1; what is outside is cut off, NaN is 0.
Rgb8 diverging_color(double t);
std::string hex_color(Rgb8 color);

// SVG images inside the box, with a thin frame; nothing for an empty size, which a model of vectors has. The
// largest magnitude has the full colour.
std::string signed_image(double x, double y, double w, double h, std::span<const double> pixels, PictureSize size);
// 0 (black) to 1 (white).
std::string gray_image(double x, double y, double w, double h, std::span<const double> pixels, PictureSize size);
// The map from -largest to +largest, for a legend: kBarHeight units high with its words.
inline constexpr double kBarHeight = 30;
std::string color_bar(double x, double y, double w);

// "+3.21", "-0.0042": signed, three digits that count.
std::string signed_text(double value);
// For CSV: seven digits that count, what a float holds.
std::string float_text(double value);

}  // namespace glint

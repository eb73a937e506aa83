#include "glint/report/signed_picture.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

#include "glint/base/text.h"
#include "glint/io/png.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

struct Stop {
  double t, r, g, b;
};
// Dark ends, so that lightness alone tells the magnitude.
constexpr Stop kBelow[] = {{0, 255, 255, 255}, {0.5, 111, 168, 216}, {1, 10, 62, 134}};
constexpr Stop kAbove[] = {{0, 255, 255, 255}, {0.5, 238, 128, 101}, {1, 148, 14, 30}};

std::string framed(double x, double y, double w, double h, std::string_view png) {
  return svg::image(x, y, w, h, png) + svg::rect(x, y, w, h, "fill=\"none\" stroke=\"#bbbbbb\" stroke-width=\"0.6\"");
}

}  // namespace

Rgb8 diverging_color(double t) {
  if (std::isnan(t)) t = 0;
  const auto& stops = t < 0 ? kBelow : kAbove;
  t = std::min(std::fabs(t), 1.0);
  const Stop &a = t < stops[1].t ? stops[0] : stops[1], &b = t < stops[1].t ? stops[1] : stops[2];
  const double f = (t - a.t) / (b.t - a.t);
  const auto mix = [&](double from, double to) { return static_cast<uint8_t>(std::lround(from + f * (to - from))); };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

std::string hex_color(Rgb8 color) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "#";
  for (const uint8_t c : {color.r, color.g, color.b}) out += {kDigits[c >> 4], kDigits[c & 15]};
  return out;
}

std::string signed_image(double x, double y, double w, double h, std::span<const double> pixels, PictureSize size) {
  if (size.empty()) return {};
  assert(pixels.size() == size.height * size.width);
  double largest = 0;
  for (const double p : pixels) largest = std::max(largest, std::fabs(p));
  std::vector<uint8_t> rgb;
  rgb.reserve(3 * pixels.size());
  for (const double p : pixels) {
    const Rgb8 c = diverging_color(largest > 0 ? p / largest : 0);
    rgb.insert(rgb.end(), {c.r, c.g, c.b});
  }
  return framed(x, y, w, h, encode_png(PngColor::rgb, size.width, size.height, rgb));
}

std::string gray_image(double x, double y, double w, double h, std::span<const double> pixels, PictureSize size) {
  if (size.empty()) return {};
  assert(pixels.size() == size.height * size.width);
  std::vector<uint8_t> gray(pixels.size());
  for (size_t i = 0; i < gray.size(); i++) {
    const double p = std::isnan(pixels[i]) ? 0 : pixels[i];
    gray[i] = static_cast<uint8_t>(std::lround(255 * std::clamp(p, 0.0, 1.0)));
  }
  return framed(x, y, w, h, encode_png(PngColor::gray, size.width, size.height, gray));
}

std::string color_bar(double x, double y, double w) {
  constexpr size_t kSteps = 128;
  std::vector<uint8_t> rgb;
  for (size_t i = 0; i < kSteps; i++) {
    const Rgb8 c = diverging_color(2 * (static_cast<double>(i) + 0.5) / kSteps - 1);
    rgb.insert(rgb.end(), {c.r, c.g, c.b});
  }
  std::string out = framed(x, y, w, 10, encode_png(PngColor::rgb, kSteps, 1, rgb));
  constexpr double kFont = 11;
  out += svg::text(x, y + 23, kFont, "middle", "\u2212max");
  out += svg::text(x + w / 2, y + 23, kFont, "middle", "0");
  out += svg::text(x + w, y + 23, kFont, "middle", "+max");
  return out;
}

std::string signed_text(double value) {
  if (!std::isfinite(value)) return number_text(value);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  const double digits = std::floor(std::log10(magnitude));
  std::string text;
  if (digits < -4 || digits > 5) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific, 1);
    text.assign(buffer, end.ptr);
  } else {
    text = fixed_text(magnitude, static_cast<int>(std::clamp(2 - digits, 0.0, 4.0)));
  }
  return (value < 0 ? "\u2212" : "+") + text;
}

std::string float_text(double value) {
  if (!std::isfinite(value)) return "";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 7);
  return {buffer, end.ptr};
}

}  // namespace glint

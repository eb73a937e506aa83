#include "glint/data/prepare_image.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr size_t kStyleImages = 1000;
constexpr uint8_t kInk = 32;  // of 255: what is darker is background

struct InkBox {
  size_t top = 0, left = 0, height = 0, width = 0;  // 0 x 0 without ink
  double mass_y = 0, mass_x = 0;                    // centre of mass, in pixels from the corner of the picture
  double centre_y() const { return static_cast<double>(top) + static_cast<double>(height) / 2; }
  double centre_x() const { return static_cast<double>(left) + static_cast<double>(width) / 2; }
};

InkBox find_ink(ConstMatrixView<uint8_t> m) {
  size_t top = m.rows(), left = m.cols(), bottom = 0, right = 0;
  double total = 0, y = 0, x = 0;
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) {
      if (m(i, j) < kInk) continue;
      top = std::min(top, i), bottom = std::max(bottom, i + 1);
      left = std::min(left, j), right = std::max(right, j + 1);
      const double v = m(i, j);
      total += v, y += v * (static_cast<double>(i) + 0.5), x += v * (static_cast<double>(j) + 0.5);
    }
  if (total == 0) return {};
  return {top, left, bottom - top, right - left, y / total, x / total};
}

// The frame of a picture tells its background.
bool bright_background(const Matrix<uint8_t>& m) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++)
      if (i == 0 || j == 0 || i + 1 == m.rows() || j + 1 == m.cols()) sum += m(i, j), count++;
  return count > 0 && sum / count > 127;
}

// The background becomes 0 and the brightest point 255: paper is seldom quite white.
void stretch(Matrix<uint8_t>& m) {
  std::vector<uint8_t> border;
  for (size_t j = 0; j < m.cols(); j++) border.push_back(m(0, j)), border.push_back(m(m.rows() - 1, j));
  std::nth_element(border.begin(), border.begin() + static_cast<std::ptrdiff_t>(border.size() / 2), border.end());
  const int low = border[border.size() / 2], high = *std::max_element(m.span().begin(), m.span().end());
  if (high <= low) return;
  for (uint8_t& v : m.span()) v = static_cast<uint8_t>(std::clamp((v - low) * 255 / (high - low), 0, 255));
}

}  // namespace

ImageStyle measure_style(const ImageSet& images) {
  ImageStyle style{.height = images.height, .width = images.width};
  const size_t n = std::min(kStyleImages, images.count());
  std::vector<double> sides;
  double mass = 0, box = 0;  // squared distances from the middle of the frame
  const double y = static_cast<double>(images.height) / 2, x = static_cast<double>(images.width) / 2;
  for (size_t i = 0; i < n; i++) {
    const uint8_t* row = images.pixels.view().row_ptr(i * images.count() / n);
    const InkBox ink = find_ink({row, images.height, images.width});
    if (ink.height == 0) continue;
    sides.push_back(static_cast<double>(std::max(ink.height, ink.width)));
    mass += (ink.mass_y - y) * (ink.mass_y - y) + (ink.mass_x - x) * (ink.mass_x - x);
    box += (ink.centre_y() - y) * (ink.centre_y() - y) + (ink.centre_x() - x) * (ink.centre_x() - x);
  }
  if (sides.empty()) return style;
  std::nth_element(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(sides.size() / 2), sides.end());
  style.longer_side = sides[sides.size() / 2];
  style.by_mass = mass < box;
  return style;
}

Matrix<uint8_t> resized(const Matrix<uint8_t>& gray, size_t height, size_t width) {
  // Overlap of target pixel i with source pixel k, one axis at a time.
  const auto axis = [](const Matrix<double>& in, size_t out_rows) {  // rows of `in` to out_rows
    Matrix<double> out(out_rows, in.cols());
    const double step = static_cast<double>(in.rows()) / static_cast<double>(out_rows);
    for (size_t i = 0; i < out_rows; i++) {
      const double from = static_cast<double>(i) * step, to = from + step;
      for (size_t k = static_cast<size_t>(from); k < in.rows() && static_cast<double>(k) < to; k++) {
        const double part = std::min(to, static_cast<double>(k + 1)) - std::max(from, static_cast<double>(k));
        if (part <= 0) continue;
        for (size_t j = 0; j < in.cols(); j++) out(i, j) += part / step * in(k, j);
      }
    }
    return out;
  };
  const auto transposed = [](const Matrix<double>& m) {
    Matrix<double> t(m.cols(), m.rows());
    for (size_t i = 0; i < m.rows(); i++)
      for (size_t j = 0; j < m.cols(); j++) t(j, i) = m(i, j);
    return t;
  };
  Matrix<double> m(gray.rows(), gray.cols());
  std::copy_n(gray.data(), gray.size(), m.data());
  m = transposed(axis(transposed(axis(m, height)), width));
  Matrix<uint8_t> out(height, width);
  for (size_t i = 0; i < out.size(); i++)
    out.data()[i] = static_cast<uint8_t>(std::lround(std::clamp(m.data()[i], 0.0, 255.0)));
  return out;
}

PreparedImage prepare_image(const Matrix<uint8_t>& gray, const ImageStyle& style, const std::string& where) {
  PreparedImage out{Matrix<uint8_t>(style.height, style.width), ""};
  Matrix<uint8_t> picture = gray;
  const bool inverted = bright_background(picture);
  if (inverted)
    for (uint8_t& v : picture.span()) v = static_cast<uint8_t>(255 - v);
  if (!inverted && gray.rows() == style.height && gray.cols() == style.width) {
    out.pixels = std::move(picture);
    out.done = "taken as it is: the size is right and the background dark";
    return out;
  }
  stretch(picture);
  const InkBox ink = find_ink(picture);
  if (ink.height == 0)
    bad_file(where, "there is nothing on the picture",
             "something bright on a dark background, or dark on a bright one");
  Matrix<uint8_t> cut(ink.height, ink.width);
  for (size_t i = 0; i < ink.height; i++)
    std::copy_n(picture.view().row_ptr(ink.top + i) + ink.left, ink.width, cut.view().row_ptr(i));
  const double scale = style.longer_side / static_cast<double>(std::max(ink.height, ink.width));
  const auto side = [&](size_t source, size_t frame) {
    return std::clamp<size_t>(static_cast<size_t>(std::lround(scale * static_cast<double>(source))), 1, frame);
  };
  const size_t h = side(ink.height, style.height), w = side(ink.width, style.width);
  const Matrix<uint8_t> small = resized(cut, h, w);
  const InkBox placed = find_ink(small);
  const auto offset = [&](double centre, size_t part, size_t frame) {
    const double at = static_cast<double>(frame) / 2 - centre;
    return static_cast<size_t>(std::clamp(std::round(at), 0.0, static_cast<double>(frame - part)));
  };
  const bool mass = style.by_mass && placed.height > 0;
  const size_t top = offset(mass ? placed.mass_y : static_cast<double>(h) / 2, h, style.height);
  const size_t left = offset(mass ? placed.mass_x : static_cast<double>(w) / 2, w, style.width);
  for (size_t i = 0; i < h; i++) std::copy_n(small.view().row_ptr(i), w, out.pixels.view().row_ptr(top + i) + left);
  out.done = std::string(inverted ? "inverted (the background is bright), " : "") + "cut to " +
             std::to_string(ink.height) + " x " + std::to_string(ink.width) + ", resized to " + std::to_string(h) +
             " x " + std::to_string(w) + ", centred by " + (mass ? "mass" : "its box") + " as the training images are";
  return out;
}

}  // namespace glint

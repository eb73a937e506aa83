// What a figure becomes: a picture, its numbers, and a description with which another program can draw the
// numbers itself.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glint/report/axis.h"

namespace glint {

struct PictureSize {
  size_t height = 0, width = 0;
  bool empty() const { return height == 0 || width == 0; }
};

struct FigureAbout {
  // What the columns of the CSV are. lines: series, x, y and bands. bars: one per eigenvalue. pictures: one per
  // row, pixel by pixel. terms: what adds up to a logit. plain: nothing that is easily drawn again.
  enum class Kind { plain, lines, bars, pictures, terms } kind = Kind::plain;
  std::string title = {};
  Axis x = {}, y = {};
  PictureSize size = {};                    // of each picture
  std::vector<std::string> scattered = {};  // series whose points no line joins
};
std::string_view name(FigureAbout::Kind kind);

struct Figure {
  std::string svg, csv;
  FigureAbout about = {};
};

}  // namespace glint

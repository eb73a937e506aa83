// SVG pictures as PNG, through librsvg and cairo opened at run time: a program that draws nothing does not
// pay for loading them, and one on a system without them still writes its SVG files.
#pragma once

#include <string>
#include <string_view>

namespace glint {

struct SvgPng {
  std::string png;      // the file; empty when it could not be made
  std::string problem;  // why not
};

// `scale`: pixels of the PNG a unit of the SVG. White paper below what is transparent. The SVG must say its
// size (width and height); a side beyond kMaxPngSide pixels is a problem. Any number of threads may call.
inline constexpr double kMaxPngSide = 16384;
SvgPng svg_to_png(std::string_view svg, double scale = 1.5);

}  // namespace glint

// Contact sheets: many small gray images in one PNG file, in rows, each with a number or two below it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/base/file.h"

namespace glint {

struct SheetImage {
  std::span<const uint8_t> pixels;
  std::string label = {};  // digits, '>' and spaces; cut where it is wider than the image
};

struct Sheet {
  size_t height = 0, width = 0;  // of every image
  std::vector<std::vector<SheetImage>> rows = {};
  std::vector<std::string> headings = {};  // left of each row; same characters as a label
};

// Images are enlarged by a whole number to about 56 pixels. Error (usage) for a sheet beyond 64 million
// pixels.
void write_sheet(FileSystem& files, const std::string& path, const Sheet& sheet);

}  // namespace glint

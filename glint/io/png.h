// PNG: 8-bit pictures out, any PNG in as 8-bit gray.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "glint/base/file.h"
#include "glint/base/matrix.h"

namespace glint {

// The value is the number of channels.
enum class PngColor { gray = 1, rgb = 3, rgba = 4 };

// `quick` takes a fifth of the time for files that are a third larger: for pictures of several million
// pixels.
enum class PngEffort { small, quick };

// `pixels` is width * height * channels, row by row. The same pixels give the same bytes with one version of
// libpng and zlib.
std::string encode_png(PngColor color, size_t width, size_t height, std::span<const uint8_t> pixels,
                       PngEffort effort = PngEffort::small);
void write_png(FileSystem& files, const std::string& path, PngColor color, size_t width, size_t height,
               std::span<const uint8_t> pixels);

// One byte a pixel is allocated: the default keeps the promise of twice the file + 64 MB.
struct PngLimits {
  size_t side = 8192;
  size_t pixels = size_t{48} << 20;
};

// Palette, gray of 1 to 16 bits, colour, alpha, interlaced. Samples are taken as they are, without gamma;
// gray = 0.299 R + 0.587 G + 0.114 B; what is transparent shows `background`. Error (bad_file) otherwise.
Matrix<uint8_t> decode_png(std::span<const std::byte> file, const std::string& where, uint8_t background = 255,
                           PngLimits limits = {});
Matrix<uint8_t> read_png(const std::string& path, uint8_t background = 255, PngLimits limits = {});

}  // namespace glint

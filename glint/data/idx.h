// IDX files (the format of MNIST), plain or gzip: a strict reader that trusts nothing it reads.
//
//   byte 0-1  zero          byte 2  element type, 0x08 = unsigned byte          byte 3  rank
//   then `rank` dimensions, 32 bits each, highest byte first, then the elements, and nothing after them
//
// What a file makes it allocate, its own bytes included, stays below twice the file + 64 MB: a gzip file that
// claims more is refused before it is unpacked, and unpacking stops one byte after what the header claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"

namespace glint {

struct IdxImages {
  Matrix<uint8_t> pixels;  // [count, height * width]
  size_t height = 0, width = 0;
  std::string sha256;  // of the unpacked file, header included; hex
};

struct IdxLabels {
  std::vector<uint8_t> values;
  std::string sha256;
};

// `file` is the whole file; gzip is known by its first bytes. `name` is for messages.
// Throws Error (bad_file) with the file, the byte and the rule that was broken.
IdxImages parse_idx_images(std::span<const std::byte> file, const std::string& name = "memory");
// Every label must be below `classes`.
IdxLabels parse_idx_labels(std::span<const std::byte> file, const std::string& name = "memory", size_t classes = 256);

IdxImages read_idx_images(const std::string& path);
IdxLabels read_idx_labels(const std::string& path, size_t classes = 256);

// The headers that the readers expect: for writing such files, and for the checksum of sets that have none.
std::string idx_image_header(size_t count, size_t height, size_t width);
std::string idx_label_header(size_t count);

}  // namespace glint

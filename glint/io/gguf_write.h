// GGUF files as glint writes them: version 3, aligned to 32 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/file.h"
#include "glint/io/stored_tensor.h"

namespace glint {

// The metadata, pair by pair.
class GgufHeader {
 public:
  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, uint32_t number);
  void add(std::string_view key, float number);
  // Pairs as another file stores them.
  void add_pairs(std::span<const std::span<const std::byte>> pairs);
  std::string bytes() const { return start(0) + pairs_; }  // a file without tensors

 private:
  friend void write_gguf(FileSystem&, const std::string&, const GgufHeader&, std::span<const StoredTensor>, StoredType);
  std::string start(uint64_t tensors) const;
  void begin(std::string_view key, uint32_t type);
  std::string pairs_;
  uint64_t count_ = 0;
};

// Tensors of floats, in this order, as `type`: f32, f16 or q8_0. Vectors stay f32, and so does what has rows of no
// whole number of blocks. The file appears whole or not at all.
void write_gguf(FileSystem& files, const std::string& path, const GgufHeader& header,
                std::span<const StoredTensor> tensors, StoredType type);

}  // namespace glint

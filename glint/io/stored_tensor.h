// Weights as a file of another program stores them: whole, half or quantised numbers, used in place. They are
// widened to float a stretch at a time, never a whole model at once.
//
// The types are those of safetensors (F32, F16, BF16), of GGUF (the same and blocks) and of llama2.c. A block
// holds a fixed number of values with common scales and lies in one piece; only `grouped_i8` has its scales
// apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace glint {

enum class StoredType : uint8_t {
  f32,
  f16,
  bf16,
  q8_0,  // blocks of 32
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,  // blocks of 256
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  grouped_i8,  // llama2.c version 2: an int8 a value; scales are f32, one for `group` values
};
inline constexpr size_t kStoredTypes = 14;
inline constexpr size_t kMaxBlockValues = 256;

const char* name(StoredType type);       // as GGUF spells it: "Q4_K"; "I8" for grouped_i8
size_t block_values(StoredType type);    // values of a block; 1 where every value stands alone
size_t block_bytes(StoredType type);     // bytes of a block, of grouped_i8 without scales

// The bytes that so many values take, of grouped_i8 without scales; false when they are no whole number of
// blocks or do not fit 64 bits.
bool stored_bytes(StoredType type, uint64_t values, uint64_t& bytes);

struct StoredTensor {
  std::string name;
  std::vector<size_t> shape;  // row-major: the values of the last dimension lie side by side
  StoredType type = StoredType::f32;
  std::span<const std::byte> bytes;   // in the file; at any alignment
  std::span<const std::byte> scales;  // grouped_i8 only: f32, at any alignment
  size_t group = 0;                   // grouped_i8 only: values for a scale

  size_t values() const;  // the product of the shape; checked when the file was opened
  // As a matrix: all dimensions but the last are rows. Rows are whole blocks (and whole groups), so that a
  // row can be found by its bytes.
  size_t rows() const;
  size_t cols() const;
  size_t row_bytes() const;  // of `bytes`
};

// Values [first, first + out.size()) as float, bit for bit as the `gguf` package of Python widens them (and
// llama2.c: scale times value). Stretches may begin and end within blocks; whole blocks are faster. Asserts
// that the stretch lies in the tensor.
void widen(const StoredTensor& tensor, size_t first, std::span<float> out);

// No trained model has a weight beyond this. Three such factors, those of a GLU, and the root of a width of
// 2^16 still make a float.
inline constexpr float kLargestWeight = 1e9f;
// Whether values [first, first + count), which begin and end with blocks, are numbers of at most that size. Of
// blocks the scales are looked at, which bound the values: a scale of half precision is at most 65504.
bool sound_values(const StoredTensor& tensor, size_t first, size_t count);
// The Error (numeric) of weights that are not. `where`: the file and the tensor.
[[noreturn]] void refuse_values(const std::string& where);

}  // namespace glint

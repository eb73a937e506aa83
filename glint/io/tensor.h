// Element types and shapes that the array formats share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace glint {

static_assert(std::endian::native == std::endian::little, "the file formats are used in place, little-endian");

enum class Dtype { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean, f8_e4m3, f8_e5m2 };

size_t dtype_size(Dtype dtype);                              // bytes an element
const char* dtype_name(Dtype dtype);                         // as safetensors spells it: "F32"
const Dtype* find_dtype(std::string_view safetensors_name);  // null when there is none

template <class T>
constexpr Dtype dtype_of();
template <>
constexpr Dtype dtype_of<double>() {
  return Dtype::f64;
}
template <>
constexpr Dtype dtype_of<float>() {
  return Dtype::f32;
}
template <>
constexpr Dtype dtype_of<int64_t>() {
  return Dtype::i64;
}
template <>
constexpr Dtype dtype_of<int32_t>() {
  return Dtype::i32;
}
template <>
constexpr Dtype dtype_of<uint8_t>() {
  return Dtype::u8;
}

// No array that glint meets has more; the bound keeps a hostile list of dimensions cheap.
inline constexpr size_t kMaxRank = 16;

// The bytes that a dense array takes, multiplied from the left; false when a product on the way does not fit
// 64 bits.
bool dense_bytes(std::span<const size_t> shape, Dtype dtype, size_t& bytes);

std::string show_shape(std::span<const size_t> shape);  // "[2, 3]"

// IEEE half precision.

// To nearest, ties to even. From 65520 on it becomes infinite.
uint16_t to_half(float value);
// Exact.
float from_half(uint16_t bits);

}  // namespace glint

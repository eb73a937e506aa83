#include "glint/io/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace glint {
namespace {

struct DtypeRow {
  Dtype dtype;
  const char* name;
  size_t size;
};

constexpr std::array<DtypeRow, 15> kDtypes = {{{Dtype::f64, "F64", 8},
                                               {Dtype::f32, "F32", 4},
                                               {Dtype::f16, "F16", 2},
                                               {Dtype::bf16, "BF16", 2},
                                               {Dtype::i64, "I64", 8},
                                               {Dtype::i32, "I32", 4},
                                               {Dtype::i16, "I16", 2},
                                               {Dtype::i8, "I8", 1},
                                               {Dtype::u64, "U64", 8},
                                               {Dtype::u32, "U32", 4},
                                               {Dtype::u16, "U16", 2},
                                               {Dtype::u8, "U8", 1},
                                               {Dtype::boolean, "BOOL", 1},
                                               {Dtype::f8_e4m3, "F8_E4M3", 1},
                                               {Dtype::f8_e5m2, "F8_E5M2", 1}}};

// The table is indexed by the enumeration.
constexpr bool in_order() {
  for (size_t i = 0; i < kDtypes.size(); i++)
    if (static_cast<size_t>(kDtypes[i].dtype) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

size_t dtype_size(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].size; }
const char* dtype_name(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)].name; }

const Dtype* find_dtype(std::string_view name) {
  for (const DtypeRow& row : kDtypes)
    if (name == row.name) return &row.dtype;
  return nullptr;
}

bool dense_bytes(std::span<const size_t> shape, Dtype dtype, size_t& bytes) {
  bytes = dtype_size(dtype);
  for (const size_t n : shape)
    if (__builtin_mul_overflow(bytes, n, &bytes)) return false;
  return true;
}

std::string show_shape(std::span<const size_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // half a unit above the largest
  // A half has 11 significant bits above 2^-14 and a fixed step of 2^-24 below: scaled so that this step is
  // 1, rounding to a whole number is rounding to a half.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int step = std::max(exponent - 11, -24);
  const float steps = std::nearbyint(std::ldexp(magnitude, -step));  // at most 2^11, exact
  const uint32_t count = static_cast<uint32_t>(steps);
  if (step == -24 && count < 1024) return sign | static_cast<uint16_t>(count);
  // count is in [1024, 2048]; 2048 carries into the exponent by itself.
  return sign | static_cast<uint16_t>((static_cast<uint32_t>(step + 25) << 10) + (count - 1024));
}

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;  // 112 = 127 - 15, the difference of the biases
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace glint

// bf16 products: the table that one bf16 unit fills. The algorithm (packing, blocking, edges) is written once
// in bf16_blocks.h; a unit brings only the product of one 32 x 32 block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "glint/base/cpu.h"
#include "glint/kernels/vmath.h"

namespace glint {

// Round to nearest even; NaN stays NaN (quiet). Without a branch, so that loops vectorise.
GLINT_INLINE uint16_t to_bf16(float f) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, f);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 | 0x40u) : rounded);
}
GLINT_INLINE float from_bf16(uint16_t b) { return __builtin_bit_cast(float, static_cast<uint32_t>(b) << 16); }

// C is computed in blocks of 32 x 32 with k in steps of 32. B is packed in panels of 32 columns; a step of a
// panel is two tiles of 1 KB, a tile 16 rows of 16 columns, a row holding the pairs (k, k+1) of each column
// side by side.
inline constexpr size_t kBf16Block = 32;
inline constexpr size_t kBf16StepBytes = 2048;

GLINT_INLINE size_t bf16_steps(size_t k) { return (k + kBf16Block - 1) / kBf16Block; }
GLINT_INLINE size_t bf16_packed_bytes(size_t k, size_t n) {
  return (n + kBf16Block - 1) / kBf16Block * bf16_steps(k) * kBf16StepBytes;
}

struct Bf16Multiply {
  size_t m, n, k;
  const float* a;  // [m,k]; multiply_tn: [k,m]
  size_t a_row;
  const void* b;  // packed; multiply_tn: const float* [k,n]
  size_t b_row;   // multiply_tn only
  float* c;       // [m,n]
  size_t c_row;
  bool accumulate;
  void* scratch;  // 64-byte aligned
  size_t scratch_bytes;
};

struct Bf16Products {
  // B[k,n] from src(k, j) at src[k * k_stride + j * j_stride].
  void (*pack)(const float* src, size_t k, size_t n, size_t k_stride, size_t j_stride, void* out, size_t first_panel,
               size_t panel_count);
  void (*multiply)(const Bf16Multiply&);
  void (*multiply_tn)(const Bf16Multiply&);
};

// The products of a unit that this machine has, or of the emulated one; Error otherwise.
const Bf16Products& bf16_products(Bf16Unit unit);

}  // namespace glint

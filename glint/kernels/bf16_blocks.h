// The bf16 product over any unit: operands are rounded to bf16 into scratch that stays in L2, C is made in 32
// x 32 blocks. Included only by the units' own files, which are compiled with their own instructions:
// everything is in an unnamed namespace.
//
// A Unit has
//   struct Session {...};
//     made before the blocks of a product and gone after them: what the unit must set up and leave behind
//   static void block(size_t steps, const uint16_t* a, size_t a_row, const uint16_t* b, float* c, size_t
//   c_row, bool add)
//     c[32][32] (+)= a[32][steps * 32] b[steps][2][16][16][2]
#pragma once

#include "glint/kernels/bf16.h"

namespace glint {
namespace {

GLINT_INLINE size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// Two bf16 numbers, rows k and k + 1 of a column, as a tile holds them. The same memory is read as uint16_t.
typedef uint32_t Bf16Pair __attribute__((may_alias));
GLINT_INLINE uint32_t bf16_pair(float even, float odd) {
  return to_bf16(even) | static_cast<uint32_t>(to_bf16(odd)) << 16;
}

// One panel of B: rows beyond k and columns beyond n are zero. A step is [2 tiles][16 pairs][16 columns]
// pairs; whole steps of row-major or column-major sources are straight loops, the edges ask for every
// element.
void pack_bf16_panel(const float* src, size_t k, size_t cols, size_t k_stride, size_t j_stride,
                     Bf16Pair* out) {
  for (size_t k0 = 0; k0 < k; k0 += kBf16Block, out += kBf16StepBytes / sizeof(Bf16Pair)) {
    const bool whole = k - k0 >= kBf16Block && cols == kBf16Block;
    const float* at = src + k0 * k_stride;
    for (size_t half = 0; half < 2; half++) {
      Bf16Pair* tile = out + half * 256;
      const float* from = at + half * 16 * j_stride;
      if (whole && j_stride == 1) {
        for (size_t pair = 0; pair < 16; pair++)
          for (size_t j = 0; j < 16; j++)
            tile[pair * 16 + j] =
                bf16_pair(from[2 * pair * k_stride + j], from[(2 * pair + 1) * k_stride + j]);
      } else if (whole && k_stride == 1) {
        for (size_t j = 0; j < 16; j++)
          for (size_t pair = 0; pair < 16; pair++)
            tile[pair * 16 + j] = bf16_pair(from[j * j_stride + 2 * pair], from[j * j_stride + 2 * pair + 1]);
      } else {
        const auto element = [&](size_t kk, size_t j) {
          return k0 + kk < k && half * 16 + j < cols ? from[kk * k_stride + j * j_stride] : 0.0f;
        };
        for (size_t pair = 0; pair < 16; pair++)
          for (size_t j = 0; j < 16; j++)
            tile[pair * 16 + j] = bf16_pair(element(2 * pair, j), element(2 * pair + 1, j));
      }
    }
  }
}

// A^T for multiply_tn: out[i][k] = a[k][i], two rows of A at a time; zero beyond m and k.
void transpose_bf16(const float* a, size_t k, size_t m, size_t a_row, size_t padded_k, size_t padded_m,
                    uint16_t* out, size_t out_row) {
  constexpr size_t kWidth = 16;
  for (size_t kk = 0; kk < padded_k; kk += 2) {
    for (size_t i0 = 0; i0 < padded_m; i0 += kWidth) {
      uint32_t pairs[kWidth];
      if (kk + 2 <= k && i0 + kWidth <= m) {
        const float* even = a + kk * a_row + i0;
        const float* odd = even + a_row;
        for (size_t i = 0; i < kWidth; i++) pairs[i] = bf16_pair(even[i], odd[i]);
      } else {
        const auto element = [&](size_t r, size_t i) { return r < k && i < m ? a[r * a_row + i] : 0.0f; };
        for (size_t i = 0; i < kWidth; i++)
          pairs[i] = bf16_pair(element(kk, i0 + i), element(kk + 1, i0 + i));
      }
      for (size_t i = 0; i < kWidth; i++)
        __builtin_memcpy(out + (i0 + i) * out_row + kk, &pairs[i], sizeof(uint32_t));
    }
  }
}

void pack_bf16(const float* src, size_t k, size_t n, size_t k_stride, size_t j_stride, void* out,
               size_t first_panel, size_t panel_count) {
  const size_t panel_bytes = bf16_steps(k) * kBf16StepBytes;
  for (size_t p = first_panel; p < first_panel + panel_count; p++)
    pack_bf16_panel(src + p * kBf16Block * j_stride, k, smaller(kBf16Block, n - p * kBf16Block), k_stride,
                    j_stride, reinterpret_cast<Bf16Pair*>(static_cast<char*>(out) + p * panel_bytes));
}

// c[m,n] (+)= a b for rounded A (rows to a multiple of 32 readable) and packed panels `panel_bytes` apart.
template <class Unit>
void bf16_blocks(size_t m, size_t n, size_t steps, const uint16_t* a, size_t a_row, const char* b,
                 size_t panel_bytes, float* c, size_t c_row, bool add) {
  for (size_t j = 0; j < n; j += kBf16Block) {
    const auto* panel = reinterpret_cast<const uint16_t*>(b + j / kBf16Block * panel_bytes);
    const size_t cols = smaller(kBf16Block, n - j);
    for (size_t i = 0; i < m; i += kBf16Block) {
      const size_t rows = smaller(kBf16Block, m - i);
      float* out = c + i * c_row + j;
      if (rows == kBf16Block && cols == kBf16Block) {
        Unit::block(steps, a + i * a_row, a_row, panel, out, c_row, add);
        continue;
      }
      // C goes in first, as in a whole block: the order of the sum must not depend on where an element lies.
      alignas(64) float edge[kBf16Block * kBf16Block] = {};
      if (add)
        for (size_t r = 0; r < rows; r++)
          for (size_t s = 0; s < cols; s++) edge[r * kBf16Block + s] = out[r * c_row + s];
      Unit::block(steps, a + i * a_row, a_row, panel, edge, kBf16Block, add);
      for (size_t r = 0; r < rows; r++)
        for (size_t s = 0; s < cols; s++) out[r * c_row + s] = edge[r * kBf16Block + s];
    }
  }
}

// One pass of multiply_tn: 224 rows and these columns of this depth fit the scratch.
constexpr size_t kBf16Depth = 512, kBf16Columns = 512;

template <class Unit>
void multiply_bf16(const Bf16Multiply& g) {
  [[maybe_unused]] const typename Unit::Session session;
  const size_t panel_bytes = bf16_steps(g.k) * kBf16StepBytes;
  for (size_t k0 = 0; k0 < g.k; k0 += kBf16Depth) {
    const size_t depth = smaller(kBf16Depth, g.k - k0), steps = bf16_steps(depth);
    const size_t row =
        steps * kBf16Block + 32;  // one cache line more than a power of two: rows fall into other sets
    const size_t block_rows =
        smaller(256, g.scratch_bytes / (row * sizeof(uint16_t)) / kBf16Block * kBf16Block);
    auto* rounded = static_cast<uint16_t*>(g.scratch);
    for (size_t i = 0; i < g.m; i += block_rows) {
      const size_t rows = smaller(block_rows, g.m - i);
      for (size_t r = 0; r < (rows + 31) / 32 * 32; r++) {
        uint16_t* out = rounded + r * row;
        const size_t filled = r < rows ? depth : 0;
        for (size_t kk = 0; kk < filled; kk++) out[kk] = to_bf16(g.a[(i + r) * g.a_row + k0 + kk]);
        for (size_t kk = filled; kk < steps * kBf16Block; kk++) out[kk] = 0;
      }
      bf16_blocks<Unit>(rows, g.n, steps, rounded, row,
                        static_cast<const char*>(g.b) + k0 / kBf16Block * kBf16StepBytes, panel_bytes,
                        g.c + i * g.c_row, g.c_row, g.accumulate || k0 > 0);
    }
  }
}

template <class Unit>
void multiply_tn_bf16(const Bf16Multiply& g) {
  [[maybe_unused]] const typename Unit::Session session;
  const auto* b = static_cast<const float*>(g.b);
  const size_t padded_m = (g.m + 31) / 32 * 32;
  for (size_t k0 = 0; k0 < g.k; k0 += kBf16Depth) {
    const size_t depth = smaller(kBf16Depth, g.k - k0), steps = bf16_steps(depth);
    const size_t row = steps * kBf16Block + 32;
    auto* at = static_cast<uint16_t*>(g.scratch);  // A^T: [m][k]
    transpose_bf16(g.a + k0 * g.a_row, depth, g.m, g.a_row, steps * kBf16Block, padded_m, at, row);
    char* packed = static_cast<char*>(g.scratch) + (padded_m * row * sizeof(uint16_t) + 63) / 64 * 64;
    for (size_t j = 0; j < g.n; j += kBf16Columns) {
      const size_t cols = smaller(kBf16Columns, g.n - j);
      pack_bf16(b + k0 * g.b_row + j, depth, cols, g.b_row, 1, packed, 0,
                (cols + kBf16Block - 1) / kBf16Block);
      bf16_blocks<Unit>(g.m, cols, steps, at, row, packed, steps * kBf16StepBytes, g.c + j, g.c_row,
                        g.accumulate || k0 > 0);
    }
  }
}

template <class Unit>
constexpr Bf16Products make_bf16_products() {
  return {&pack_bf16, &multiply_bf16<Unit>, &multiply_tn_bf16<Unit>};
}

}  // namespace
}  // namespace glint

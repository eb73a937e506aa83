// The bf16 product over any unit: operands are rounded to bf16 into scratch that stays in L2, C is made in 32
// x 32 blocks. Included only by the units' own files, which are compiled with their own instructions:
// everything is in an unnamed namespace.
//
// A Unit has
//   struct Session {...};
//     made before the blocks of a product and gone after them: what the unit must set up and leave behind
//   static void pairs(const float* even, const float* odd, Bf16Pair* out)
//   static void round(const float* from, uint16_t* out)
//     the pairs of 16 columns of two rows; 32 numbers rounded. PortableRounding has both.
//   kAnyRows
//     whether a block may have fewer than 32 rows: their products are then not computed only to be dropped
//   kPairs
//     whether A^T is wanted as pairs, [k / 2][m][2], and not as rows, [m][k]: the cheaper to make
//   static void block(size_t rows, size_t steps, Bf16Rows a, const uint16_t* b, float* c, size_t c_row,
//                     bool add)
//     c[rows][32] (+)= a[rows][steps * 32] b[steps][2][16][16][2]
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

struct PortableRounding {
  GLINT_INLINE static void pairs(const float* even, const float* odd, Bf16Pair* out) {
    for (size_t i = 0; i < 16; i++) out[i] = bf16_pair(even[i], odd[i]);
  }
  GLINT_INLINE static void round(const float* from, uint16_t* out) {
    for (size_t i = 0; i < kBf16Block; i++) out[i] = to_bf16(from[i]);
  }
};

// The pair (k, k + 1), k even, of row i is at[i * row + k / 2 * pair].
struct Bf16Rows {
  const uint16_t* at;
  size_t row, pair;
};

// One panel of B: rows beyond k and columns beyond n are zero. A step is [2 tiles][16 pairs][16 columns]
// pairs; whole steps of row-major or column-major sources are straight loops, the edges ask for every
// element.
void pack_bf16_panel(const float* src, size_t k, size_t cols, size_t k_stride, size_t j_stride, Bf16Pair* out) {
  for (size_t k0 = 0; k0 < k; k0 += kBf16Block, out += kBf16StepBytes / sizeof(Bf16Pair)) {
    const bool whole = k - k0 >= kBf16Block && cols == kBf16Block;
    const float* at = src + k0 * k_stride;
    for (size_t half = 0; half < 2; half++) {
      Bf16Pair* tile = out + half * 256;
      const float* from = at + half * 16 * j_stride;
      if (whole && j_stride == 1) {
        for (size_t pair = 0; pair < 16; pair++)
          for (size_t j = 0; j < 16; j++)
            tile[pair * 16 + j] = bf16_pair(from[2 * pair * k_stride + j], from[(2 * pair + 1) * k_stride + j]);
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

// What multiply_tn reads, src[k][n] with rows `src_row` apart, two rows at a time: the pairs of 16 columns go
// to out(pair, j), j the first of the columns; zero beyond k and n.
template <class Unit, class Out>
GLINT_INLINE void pairs_of_rows(const float* src, size_t k, size_t n, size_t src_row, size_t padded_k, size_t padded_n,
                                const Out& out) {
  constexpr size_t kWidth = 16;
  for (size_t kk = 0; kk < padded_k; kk += 2) {
    for (size_t j = 0; j < padded_n; j += kWidth) {
      const float* even = src + kk * src_row + j;
      if (kk + 2 <= k && j + kWidth <= n) {
        Unit::pairs(even, even + src_row, out(kk / 2, j));
        continue;
      }
      float rows[2][kWidth] = {};
      for (size_t r = 0; r < 2 && kk + r < k; r++)
        for (size_t i = 0; i < kWidth && j + i < n; i++) rows[r][i] = even[r * src_row + i];
      Unit::pairs(rows[0], rows[1], out(kk / 2, j));
    }
  }
}

// A^T for multiply_tn as rows: out[i][k] = a[k][i].
template <class Unit>
void transpose_bf16(const float* a, size_t k, size_t m, size_t a_row, size_t padded_k, size_t padded_m, uint16_t* out,
                    size_t out_row) {
  for (size_t kk = 0; kk < padded_k; kk += 2)
    for (size_t i0 = 0; i0 < padded_m; i0 += 16) {
      Bf16Pair pairs[16];
      pairs_of_rows<Unit>(a + kk * a_row + i0, kk < k ? k - kk : 0, i0 < m ? m - i0 : 0, a_row, 2, 16,
                          [&](size_t, size_t) { return pairs; });
      for (size_t i = 0; i < 16; i++) __builtin_memcpy(out + (i0 + i) * out_row + kk, &pairs[i], sizeof(uint32_t));
    }
}

// out[0, padded) = from[0, n) rounded, then zeros; padded is a multiple of 32.
template <class Unit>
GLINT_INLINE void round_row(const float* from, size_t n, size_t padded, uint16_t* out) {
  size_t i = 0;
  for (; i + kBf16Block <= n; i += kBf16Block) Unit::round(from + i, out + i);
  for (; i < padded; i += kBf16Block) {
    float rest[kBf16Block] = {};
    for (size_t j = 0; j < kBf16Block && i + j < n; j++) rest[j] = from[i + j];
    Unit::round(rest, out + i);
  }
}

void pack_bf16(const float* src, size_t k, size_t n, size_t k_stride, size_t j_stride, void* out, size_t first_panel,
               size_t panel_count) {
  const size_t panel_bytes = bf16_steps(k) * kBf16StepBytes;
  for (size_t p = first_panel; p < first_panel + panel_count; p++)
    pack_bf16_panel(src + p * kBf16Block * j_stride, k, smaller(kBf16Block, n - p * kBf16Block), k_stride, j_stride,
                    reinterpret_cast<Bf16Pair*>(static_cast<char*>(out) + p * panel_bytes));
}

// c[m,n] (+)= a b for rounded A (rows to a multiple of 32 readable unless kAnyRows) and packed panels
// `panel_bytes` apart.
template <class Unit>
void bf16_blocks(size_t m, size_t n, size_t steps, Bf16Rows a, const char* b, size_t panel_bytes, float* c,
                 size_t c_row, bool add) {
  for (size_t j = 0; j < n; j += kBf16Block) {
    const auto* panel = reinterpret_cast<const uint16_t*>(b + j / kBf16Block * panel_bytes);
    const size_t cols = smaller(kBf16Block, n - j);
    for (size_t i = 0; i < m; i += kBf16Block) {
      const size_t rows = smaller(kBf16Block, m - i);
      const Bf16Rows from{a.at + i * a.row, a.row, a.pair};
      float* out = c + i * c_row + j;
      if (cols == kBf16Block && (Unit::kAnyRows || rows == kBf16Block)) {
        Unit::block(rows, steps, from, panel, out, c_row, add);
        continue;
      }
      // C goes in first, as in a whole block: the order of the sum must not depend on where an element lies.
      alignas(64) float edge[kBf16Block * kBf16Block] = {};
      if (add)
        for (size_t r = 0; r < rows; r++)
          for (size_t s = 0; s < cols; s++) edge[r * kBf16Block + s] = out[r * c_row + s];
      Unit::block(Unit::kAnyRows ? rows : kBf16Block, steps, from, panel, edge, kBf16Block, add);
      for (size_t r = 0; r < rows; r++)
        for (size_t s = 0; s < cols; s++) out[r * c_row + s] = edge[r * kBf16Block + s];
    }
  }
}

// One pass: 224 rows and these columns of this depth fit the scratch of multiply_tn, and a panel of B of this
// depth leaves room in L1 for the rows of A. The depth of a pass changes no sum: C is f32, as the
// accumulators.
constexpr size_t kBf16Depth = 512, kBf16DepthTn = 512, kBf16Columns = 512;

template <class Unit>
void multiply_bf16(const Bf16Multiply& g) {
  [[maybe_unused]] const typename Unit::Session session;
  const size_t panel_bytes = bf16_steps(g.k) * kBf16StepBytes;
  for (size_t k0 = 0; k0 < g.k; k0 += kBf16Depth) {
    const size_t depth = smaller(kBf16Depth, g.k - k0), steps = bf16_steps(depth);
    const size_t row = steps * kBf16Block + 32;  // one cache line more than a power of two: rows fall into other sets
    const size_t block_rows = smaller(256, g.scratch_bytes / (row * sizeof(uint16_t)) / kBf16Block * kBf16Block);
    auto* rounded = static_cast<uint16_t*>(g.scratch);
    for (size_t i = 0; i < g.m; i += block_rows) {
      const size_t rows = smaller(block_rows, g.m - i);
      for (size_t r = 0; r < (Unit::kAnyRows ? rows : (rows + 31) / 32 * 32); r++) {
        const float* from = r < rows ? g.a + (i + r) * g.a_row + k0 : nullptr;
        round_row<Unit>(from, from ? depth : 0, steps * kBf16Block, rounded + r * row);
      }
      bf16_blocks<Unit>(rows, g.n, steps, {rounded, row, 2},
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
  for (size_t k0 = 0; k0 < g.k; k0 += kBf16DepthTn) {
    const size_t depth = smaller(kBf16DepthTn, g.k - k0), steps = bf16_steps(depth), padded_k = steps * kBf16Block;
    // A^T. Distances are an odd number of cache lines, so that neighbours fall into other sets.
    auto* at = static_cast<uint16_t*>(g.scratch);
    const float* a = g.a + k0 * g.a_row;
    Bf16Rows rows{at, padded_k + 32, 2};
    size_t at_bytes = padded_m * rows.row * sizeof(uint16_t);
    if (Unit::kPairs) {
      rows = {at, 2, 2 * (padded_m + 16)};
      at_bytes = padded_k / 2 * rows.pair * sizeof(uint16_t);
      pairs_of_rows<Unit>(a, depth, g.m, g.a_row, padded_k, padded_m, [&](size_t pair, size_t i) {
        return reinterpret_cast<Bf16Pair*>(at) + pair * (padded_m + 16) + i;
      });
    } else {
      transpose_bf16<Unit>(a, depth, g.m, g.a_row, padded_k, padded_m, at, rows.row);
    }
    char* packed = static_cast<char*>(g.scratch) + (at_bytes + 63) / 64 * 64;
    for (size_t j = 0; j < g.n; j += kBf16Columns) {
      const size_t cols = smaller(kBf16Columns, g.n - j), padded_n = (cols + 31) / 32 * 32;
      pairs_of_rows<Unit>(
          b + k0 * g.b_row + j, depth, cols, g.b_row, padded_k, padded_n, [&](size_t pair, size_t column) {
            char* panel = packed + column / kBf16Block * steps * kBf16StepBytes + pair / 16 * kBf16StepBytes;
            return reinterpret_cast<Bf16Pair*>(panel) + column % kBf16Block / 16 * 256 + pair % 16 * 16;
          });
      bf16_blocks<Unit>(g.m, cols, steps, rows, packed, steps * kBf16StepBytes, g.c + j, g.c_row,
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

// The f32 matrix product: a register tile of kMr x kNr, B in packed panels, A read in place.
//
// One panel of B (k x kNr, at most 32 KB: callers cut k at kMaxDepth) stays in L1 while the rows of A stream
// from L2. Every element of C is one chain of fused multiply-adds over k, whatever the tile it lies in, so
// results do not depend on how callers cut m and n.
#include "glint/kernels/isa/vec.h"

namespace glint::GLINT_ISA {
namespace {

// C = A B, or with `accumulate` C += A B. It is a template parameter because a branch inside would spill all
// accumulators to the stack.
template <size_t rows, bool accumulate>
void tile(size_t k, const float* a, size_t a_row, size_t a_k, const float* b, size_t b_k, float* c, size_t c_row) {
  Vec acc[rows][2];
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++) {
    acc[i][0] = accumulate ? load(c + i * c_row) : Vec{};
    acc[i][1] = accumulate ? load(c + i * c_row + kLanes) : Vec{};
  }
  do {
    const Vec b0 = load(b), b1 = load(b + kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++) {
      const Vec x = a[i * a_row] - Vec{};  // broadcast
      acc[i][0] += x * b0;
      acc[i][1] += x * b1;
    }
    a += a_k;
    b += b_k;
  } while (--k > 0);
#pragma GCC unroll 16
  for (size_t i = 0; i < rows; i++) {
    store(c + i * c_row, acc[i][0]);
    store(c + i * c_row + kLanes, acc[i][1]);
  }
}

using TileFn = void (*)(size_t, const float*, size_t, size_t, const float*, size_t, float*, size_t);

template <size_t... i>
struct Tiles {
  static constexpr TileFn fn[2][kMr + 1] = {{nullptr, &tile<i + 1, false>...}, {nullptr, &tile<i + 1, true>...}};
};
template <size_t n, size_t... i>
struct MakeTiles : MakeTiles<n - 1, n - 1, i...> {};
template <size_t... i>
struct MakeTiles<0, i...> : Tiles<i...> {};

// B in place: its next panel lies in as many cache lines as it has rows, far apart. Each register tile asks
// for its share of them.
GLINT_INLINE void prefetch_panel(const float* next, size_t b_k, size_t k, size_t row, size_t rows) {
  const size_t last = (row + kMr) * k / rows < k ? (row + kMr) * k / rows : k;
  for (size_t kk = row * k / rows; kk < last; kk++) {
    __builtin_prefetch(next + kk * b_k);
    if constexpr (kNr > 16) __builtin_prefetch(next + kk * b_k + 16);
  }
}

void gemm(const GemmF32& g) {
  const TileFn* const tiles = MakeTiles<kMr>::fn[g.accumulate];
  for (size_t j = 0, panel = 0; j < g.n; j += kNr, panel++) {
    const float* b = g.b + panel * g.b_panel;
    const size_t cols = g.n - j < kNr ? g.n - j : kNr;
    const bool ahead = g.b_k != kNr && j + 2 * kNr <= g.n;
    for (size_t i = 0; i < g.m; i += kMr) {
      if (ahead) prefetch_panel(b + g.b_panel, g.b_k, g.k, i, g.m);
      const size_t rows = g.m - i < kMr ? g.m - i : kMr;
      const float* a = g.a + i / kMr * g.a_tile;
      float* c = g.c + i * g.c_row + j;
      if (cols == kNr) {
        tiles[rows](g.k, a, g.a_row, g.a_k, b, g.b_k, c, g.c_row);
        continue;
      }
      float edge[kMr * kNr] = {};  // the last columns: through a whole tile
      if (g.accumulate)
        for (size_t r = 0; r < rows; r++)
          for (size_t s = 0; s < cols; s++) edge[r * kNr + s] = c[r * g.c_row + s];
      tiles[rows](g.k, a, g.a_row, g.a_k, b, g.b_k, edge, kNr);
      for (size_t r = 0; r < rows; r++)
        for (size_t s = 0; s < cols; s++) c[r * g.c_row + s] = edge[r * kNr + s];
    }
  }
}

typedef float Four __attribute__((vector_size(16)));
typedef float LooseFour __attribute__((vector_size(16), aligned(alignof(float))));

// out[k][j] = src[j][k] of a 4 x 4 block; rows of out are kNr apart.
GLINT_INLINE void transpose4(const float* src, size_t stride, float* out) {
  const Four a = *reinterpret_cast<const LooseFour*>(src), b = *reinterpret_cast<const LooseFour*>(src + stride),
             c = *reinterpret_cast<const LooseFour*>(src + 2 * stride),
             d = *reinterpret_cast<const LooseFour*>(src + 3 * stride);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto put = [&](size_t k, Four v) __attribute__((always_inline)) {
    *reinterpret_cast<LooseFour*>(out + k * kNr) = v;
  };
  put(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

// A transpose; whole panels in blocks of 4 x 4. They come from as many rows at once, too many for the
// processor's own prefetching: each row is asked for two cache lines ahead.
void pack_panel(const float* src, size_t k, size_t cols, size_t j_stride, float* out) {
  constexpr size_t kLine = 16, kAhead = 2 * kLine;
  if (cols == kNr) {
    size_t kk = 0;
    for (; kk + 4 <= k; kk += 4) {
      if (kk % kLine == 0 && kk + kAhead < k)
        for (size_t j = 0; j < kNr; j++) __builtin_prefetch(src + j * j_stride + kk + kAhead);
      for (size_t j = 0; j < kNr; j += 4) transpose4(src + j * j_stride + kk, j_stride, out + kk * kNr + j);
    }
    for (; kk < k; kk++)
      for (size_t j = 0; j < kNr; j++) out[kk * kNr + j] = src[j * j_stride + kk];
    return;
  }
  for (size_t kk = 0; kk < k; kk++) {
    for (size_t j = 0; j < cols; j++) out[kk * kNr + j] = src[kk + j * j_stride];
    for (size_t j = cols; j < kNr; j++) out[kk * kNr + j] = 0;
  }
}

// Rows lie far apart: the processor's own prefetching starts anew with each, so the rows ahead are asked for
// here.
template <size_t width>
void pack_along(const float* src, size_t k, size_t n, size_t k_stride, float* out) {
  constexpr size_t kAhead = 4, kLine = 16;
  const size_t whole = n / width, rest = n % width;
  for (size_t kk = 0; kk < k; kk++) {
    const float* s = src + kk * k_stride;
    float* o = out + kk * width;
    if (kk + kAhead < k)
      for (size_t j = 0; j < n; j += kLine) __builtin_prefetch(s + kAhead * k_stride + j);
    for (size_t t = 0; t < whole; t++, s += width, o += k * width)
      for (size_t i = 0; i < width; i++) o[i] = s[i];
    for (size_t i = 0; i < rest; i++) o[i] = s[i];
    if (rest > 0)
      for (size_t i = rest; i < width; i++) o[i] = 0;
  }
}

void pack_rows(const float* src, size_t k, size_t m, size_t row_stride, float* out) {
  for (size_t i0 = 0; i0 < m; i0 += kMr, out += k * kMr) {
    const float* rows = src + i0 * row_stride;
    if (m - i0 >= kMr) {
      for (size_t kk = 0; kk < k; kk++)
        for (size_t i = 0; i < kMr; i++) out[kk * kMr + i] = rows[i * row_stride + kk];
    } else {
      for (size_t kk = 0; kk < k; kk++)
        for (size_t i = 0; i < kMr; i++) out[kk * kMr + i] = i < m - i0 ? rows[i * row_stride + kk] : 0.0f;
    }
  }
}

}  // namespace

void fill_gemm(Kernels& table) {
  table.mr = kMr;
  table.nr = kNr;
  table.gemm = &gemm;
  table.pack_panel = &pack_panel;
  table.pack_panels = &pack_along<kNr>;
  table.pack_rows = &pack_rows;
  table.pack_tiles = &pack_along<kMr>;
}

}  // namespace glint::GLINT_ISA

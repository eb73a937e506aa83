// Dot products with weights as other programs store them: halves, bf16 and blocks of small integers become
// floats in registers, and never lie in memory as such.
//
// A row has two chains of sums, which are added in a fixed tree; four rows go side by side, because one would
// wait for the latency of its own chains. The sum of a row is the same whichever rows go beside it.
#include "glint/kernels/isa/stored_bytes.h"

namespace glint::GLINT_ISA {
namespace {

constexpr size_t kSide = 4;  // rows side by side

GLINT_INLINE Quad fold4(Vec v) {
#if defined(GLINT_ISA_v4)
  typedef Plain<float, 8>::type Eight;
  const Eight e = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                  __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(e, e, 0, 1, 2, 3) + __builtin_shufflevector(e, e, 4, 5, 6, 7);
#elif defined(GLINT_ISA_v3)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}
GLINT_INLINE void sums_of(const Vec (&acc)[1], float* out) {
  const Quad q = fold4(acc[0]);
  out[0] = (q[0] + q[1]) + (q[2] + q[3]);
}
// The same sums for four rows at once: a transpose, then whole vectors.
GLINT_INLINE void sums_of(const Vec (&acc)[kSide], float* out) {
  const Quad a = fold4(acc[0]), b = fold4(acc[1]), c = fold4(acc[2]), d = fold4(acc[3]);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Quad sum =
      (__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5) + __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7)) +
      (__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5) + __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
  for (size_t i = 0; i < kSide; i++) out[i] = sum[i];
}

// Values that stand alone.
template <class Layout, size_t rows>
GLINT_INLINE void flat_rows(const StoredDots& g, size_t first, float* out) {
  const char* w = static_cast<const char*>(g.w) + first * g.row_bytes;
  Vec even[rows], odd[rows];
#pragma GCC unroll 4
  for (size_t i = 0; i < rows; i++) even[i] = odd[i] = Vec{};
  size_t j = 0;
  for (; j + 2 * kLanes <= g.k; j += 2 * kLanes) {
    const Vec x0 = load(g.x + j), x1 = load(g.x + j + kLanes);
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
      const char* at = w + i * g.row_bytes + j * Layout::kBytes;
      if constexpr (Layout::kBytes < 4) fetch_ahead<(6 << 10), 2 * kLanes * Layout::kBytes>(at);
      even[i] += Layout::lanes(at) * x0;
      odd[i] += Layout::lanes(at + kLanes * Layout::kBytes) * x1;
    }
  }
  if (j + kLanes <= g.k) {
    const Vec x0 = load(g.x + j);
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) even[i] += Layout::lanes(w + i * g.row_bytes + j * Layout::kBytes) * x0;
    j += kLanes;
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < rows; i++) even[i] += odd[i];
  sums_of(even, out);
  for (; j < g.k; j++)
    for (size_t i = 0; i < rows; i++) out[i] += Layout::one(w + i * g.row_bytes + j * Layout::kBytes) * g.x[j];
}

// The rows of a block, its groups one after the other. What all rows share of x is loaded once.
template <class Layout, size_t rows>
GLINT_INLINE void block_rows(const StoredDots& g, size_t first, float* out) {
  constexpr StoredShape kShape = stored_shape(Layout::kLayout);
  constexpr size_t kGroups = kShape.values / Layout::kGroup, kParts = Layout::kGroup / kLanes;
  const char* w = static_cast<const char*>(g.w) + first * g.row_bytes;
  Vec acc[rows];
#pragma GCC unroll 4
  for (size_t i = 0; i < rows; i++) acc[i] = Vec{};
  for (size_t b = 0; b < g.k / kShape.values; b++, w += kShape.bytes) {
    const float* x = g.x + b * kShape.values;
    float scale[rows][kGroups], least[rows][kGroups];
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
      fetch_ahead<(12 << 10), kShape.bytes>(w + i * g.row_bytes);
      Layout::scales(w + i * g.row_bytes, scale[i], least[i]);
    }
#pragma GCC unroll 16
    for (size_t group = 0; group < kGroups; group++) {
      const size_t at = group * Layout::kGroup;
      Vec all = load(x + at);
      if constexpr (Layout::kMinimum)
#pragma GCC unroll 8
        for (size_t p = 1; p < kParts; p++) all += load(x + at + p * kLanes);
#pragma GCC unroll 4
      for (size_t i = 0; i < rows; i++) {
        const char* block = w + i * g.row_bytes;
        Vec sum = Layout::lanes(block, at) * load(x + at);
#pragma GCC unroll 8
        for (size_t p = 1; p < kParts; p++) sum += Layout::lanes(block, at + p * kLanes) * load(x + at + p * kLanes);
        acc[i] += sum * scale[i][group];
        if constexpr (Layout::kMinimum) acc[i] -= all * least[i][group];
      }
    }
  }
  sums_of(acc, out);
}

GLINT_INLINE void put(const StoredDots& g, size_t row, float sum) { g.y[row] = g.accumulate ? g.y[row] + sum : sum; }

template <class Layout>
void flat_dots(const StoredDots& g) {
  float sums[kSide];
  size_t r = 0;
  for (; r + kSide <= g.n; r += kSide) {
    flat_rows<Layout, kSide>(g, r, sums);
    for (size_t i = 0; i < kSide; i++) put(g, r + i, sums[i]);
  }
  for (; r < g.n; r++) flat_rows<Layout, 1>(g, r, sums), put(g, r, sums[0]);
}

#if defined(GLINT_ISA_v3)
// As block_dots, in parts of kMostUnits units of x. False, and nothing done, where x is not fit for planes.
template <class Layout>
bool byte_dots(const StoredDots& g) {
  constexpr StoredShape kShape = stored_shape(Layout::kLayout);
  constexpr size_t kPart = kMostUnits * kUnit / kShape.values;  // blocks
  const size_t blocks = g.k / kShape.values;
  BytePlanes x[kMostUnits];
  for (size_t at = 0; blocks > kPart && at < g.k; at += kUnit)
    if (!planes_of(g.x + at, x[0])) return false;
  float sums[kSide];
  for (size_t first = 0; first < blocks; first += kPart) {
    const size_t count = blocks - first < kPart ? blocks - first : kPart;
    for (size_t u = 0; u < count * kShape.values / kUnit; u++)
      if (!planes_of(g.x + first * kShape.values + u * kUnit, x[u])) return false;
    const auto put = [&](size_t row, float sum) __attribute__((always_inline)) {
      g.y[row] = g.accumulate || first > 0 ? g.y[row] + sum : sum;
    };
    const char* w = static_cast<const char*>(g.w) + first * kShape.bytes;
    size_t r = 0;
    for (; r + kSide <= g.n; r += kSide) {
      Vec acc[kSide] = {};
      byte_rows<Layout, kSide>(w + r * g.row_bytes, g.row_bytes, count, x, acc);
      sums_of(acc, sums);
      for (size_t i = 0; i < kSide; i++) put(r + i, sums[i]);
    }
    for (; r < g.n; r++) {
      Vec acc[1] = {};
      byte_rows<Layout, 1>(w + r * g.row_bytes, g.row_bytes, count, x, acc);
      sums_of(acc, sums);
      put(r, sums[0]);
    }
  }
  return true;
}
#endif

template <class Layout>
void block_dots(const StoredDots& g) {
#if defined(GLINT_ISA_v3)
  if constexpr (ByteUnits<Layout>::kThere)
    if (byte_dots<Layout>(g)) return;
#endif
  float sums[kSide];
  size_t r = 0;
  for (; r + kSide <= g.n; r += kSide) {
    block_rows<Layout, kSide>(g, r, sums);
    for (size_t i = 0; i < kSide; i++) put(g, r + i, sums[i]);
  }
  for (; r < g.n; r++) block_rows<Layout, 1>(g, r, sums), put(g, r, sums[0]);
}

template <class Layout>
void flat_floats(size_t k, const void* row, float* out) {
  const char* w = static_cast<const char*>(row);
  size_t j = 0;
  for (; j + kLanes <= k; j += kLanes) store(out + j, Layout::lanes(w + j * Layout::kBytes));
  for (; j < k; j++) out[j] = Layout::one(w + j * Layout::kBytes);
}

// A product that is rounded before anything is added to it, as the programs round that define the formats.
GLINT_INLINE Vec rounded(Vec product) {
#if defined(__x86_64__)
  asm("" : "+x"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#endif
  return product;
}

template <class Layout>
void block_floats(size_t k, const void* row, float* out) {
  constexpr StoredShape kShape = stored_shape(Layout::kLayout);
  constexpr size_t kGroups = kShape.values / Layout::kGroup;
  const char* block = static_cast<const char*>(row);
  for (size_t b = 0; b < k / kShape.values; b++, block += kShape.bytes, out += kShape.values) {
    float scale[kGroups], least[kGroups];
    Layout::scales(block, scale, least);
#pragma GCC unroll 64
    for (size_t j = 0; j < kShape.values; j += kLanes) {
      const Vec product = Layout::lanes(block, j) * scale[j / Layout::kGroup];
      if constexpr (Layout::kMinimum)
        store(out + j, rounded(product) - least[j / Layout::kGroup]);
      else
        store(out + j, product);
    }
  }
}

}  // namespace

void fill_stored(Kernels& table) {
  const auto set = [&](WeightLayout layout, void (*dots)(const StoredDots&),
                       void (*floats)(size_t, const void*, float*)) __attribute__((always_inline)) {
    table.stored_dots[static_cast<size_t>(layout)] = dots;
    table.stored_floats[static_cast<size_t>(layout)] = floats;
  };
  set(WeightLayout::f32, &flat_dots<F32>, &flat_floats<F32>);
  set(WeightLayout::f16, &flat_dots<F16>, &flat_floats<F16>);
  set(WeightLayout::bf16, &flat_dots<Bf16>, &flat_floats<Bf16>);
  const auto set_blocks = [&]<class Layout>(Layout) __attribute__((always_inline)) {
    set(Layout::kLayout, &block_dots<Layout>, &block_floats<Layout>);
  };
  set_blocks(Q8_0{});
  set_blocks(Q4_0{});
  set_blocks(Q4_1{});
  set_blocks(Q5_0{});
  set_blocks(Q5_1{});
  set_blocks(Q2_K{});
  set_blocks(Q3_K{});
  set_blocks(Q4_K{});
  set_blocks(Q5_K{});
  set_blocks(Q6_K{});
}

}  // namespace glint::GLINT_ISA

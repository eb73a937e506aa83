// Dot products with weights as other programs store them: halves, bf16 and blocks of small integers become
// floats in registers, and never lie in memory as such.
//
// A row has two chains of sums, which are added in a fixed tree; four rows go side by side, because one would
// wait for the latency of its own chains. The sum of a row is the same whichever rows go beside it.
#include "glint/kernels/isa/vec.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace glint::GLINT_ISA {
namespace {

constexpr size_t kSide = 4;  // rows side by side

// Loads at any alignment, as mapped files need.
template <class T, size_t n>
struct Loose {
  typedef T type __attribute__((vector_size(n * sizeof(T)), aligned(1), may_alias));
};
template <class T, size_t n>
struct Plain {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
};
template <class T, size_t n>
GLINT_INLINE typename Plain<T, n>::type get(const char* p) {
  return *reinterpret_cast<const typename Loose<T, n>::type*>(p);
}
template <class T>
GLINT_INLINE T get_one(const char* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}

typedef Plain<int32_t, kLanes>::type Ints;
typedef Plain<float, 4>::type Quad;

// kLanes small integers as wide ones. g++ 12 takes __builtin_convertvector apart into single values here, at
// a tenth of the speed. (The forms with a mask of ones: the others warn of their own undefined registers.)
#if defined(GLINT_ISA_v4)
GLINT_INLINE Ints from_u16(const char* p) {
  return (Ints)_mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)get<uint16_t, kLanes>(p));
}
GLINT_INLINE Ints from_u8(const char* p) {
  return (Ints)_mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)get<uint8_t, kLanes>(p));
}
GLINT_INLINE Ints from_i8(const char* p) {
  return (Ints)_mm512_maskz_cvtepi8_epi32(0xffff, (__m128i)get<int8_t, kLanes>(p));
}
#elif defined(GLINT_ISA_v3)
GLINT_INLINE __m128i eight_bytes(const char* p) { return _mm_set_epi64x(0, get_one<int64_t>(p)); }
GLINT_INLINE Ints from_u16(const char* p) {
  return (Ints)_mm256_cvtepu16_epi32((__m128i)get<uint16_t, kLanes>(p));
}
GLINT_INLINE Ints from_u8(const char* p) { return (Ints)_mm256_cvtepu8_epi32(eight_bytes(p)); }
GLINT_INLINE Ints from_i8(const char* p) { return (Ints)_mm256_cvtepi8_epi32(eight_bytes(p)); }
#else
template <class T>
GLINT_INLINE Ints widened(const char* p) {
  return __builtin_convertvector((get<T, kLanes>(p)), Ints);
}
GLINT_INLINE Ints from_u16(const char* p) { return widened<uint16_t>(p); }
GLINT_INLINE Ints from_u8(const char* p) { return widened<uint8_t>(p); }
GLINT_INLINE Ints from_i8(const char* p) { return widened<int8_t>(p); }
#endif

// The exponent of a half is moved to that of a float and corrected by 2^112, which is exact and right for
// subnormal numbers too; infinity and NaN need their exponent in full.
GLINT_INLINE float half_bits(uint32_t h) {
  const uint32_t magnitude = (h & 0x7fffu) << 13;
  const float value = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const uint32_t wide =
      (h & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : __builtin_bit_cast(uint32_t, value);
  return __builtin_bit_cast(float, wide | (h & 0x8000u) << 16);
}
GLINT_INLINE float half_at(const char* p) {
  const uint16_t h = get_one<uint16_t>(p);
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  return half_bits(h);
#endif
}

struct F32 {
  static constexpr size_t kBytes = 4;
  GLINT_INLINE static Vec lanes(const char* p) { return get<float, kLanes>(p); }
  GLINT_INLINE static float one(const char* p) { return get_one<float>(p); }
};

struct F16 {
  static constexpr size_t kBytes = 2;
  GLINT_INLINE static Vec lanes(const char* p) {
#if defined(GLINT_ISA_v4)
    return (Vec)_mm512_maskz_cvtph_ps(0xffff, (__m256i)get<uint16_t, kLanes>(p));
#elif defined(GLINT_ISA_v3)
    return (Vec)_mm256_cvtph_ps((__m128i)get<uint16_t, kLanes>(p));
#else
    Vec out;
    for (size_t i = 0; i < kLanes; i++) out[i] = half_bits(get_one<uint16_t>(p + 2 * i));
    return out;
#endif
  }
  GLINT_INLINE static float one(const char* p) { return half_at(p); }
};

struct Bf16 {
  static constexpr size_t kBytes = 2;
  GLINT_INLINE static Vec lanes(const char* p) { return (Vec)(from_u16(p) << 16); }
  GLINT_INLINE static float one(const char* p) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(get_one<uint16_t>(p)) << 16);
  }
};

GLINT_INLINE Vec to_floats(Ints v) { return __builtin_convertvector(v, Vec); }

// kLanes values of a block from number j on, without its scale.
struct Q8 {
  static constexpr size_t kBytes = kQ8Bytes;
  GLINT_INLINE static Vec lanes(const char* block, size_t j) { return to_floats(from_i8(block + 2 + j)); }
};
struct Q4 {
  static constexpr size_t kBytes = kQ4Bytes;
  GLINT_INLINE static Vec lanes(const char* block, size_t j) {
    const bool high = j >= kStoredBlock / 2;
    const Ints bytes = from_u8(block + 2 + (high ? j - kStoredBlock / 2 : j));
    return to_floats((high ? bytes >> 4 : bytes & 15) - 8);
  }
};

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
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
             cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Quad sum = (__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5) +
                    __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7)) +
                   (__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5) +
                    __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
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
    for (size_t i = 0; i < rows; i++)
      out[i] += Layout::one(w + i * g.row_bytes + j * Layout::kBytes) * g.x[j];
}

// Values in blocks with a scale each.
template <class Layout, size_t rows>
GLINT_INLINE void block_rows(const StoredDots& g, size_t first, float* out) {
  const char* w = static_cast<const char*>(g.w) + first * g.row_bytes;
  constexpr size_t kParts = kStoredBlock / kLanes;
  Vec acc[rows];
#pragma GCC unroll 4
  for (size_t i = 0; i < rows; i++) acc[i] = Vec{};
  for (size_t b = 0; b < g.k / kStoredBlock; b++) {
    const float* x = g.x + b * kStoredBlock;
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
      const char* block = w + i * g.row_bytes + b * Layout::kBytes;
      Vec sum = Layout::lanes(block, 0) * load(x);
#pragma GCC unroll 8
      for (size_t p = 1; p < kParts; p++) sum += Layout::lanes(block, p * kLanes) * load(x + p * kLanes);
      acc[i] += sum * half_at(block);
    }
  }
  sums_of(acc, out);
}

GLINT_INLINE void put(const StoredDots& g, size_t row, float sum) {
  g.y[row] = g.accumulate ? g.y[row] + sum : sum;
}

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

template <class Layout>
void block_dots(const StoredDots& g) {
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

template <class Layout>
void block_floats(size_t k, const void* row, float* out) {
  const char* block = static_cast<const char*>(row);
  for (size_t b = 0; b < k / kStoredBlock; b++, block += Layout::kBytes, out += kStoredBlock) {
    const float scale = half_at(block);
#pragma GCC unroll 8
    for (size_t j = 0; j < kStoredBlock; j += kLanes) store(out + j, Layout::lanes(block, j) * scale);
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
  set(WeightLayout::q8_0, &block_dots<Q8>, &block_floats<Q8>);
  set(WeightLayout::q4_0, &block_dots<Q4>, &block_floats<Q4>);
}

}  // namespace glint::GLINT_ISA

// Dot products of small unsigned integers with floats, by AVX2's products of bytes: 32 at once instead of eight, and no
// integer becomes a float before it is summed.
//
// The 32 numbers of x that go with a unit of weights become whole numbers X = x / step of 24 bits, in three planes of
// signed bytes, X = 65536 a + 256 b + c. So a sum of q X is exact, and what is lost of x is at most half a step, 2^-23
// of the largest of the 32: as much as rounding loses there.
#pragma once

#include "glint/kernels/isa/stored_blocks.h"

#if defined(GLINT_ISA_v3)
namespace glint::GLINT_ISA {
namespace {

constexpr size_t kUnit = 32;           // values
constexpr size_t kMostUnits = 128;     // of x at once, on the stack
constexpr float kMostSteps = 8000000;  // 63 * 4 of them fit 32 bits

// What all rows share of a unit. Lanes 0 to 3 of `sums` add up to the first 16 numbers, the others to the rest.
struct BytePlanes {
  __m256i a, b, c;
  __m256 sums;
  float step;
};

// False where x has numbers that are not finite or too small for a step: then the floats are multiplied.
GLINT_INLINE bool planes_of(const float* x, BytePlanes& out) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256 v[4];
  __m256i most = _mm256_setzero_si256();
  for (size_t i = 0; i < 4; i++) {
    v[i] = (__m256)load(x + 8 * i);
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
  }
  // The order of magnitudes is that of their bits, infinities and NaN last.
  const Ints parts = (Ints)most;
  int32_t bits = 0;
  for (size_t i = 0; i < kLanes; i++) bits = parts[i] > bits ? parts[i] : bits;
  if (bits >= 0x7f800000) return false;
  const float largest = __builtin_bit_cast(float, bits);
  if (largest > 0 && largest < 1e-25f) return false;
  out.step = largest / kMostSteps;
  const __m256 by = _mm256_set1_ps(largest > 0 ? kMostSteps / largest : 0);
  __m256i whole[4], high[4], top[4];
  const __m256i half = _mm256_set1_epi32(128);
  for (size_t i = 0; i < 4; i++) {
    whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], by));
    high[i] = _mm256_srai_epi32(_mm256_add_epi32(whole[i], half), 8);
    top[i] = _mm256_srai_epi32(_mm256_add_epi32(high[i], half), 8);
  }
  // Packing takes halves of vectors by turns; the permutation puts the bytes back in order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const auto bytes = [&](const __m256i(&n)[4]) __attribute__((always_inline)) {
    return _mm256_permutevar8x32_epi32(
        _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3])), order);
  };
  for (size_t i = 0; i < 4; i++) {
    whole[i] = _mm256_sub_epi32(whole[i], _mm256_slli_epi32(high[i], 8));
    high[i] = _mm256_sub_epi32(high[i], _mm256_slli_epi32(top[i], 8));
  }
  out.a = bytes(top), out.b = bytes(high), out.c = bytes(whole);
  const __m256 first = _mm256_add_ps(v[0], v[1]), second = _mm256_add_ps(v[2], v[3]);
  out.sums = _mm256_add_ps(_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31));
  return true;
}

// Sums of q X over fours, q below 64.
GLINT_INLINE __m256 byte_sums(__m256i q, const BytePlanes& x) {
  const __m256i one = _mm256_set1_epi16(1), by_256 = _mm256_set1_epi16(256);
  const __m256i a = _mm256_madd_epi16(_mm256_maddubs_epi16(q, x.a), one);
  const __m256i b = _mm256_madd_epi16(_mm256_maddubs_epi16(q, x.b), by_256);
  const __m256i c = _mm256_madd_epi16(_mm256_maddubs_epi16(q, x.c), one);
  return _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(a, 16), b), c));
}

GLINT_INLINE __m256i low_bits(__m256i v, int shift, int mask) {
  return _mm256_and_si256(_mm256_srli_epi16(v, shift), _mm256_set1_epi8(static_cast<char>(mask)));
}
GLINT_INLINE __m256i load_bytes(const char* p) { return (__m256i)get<uint64_t, 4>(p); }
// Bit number j of a byte in each, at the place of bit 4.
GLINT_INLINE __m256i fifth_bit(__m256i v, size_t j) {
  return j >= 4 ? low_bits(v, static_cast<int>(j - 4), 16)
                : _mm256_and_si256(_mm256_slli_epi16(v, static_cast<int>(4 - j)), _mm256_set1_epi8(16));
}

// Unit u of a block: its 32 numbers as they are stored, and what is to be taken from each.
template <class Layout>
struct ByteUnits {
  static constexpr bool kThere = false;
};
// Four bits alone are as fast as floats.
template <WeightLayout layout, bool minimum>
struct ByteUnits<Nibbles32<layout, minimum, true>> {
  using Layout = Nibbles32<layout, minimum, true>;
  static constexpr bool kThere = true;
  static constexpr int kMiddle = minimum ? 0 : 16;
  GLINT_INLINE static __m256i unit(const char* block, size_t) {
    const __m128i both = (__m128i)get<uint64_t, 2>(block + Layout::kNibbles);
    const __m256i q = low_bits(_mm256_set_m128i(_mm_srli_epi16(both, 4), both), 0, 15);
    // Byte i / 8 of the bits goes to value i, of which bit i % 8 is meant.
    const __m256i bits =
        _mm256_shuffle_epi8(_mm256_set1_epi32(get_one<int32_t>(block + Layout::kBits)),
                            _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0));
    const __m256i each = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bits, each), each);
    return _mm256_or_si256(q, _mm256_and_si256(set, _mm256_set1_epi8(16)));
  }
};
template <>
struct ByteUnits<Q2_K> {
  static constexpr bool kThere = true;
  static constexpr int kMiddle = 0;
  GLINT_INLINE static __m256i unit(const char* block, size_t u) {
    return low_bits(load_bytes(block + 16 + u / 4 * 32), static_cast<int>(u % 4 * 2), 3);
  }
};
template <>
struct ByteUnits<Q3_K> {
  static constexpr bool kThere = true;
  static constexpr int kMiddle = 4;
  GLINT_INLINE static __m256i unit(const char* block, size_t u) {
    const __m256i third = low_bits(load_bytes(block), static_cast<int>(u), 1);
    return _mm256_or_si256(low_bits(load_bytes(block + 32 + u / 4 * 32), static_cast<int>(u % 4 * 2), 3),
                           _mm256_slli_epi16(third, 2));
  }
};
template <WeightLayout layout, bool fifth>
struct ByteUnits<Nibbles256<layout, fifth>> {
  static constexpr bool kThere = true;
  static constexpr int kMiddle = 0;
  GLINT_INLINE static __m256i unit(const char* block, size_t u) {
    const __m256i q = low_bits(load_bytes(block + (fifth ? 48 : 16) + u / 2 * 32), u % 2 ? 4 : 0, 15);
    if constexpr (!fifth) return q;
    return _mm256_or_si256(q, fifth_bit(load_bytes(block + 16), u));
  }
};
template <>
struct ByteUnits<Q6_K> {
  static constexpr bool kThere = true;
  static constexpr int kMiddle = 32;
  GLINT_INLINE static __m256i unit(const char* block, size_t u) {
    const __m256i low = low_bits(load_bytes(block + u / 4 * 64 + u % 2 * 32), u % 4 < 2 ? 0 : 4, 15);
    const __m256i high = low_bits(load_bytes(block + 128 + u / 4 * 32), static_cast<int>(u % 4 * 2), 3);
    return _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
  }
};

// The rows of some whole blocks, as block_rows.
template <class Layout, size_t rows>
GLINT_INLINE void byte_rows(const char* w, size_t row_bytes, size_t blocks, const BytePlanes* x, Vec (&acc)[rows]) {
  constexpr StoredShape kShape = stored_shape(Layout::kLayout);
  constexpr size_t kGroups = kShape.values / Layout::kGroup, kUnits = kShape.values / kUnit;
  constexpr auto kMiddle = static_cast<float>(ByteUnits<Layout>::kMiddle);
  for (size_t b = 0; b < blocks; b++, w += kShape.bytes, x += kUnits) {
    float scale[rows][kGroups], least[rows][kGroups];
#pragma GCC unroll 4
    for (size_t i = 0; i < rows; i++) {
      fetch_ahead<(12 << 10), kShape.bytes>(w + i * row_bytes);
      Layout::scales(w + i * row_bytes, scale[i], least[i]);
    }
#pragma GCC unroll 8
    for (size_t u = 0; u < kUnits; u++) {
      // One scale per unit, or one per half of it.
      const auto lanes = [&](const float* of) __attribute__((always_inline)) {
        if constexpr (Layout::kGroup == kUnit) return _mm256_set1_ps(of[u]);
        return _mm256_set_m128(_mm_set1_ps(of[2 * u + 1]), _mm_set1_ps(of[2 * u]));
      };
      const __m256 step = _mm256_set1_ps(x[u].step);
#pragma GCC unroll 4
      for (size_t i = 0; i < rows; i++) {
        const __m256 by = lanes(scale[i]);
        __m256 sum = _mm256_mul_ps(byte_sums(ByteUnits<Layout>::unit(w + i * row_bytes, u), x[u]), step);
        if constexpr (kMiddle > 0) sum = _mm256_fnmadd_ps(x[u].sums, _mm256_set1_ps(kMiddle), sum);
        acc[i] = (Vec)_mm256_fmadd_ps(sum, by, (__m256)acc[i]);
        if constexpr (Layout::kMinimum) acc[i] = (Vec)_mm256_fnmadd_ps(x[u].sums, lanes(least[i]), (__m256)acc[i]);
      }
    }
  }
}

}  // namespace
}  // namespace glint::GLINT_ISA
#endif

// Loads at any alignment, and small integers and halves that become floats in registers: for products with
// weights as other programs store them.
#pragma once

#include "glint/kernels/isa/vec.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace glint::GLINT_ISA {
namespace {

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

// Rows are read once, from memory. Where a step over them is no whole number of cache lines, the processor's own
// prefetching falls behind: blocks of 34 bytes came at a fifth of the memory's rate. Farther than this is no
// faster.
template <size_t ahead, size_t bytes>
GLINT_INLINE void fetch_ahead(const char* p) {
#pragma GCC unroll 4
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + ahead + at);
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
GLINT_INLINE Ints from_u16(const char* p) { return (Ints)_mm256_cvtepu16_epi32((__m128i)get<uint16_t, kLanes>(p)); }
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
  const uint32_t wide = (h & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : __builtin_bit_cast(uint32_t, value);
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

// Two halves that lie side by side.
struct TwoHalves {
  float first, second;
};
GLINT_INLINE TwoHalves halves_at(const char* p) {
#if defined(__F16C__)
  const Quad both = (Quad)_mm_cvtph_ps(_mm_cvtsi32_si128(get_one<int32_t>(p)));
  return {both[0], both[1]};
#else
  return {half_at(p), half_at(p + 2)};
#endif
}

GLINT_INLINE Vec to_floats(Ints v) { return __builtin_convertvector(v, Vec); }

// Sixteen bytes less `minus` as floats, the first eight times one factor and the others times another: the scales
// of a large block.
typedef Plain<uint64_t, 2>::type Bytes16;
GLINT_INLINE void scaled_bytes(Bytes16 bytes, int32_t minus, float first, float second, float* out) {
#if defined(GLINT_ISA_v4)
  const Vec factor = (Vec)_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(first), _mm512_set1_ps(second));
  store(out, to_floats((Ints)_mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)bytes) - minus) * factor);
#elif defined(GLINT_ISA_v3)
  const __m128i high = _mm_unpackhi_epi64((__m128i)bytes, (__m128i)bytes);
  store(out, to_floats((Ints)_mm256_cvtepu8_epi32((__m128i)bytes) - minus) * first);
  store(out + kLanes, to_floats((Ints)_mm256_cvtepu8_epi32(high) - minus) * second);
#else
  for (size_t i = 0; i < 16; i++)
    out[i] =
        static_cast<float>(static_cast<int32_t>(bytes[i / 8] >> (i % 8 * 8) & 255) - minus) * (i < 8 ? first : second);
#endif
}

// The lowest four bits of each as a float, less `middle`.
template <int middle>
GLINT_INLINE Vec nibbles(Ints v) {
#if defined(GLINT_ISA_v4)
  // The look-up ignores all other bits.
  constexpr auto at = [](int i) { return static_cast<float>(i - middle); };
  constexpr Vec table = {at(0), at(1), at(2),  at(3),  at(4),  at(5),  at(6),  at(7),
                         at(8), at(9), at(10), at(11), at(12), at(13), at(14), at(15)};
  return (Vec)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)v, (__m512)table);
#else
  return to_floats((v & 15) - middle);
#endif
}

// `v`, and 16 more in the lanes whose bit is set, from the lowest on.
GLINT_INLINE Vec plus_16_where(Vec v, uint32_t bits) {
#if defined(GLINT_ISA_v4)
  return (Vec)_mm512_mask_add_ps((__m512)v, static_cast<__mmask16>(bits), (__m512)v, _mm512_set1_ps(16));
#else
  Ints lane;
  for (size_t i = 0; i < kLanes; i++) lane[i] = static_cast<int32_t>(i);
  return v + to_floats((static_cast<int32_t>(bits) >> lane & 1) << 4);
#endif
}

}  // namespace
}  // namespace glint::GLINT_ISA

// How weights lie in the files of other programs. Values that stand alone give `lanes` of floats and `one`. Those in
// blocks give raw numbers q as `lanes`; a group of them shares a scale and perhaps a minimum, and the values are
// scale q - minimum.
#pragma once

#include "glint/kernels/isa/stored_lanes.h"

namespace glint::GLINT_ISA {
namespace {

struct F32 {
  static constexpr size_t kBytes = 4;
  GLINT_INLINE static Vec lanes(const char* p) {
#if defined(GLINT_ISA_v4)
    // In halves: files align to 32 bytes, and a load across two lines takes as long as two.
    return (Vec)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)get<float, 8>(p)), (__m256)get<float, 8>(p + 32), 1);
#else
    return get<float, kLanes>(p);
#endif
  }
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

// Blocks of 32 values with one scale, which may have a minimum: f16 d, f16 -minimum, the fifth bits, 16 bytes of
// which all low nibbles come before the high ones.
template <WeightLayout layout, bool minimum, bool fifth>
struct Nibbles32 {
  static constexpr WeightLayout kLayout = layout;
  static constexpr size_t kGroup = 32;
  static constexpr bool kMinimum = minimum;
  static constexpr size_t kBits = minimum ? 4 : 2, kNibbles = kBits + (fifth ? 4 : 0);
  GLINT_INLINE static void scales(const char* block, float* scale, float* least) {
    if constexpr (minimum) {
      const TwoHalves both = halves_at(block);
      scale[0] = both.first, least[0] = -both.second;
    } else {
      scale[0] = half_at(block);
    }
  }
  GLINT_INLINE static Vec lanes(const char* block, size_t j) {
    constexpr int kMiddle = minimum ? 0 : fifth ? 16 : 8;
    const bool high = j >= 16;
    const Ints bytes = from_u8(block + kNibbles + (high ? j - 16 : j));
    const Vec q = nibbles<kMiddle>(high ? bytes >> 4 : bytes);
    if constexpr (fifth) return plus_16_where(q, get_one<uint32_t>(block + kBits) >> j);
    return q;
  }
};
using Q4_0 = Nibbles32<WeightLayout::q4_0, false, false>;
using Q4_1 = Nibbles32<WeightLayout::q4_1, true, false>;
using Q5_0 = Nibbles32<WeightLayout::q5_0, false, true>;
using Q5_1 = Nibbles32<WeightLayout::q5_1, true, true>;

struct Q8_0 {
  static constexpr WeightLayout kLayout = WeightLayout::q8_0;
  static constexpr size_t kGroup = 32;
  static constexpr bool kMinimum = false;
  GLINT_INLINE static void scales(const char* block, float* scale, float*) { scale[0] = half_at(block); }
  GLINT_INLINE static Vec lanes(const char* block, size_t j) { return to_floats(from_i8(block + 2 + j)); }
};

// Blocks of 256. Values lie in planes of 32: those of two bits in byte (v / 128) 32 + v % 32, those of four in
// (v / 64) 32 + v % 32, the first plane in the lowest bits.
GLINT_INLINE Ints plane(const char* bytes, size_t j, size_t planes) {
  return from_u8(bytes + j / (32 * planes) * 32 + j % 32) >> static_cast<int>(j / 32 % planes * (8 / planes));
}

struct Q2_K {
  static constexpr WeightLayout kLayout = WeightLayout::q2_k;
  static constexpr size_t kGroup = 16;
  static constexpr bool kMinimum = true;
  GLINT_INLINE static void scales(const char* block, float* scale, float* least) {
    const Bytes16 bytes = get<uint64_t, 2>(block);
    const TwoHalves d = halves_at(block + 80);
    scaled_bytes(bytes & 0x0f0f0f0f0f0f0f0f, 0, d.first, d.first, scale);
    scaled_bytes(bytes >> 4 & 0x0f0f0f0f0f0f0f0f, 0, d.second, d.second, least);
  }
  GLINT_INLINE static Vec lanes(const char* block, size_t j) { return to_floats(plane(block + 16, j, 4) & 3); }
};

struct Q3_K {
  static constexpr WeightLayout kLayout = WeightLayout::q3_k;
  static constexpr size_t kGroup = 16;
  static constexpr bool kMinimum = false;
  // Six bits each: sixteen low nibbles, then the upper two bits by fours.
  GLINT_INLINE static void scales(const char* block, float* scale, float*) {
    constexpr uint64_t kNibbles = 0x0f0f0f0f0f0f0f0f, kPairs = 0x03030303;
    const uint64_t low = get_one<uint64_t>(block + 96), high = get_one<uint32_t>(block + 104);
    const auto pairs = [&](int first) { return (high >> first & kPairs) | (high >> (first + 2) & kPairs) << 32; };
    const Bytes16 bytes = {(low & kNibbles) | pairs(0) << 4, (low >> 4 & kNibbles) | pairs(4) << 4};
    const float d = half_at(block + 108);
    scaled_bytes(bytes, 32, d, d, scale);
  }
  // Two bits of a value in planes; a third one that is 0 takes 4 away.
  GLINT_INLINE static Vec lanes(const char* block, size_t j) {
    const Ints third = from_u8(block + j % 32) >> static_cast<int>(j / 32) & 1;
    return to_floats(((plane(block + 32, j, 4) & 3) | third << 2) - 4);
  }
};

template <WeightLayout layout, bool fifth>
struct Nibbles256 {
  static constexpr WeightLayout kLayout = layout;
  static constexpr size_t kGroup = 32;
  static constexpr bool kMinimum = true;
  // Eight scales and eight minima of six bits in twelve bytes.
  GLINT_INLINE static void scales(const char* block, float* scale, float* least) {
    constexpr uint64_t kSix = 0x3f3f3f3f, kFour = 0x0f0f0f0f, kTwo = 0x03030303;
    const uint64_t a = get_one<uint32_t>(block + 4), b = get_one<uint32_t>(block + 8),
                   c = get_one<uint32_t>(block + 12);
    const uint64_t first = (a & kSix) | ((c & kFour) | (a >> 6 & kTwo) << 4) << 32,
                   second = (b & kSix) | ((c >> 4 & kFour) | (b >> 6 & kTwo) << 4) << 32;
    const TwoHalves d = halves_at(block);
    float both[16];
    scaled_bytes(Bytes16{first, second}, 0, d.first, d.second, both);
    for (size_t g = 0; g < 8; g++) scale[g] = both[g], least[g] = both[8 + g];
  }
  GLINT_INLINE static Vec lanes(const char* block, size_t j) {
    const Ints bytes = plane(block + (fifth ? 48 : 16), j, 2);
    if constexpr (!fifth) return nibbles<0>(bytes);
    const Ints high = from_u8(block + 16 + j % 32) >> static_cast<int>(j / 32) & 1;
    return to_floats((bytes & 15) | high << 4);
  }
};
using Q4_K = Nibbles256<WeightLayout::q4_k, false>;
using Q5_K = Nibbles256<WeightLayout::q5_k, true>;

struct Q6_K {
  static constexpr WeightLayout kLayout = WeightLayout::q6_k;
  static constexpr size_t kGroup = 16;
  static constexpr bool kMinimum = false;
  // Signed bytes; the top bit turned over makes them unsigned, 128 more.
  GLINT_INLINE static void scales(const char* block, float* scale, float*) {
    const float d = half_at(block + 208);
    scaled_bytes(get<uint64_t, 2>(block + 192) ^ 0x8080808080808080, 128, d, d, scale);
  }
  // Of 128 values the nibbles of the first 64 are low, those of the others high; two more bits in planes.
  GLINT_INLINE static Vec lanes(const char* block, size_t j) {
    const Ints low = from_u8(block + j / 128 * 64 + j % 64) >> (j % 128 < 64 ? 0 : 4) & 15;
    const Ints high = plane(block + 128, j, 4) & 3;
    return to_floats((low | high << 4) - 32);
  }
};

}  // namespace
}  // namespace glint::GLINT_ISA

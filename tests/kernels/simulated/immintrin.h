// The intrinsics that the bf16 units use, in plain C++, so that glint/kernels/bf16_amx.cc and bf16_avx512.cc
// run on every machine: the tests compile them a second time with this folder before the compiler's own.
// From the operations in Intel's manual (VDPBF16PS, VCVTNE2PS2BF16, TDPBF16PS, LDTILECFG, TILELOADD,
// TILESTORED):
//
//   - every multiplication with addition rounds once, to nearest even; MXCSR is not looked at;
//   - operands that are denormal count as zero, results that would be denormal become zero, of their sign;
//   - VDPBF16PS adds the product of the odd elements of a pair first, then that of the even ones;
//   - TDPBF16PS sums even and odd elements of a row apart, from zero, then both, then adds that to C.
//
// What would be an exception of the processor (#UD, #GP) is a std::logic_error. Not told apart: the payloads
// of NaNs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace glint::simulated {

inline constexpr double kLeastNormal = 0x1p-126;

// A denormal operand is a zero of the same sign.
inline float daz(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  return __builtin_bit_cast(float, (bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u);
}
// The bf16 number in the high half of a word.
inline float widen(uint32_t word) { return daz(__builtin_bit_cast(float, word & 0xffff0000u)); }

// a b + c, rounded once and flushed, for a b that is exact in double: two bf16 numbers, or one of them 1.
// The sum in double loses e. Where it does, it is made odd in its last place: then it lies strictly on the
// side of every float, and of every middle of two, on which the exact sum lies, and rounds as that does.
inline float fused(float a, float b, float c) {
  const double product = double{a} * double{b}, other = double{daz(c)};
  const double sum = product + other, part = sum - product;
  const double e = (product - (sum - part)) + (other - part);
  int64_t bits = __builtin_bit_cast(int64_t, sum);
  const bool lost = e > 0 || e < 0;  // false for NaN: infinite sums
  if (lost && bits % 2 == 0) bits += (e > 0) == (sum > 0) ? 1 : -1;
  const double odd = __builtin_bit_cast(double, bits);
  // Denormal means: below the least normal number once rounded to 24 bits.
  if (__builtin_fabs(odd) < kLeastNormal * (1 - 0x1p-25)) return __builtin_signbit(odd) ? -0.0f : 0.0f;
  return static_cast<float>(odd);
}

// c_i = a_i b_i + c_i for the same a_i, b_i as fused. The product of two bf16 numbers has 16 digits: where it
// is a normal float it is exact, a plain addition rounds once, and sums below the least normal number are
// exact as well. Only the other products need fused. In vectors of 16 bytes, which every processor can do or
// imitate, for the sake of the time of the tests.
typedef float F4 __attribute__((vector_size(16)));
typedef int32_t I4 __attribute__((vector_size(16)));

inline F4 daz(F4 x) {
  const I4 bits = (I4)x, keep = (bits & 0x7f800000) != 0;
  return (F4)(bits & (keep | INT32_MIN));
}

template <size_t kCount>
inline void fused_row(const float (&a)[kCount], const float (&b)[kCount], float (&c)[kCount]) {
  static_assert(kCount % 4 == 0);
  float sums[kCount];
  I4 exact = {-1, -1, -1, -1};
  for (size_t i = 0; i < kCount; i += 4) {
    F4 x, y, z;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    std::memcpy(&z, c + i, sizeof z);
    const F4 product = x * y;
    const I4 exponent = (I4)product & 0x7f800000;
    exact &= ((exponent != 0) & (exponent != 0x7f800000)) | (x == 0) | (y == 0);
    z = daz(daz(z) + product);
    std::memcpy(sums + i, &z, sizeof z);
  }
  if (exact[0] & exact[1] & exact[2] & exact[3])
    std::memcpy(c, sums, sizeof sums);
  else
    for (size_t i = 0; i < kCount; i++) c[i] = fused(a[i], b[i], c[i]);
}

// AVX-512. The vectors are structs, not the compiler's: nothing here needs a newer processor.
struct __m512 {
  float f[16];
};
struct __m512i {
  uint32_t u[16];
};
struct __m512bh {
  uint32_t pair[16];  // element 2 i in the low half, 2 i + 1 in the high half
  __m512bh() = default;
  explicit __m512bh(const __m512i& v) { std::memcpy(pair, v.u, sizeof pair); }
  explicit operator __m512i() const {
    __m512i v;
    std::memcpy(v.u, pair, sizeof pair);
    return v;
  }
};

inline __m512 _mm512_setzero_ps() { return {}; }
inline __m512 _mm512_loadu_ps(const void* p) {
  __m512 v;
  std::memcpy(v.f, p, sizeof v.f);
  return v;
}
inline void _mm512_storeu_ps(void* p, const __m512& v) { std::memcpy(p, v.f, sizeof v.f); }
inline __m512i _mm512_loadu_si512(const void* p) {
  __m512i v;
  std::memcpy(v.u, p, sizeof v.u);
  return v;
}
inline void _mm512_storeu_si512(void* p, const __m512i& v) { std::memcpy(p, v.u, sizeof v.u); }
// Element i of the result is element index_i (of 32) of v.
inline __m512i _mm512_permutexvar_epi16(const __m512i& index, const __m512i& v) {
  uint16_t at[32], from[32], to[32];
  std::memcpy(at, index.u, sizeof at);
  std::memcpy(from, v.u, sizeof from);
  for (size_t i = 0; i < 32; i++) to[i] = from[at[i] % 32];
  __m512i out;
  std::memcpy(out.u, to, sizeof to);
  return out;
}
// VCVTNE2PS2BF16: b in the low elements, a in the high ones; to nearest even, denormals count as zero, NaNs
// are made quiet.
inline __m512bh _mm512_cvtne2ps_pbh(const __m512& a, const __m512& b) {
  uint16_t rounded[32];
  for (size_t i = 0; i < 32; i++) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, daz(i < 16 ? b.f[i] : a.f[i - 16]));
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    rounded[i] = static_cast<uint16_t>((nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  __m512i v;
  std::memcpy(v.u, rounded, sizeof rounded);
  return __m512bh(v);
}
inline __m512i _mm512_set1_epi32(int32_t x) {
  __m512i v;
  for (uint32_t& u : v.u) u = static_cast<uint32_t>(x);
  return v;
}
inline __m512 _mm512_dpbf16_ps(__m512 c, const __m512bh& a, const __m512bh& b) {
  for (const bool odd : {true, false}) {
    float x[16], y[16];
    for (size_t i = 0; i < 16; i++) x[i] = widen(odd ? a.pair[i] : a.pair[i] << 16);
    for (size_t i = 0; i < 16; i++) y[i] = widen(odd ? b.pair[i] : b.pair[i] << 16);
    fused_row(x, y, c.f);
  }
  return c;
}

// AMX: the registers of a thread.
struct Tiles {
  static constexpr size_t kTiles = 8, kRows = 16, kRowBytes = 64;  // palette 1
  uint8_t palette = 0;                                             // 0: released
  struct Tile {
    uint8_t rows = 0;
    uint16_t row_bytes = 0;
    std::byte data[kRows][kRowBytes] = {};
  } tile[kTiles];
};
inline thread_local Tiles tiles;

inline void must(bool right, const char* what) {
  if (!right) throw std::logic_error(what);
}
inline Tiles::Tile& configured(int i) {
  must(tiles.palette == 1, "#UD: tiles are not configured");
  must(i >= 0 && static_cast<size_t>(i) < Tiles::kTiles, "#UD: there is no such tile");
  must(tiles.tile[i].rows > 0, "#UD: this tile has no rows");
  return tiles.tile[i];
}

inline void _tile_release() { tiles = {}; }
inline void _tile_loadconfig(const void* config) {
  uint8_t bytes[64];
  std::memcpy(bytes, config, sizeof bytes);
  _tile_release();
  if (bytes[0] == 0) return;
  must(bytes[0] == 1, "#GP: unknown palette");
  must(bytes[1] == 0, "#GP: begins within a tile");
  for (size_t i = 2; i < 16; i++) must(bytes[i] == 0, "#GP: reserved bytes are set");
  for (size_t i = Tiles::kTiles; i < 16; i++)
    must(bytes[16 + 2 * i] == 0 && bytes[17 + 2 * i] == 0 && bytes[48 + i] == 0, "#GP: palette 1 has eight tiles");
  for (size_t i = 0; i < Tiles::kTiles; i++) {
    const auto row_bytes = static_cast<uint16_t>(bytes[16 + 2 * i] | bytes[17 + 2 * i] << 8);
    const uint8_t rows = bytes[48 + i];
    must(row_bytes <= Tiles::kRowBytes && rows <= Tiles::kRows, "#GP: a tile is too large");
    must((row_bytes == 0) == (rows == 0), "#GP: a tile has rows or columns, not both");
    tiles.tile[i].rows = rows;
    tiles.tile[i].row_bytes = row_bytes;
  }
  tiles.palette = 1;
}
inline void _tile_zero(int to) { std::memset(configured(to).data, 0, sizeof configured(to).data); }
inline void _tile_loadd(int to, const void* base, size_t stride) {
  Tiles::Tile& t = configured(to);
  std::memset(t.data, 0, sizeof t.data);
  for (size_t r = 0; r < t.rows; r++)
    std::memcpy(t.data[r], static_cast<const std::byte*>(base) + r * stride, t.row_bytes);
}
inline void _tile_stream_loadd(int to, const void* base, size_t stride) { _tile_loadd(to, base, stride); }
inline void _tile_stored(int from, void* base, size_t stride) {
  const Tiles::Tile& t = configured(from);
  for (size_t r = 0; r < t.rows; r++) std::memcpy(static_cast<std::byte*>(base) + r * stride, t.data[r], t.row_bytes);
}
inline void _tile_dpbf16ps(int to, int left, int right) {
  Tiles::Tile& c = configured(to);
  const Tiles::Tile &a = configured(left), &b = configured(right);
  must(to != left && to != right && left != right, "#UD: one tile twice");
  must(c.row_bytes % 4 == 0 && a.row_bytes % 4 == 0 && b.row_bytes % 4 == 0, "#UD: parts of pairs");
  must(c.rows == a.rows && a.row_bytes / 4 == b.rows && b.row_bytes == c.row_bytes, "#UD: shapes differ");
  // Columns beyond those of a smaller tile are zero in the registers, and stay so.
  constexpr size_t kWords = Tiles::kRowBytes / 2;
  const auto words = [](const std::byte* row, float(&out)[kWords]) {
    uint16_t bf16[kWords];
    std::memcpy(bf16, row, sizeof bf16);
    for (size_t i = 0; i < kWords; i++) out[i] = widen(uint32_t{bf16[i]} << 16);
  };
  float b_rows[Tiles::kRows][kWords];
  for (size_t k = 0; k < b.rows; k++) words(b.data[k], b_rows[k]);
  for (size_t m = 0; m < c.rows; m++) {
    float a_row[kWords], sums[kWords] = {}, out[kWords / 2];
    words(a.data[m], a_row);
    for (size_t k = 0; k < b.rows; k++) {
      float pairs[kWords];
      for (size_t n = 0; n < kWords; n++) pairs[n] = a_row[2 * k + n % 2];
      fused_row(pairs, b_rows[k], sums);
    }
    std::memcpy(out, c.data[m], sizeof out);
    for (size_t n = 0; n < kWords / 2; n++) out[n] = fused(fused(sums[2 * n], 1, sums[2 * n + 1]), 1, out[n]);
    std::memcpy(c.data[m], out, sizeof out);
  }
}

}  // namespace glint::simulated

namespace glint {
using namespace simulated;
}

#include "glint/kernels/reference.h"

#include <cmath>

namespace glint::reference {
namespace {

uint16_t two_bytes(const std::byte* p) {
  return static_cast<uint16_t>(std::to_integer<unsigned>(p[0]) | std::to_integer<unsigned>(p[1]) << 8);
}

// Sign, exponent of `exponent` bits, fraction of the rest: IEEE 754.
double from_bits(uint32_t bits, int exponent, int fraction) {
  const int bias = (1 << (exponent - 1)) - 1, top = (1 << exponent) - 1;
  const int e = static_cast<int>(bits >> fraction) & top;
  const double sign = bits >> (exponent + fraction) & 1 ? -1 : 1;
  const double rest = std::ldexp(static_cast<double>(bits & ((1u << fraction) - 1)), -fraction);
  if (e == top) return rest == 0 ? sign * HUGE_VAL : NAN;
  return sign * std::ldexp(e == 0 ? rest : 1 + rest, e == 0 ? 1 - bias : e - bias);
}

double half(const std::byte* p) { return from_bits(two_bytes(p), 5, 10); }

unsigned byte_at(const std::byte* p) { return std::to_integer<unsigned>(*p); }
int signed_at(const std::byte* p) { return static_cast<int8_t>(byte_at(p)); }

using Parts = StoredParts;

// Value v of a block of 32: f16 scale, perhaps f16 offset, perhaps 32 fifth bits, nibbles.
Parts small_block(const std::byte* b, size_t v, bool offset, bool fifth) {
  const std::byte *bits = b + (offset ? 4 : 2), *nibbles = bits + (fifth ? 4 : 0);
  int q = static_cast<int>(byte_at(nibbles + v % 16) >> (v < 16 ? 0 : 4) & 15);
  if (fifth && byte_at(bits + v / 8) >> v % 8 & 1) q += 16;
  if (offset) return {half(b) * q, half(b + 2)};
  return {half(b) * (q - (fifth ? 16 : 8)), 0};
}

// The 6-bit number of group g of 8 in the 12 bytes of q4_k and q5_k: its scale, or its minimum.
int packed_six(const std::byte* p, size_t g, bool minimum) {
  if (g < 4) return static_cast<int>(byte_at(p + g + (minimum ? 4 : 0)) & 63);
  const unsigned low = minimum ? byte_at(p + g + 4) >> 4 : byte_at(p + g + 4) & 15;
  return static_cast<int>(low | byte_at(p + g - (minimum ? 0 : 4)) >> 6 << 4);
}

Parts k_nibbles(const std::byte* b, size_t v, bool fifth) {
  const size_t g = v / 32;
  int q = static_cast<int>(byte_at(b + (fifth ? 48 : 16) + g / 2 * 32 + v % 32) >> (g % 2 ? 4 : 0) & 15);
  if (fifth) q += static_cast<int>(byte_at(b + 16 + v % 32) >> g & 1) * 16;
  return {half(b) * packed_six(b + 4, g, false) * q, -half(b + 2) * packed_six(b + 4, g, true)};
}

// Two bits of value v, in planes.
unsigned two_bits(const std::byte* planes, size_t v) {
  return byte_at(planes + v / 128 * 32 + v % 32) >> v / 32 % 4 * 2 & 3;
}

Parts q2_k(const std::byte* b, size_t v) {
  const unsigned s = byte_at(b + v / 16);
  return {half(b + 80) * (s & 15) * two_bits(b + 16, v), -half(b + 82) * (s >> 4)};
}

Parts q3_k(const std::byte* b, size_t v) {
  const size_t g = v / 16;
  const int low = static_cast<int>(byte_at(b + 96 + g % 8) >> (g < 8 ? 0 : 4) & 15),
            high = static_cast<int>(byte_at(b + 104 + g % 4) >> g / 4 * 2 & 3);
  const int q = static_cast<int>(two_bits(b + 32, v)) - (byte_at(b + v % 32) >> v / 32 & 1 ? 0 : 4);
  return {half(b + 108) * (low + 16 * high - 32) * q, 0};
}

Parts q6_k(const std::byte* b, size_t v) {
  const unsigned low = byte_at(b + v / 128 * 64 + v % 64) >> (v % 128 < 64 ? 0 : 4) & 15;
  const int q = static_cast<int>(low + 16 * two_bits(b + 128, v)) - 32;
  return {half(b + 208) * signed_at(b + 192 + v / 16) * q, 0};
}

}  // namespace

size_t stored_row_bytes(WeightLayout layout, size_t k) {
  const StoredShape shape = stored_shape(layout);
  return k / shape.values * shape.bytes;
}

StoredParts stored_parts(WeightLayout layout, const std::byte* row, size_t j) {
  const StoredShape shape = stored_shape(layout);
  const std::byte* b = row + j / shape.values * shape.bytes;
  const size_t v = j % shape.values;
  switch (layout) {
    case WeightLayout::f32:
      return {from_bits(two_bytes(b) | static_cast<uint32_t>(two_bytes(b + 2)) << 16, 8, 23), 0};
    case WeightLayout::f16:
      return {half(b), 0};
    case WeightLayout::bf16:
      return {from_bits(two_bytes(b), 8, 7), 0};
    case WeightLayout::q8_0:
      return {half(b) * signed_at(b + 2 + v), 0};
    case WeightLayout::q4_0:
      return small_block(b, v, false, false);
    case WeightLayout::q4_1:
      return small_block(b, v, true, false);
    case WeightLayout::q5_0:
      return small_block(b, v, false, true);
    case WeightLayout::q5_1:
      return small_block(b, v, true, true);
    case WeightLayout::q2_k:
      return q2_k(b, v);
    case WeightLayout::q3_k:
      return q3_k(b, v);
    case WeightLayout::q4_k:
      return k_nibbles(b, v, false);
    case WeightLayout::q5_k:
      return k_nibbles(b, v, true);
    case WeightLayout::q6_k:
      return q6_k(b, v);
    case WeightLayout::count:
      break;
  }
  return {NAN, NAN};
}

double stored_value(WeightLayout layout, const std::byte* row, size_t j) {
  const StoredParts parts = stored_parts(layout, row, j);
  return parts.product + parts.offset;
}

std::vector<double> stored_dots(WeightLayout layout, std::span<const std::byte> w, size_t row_bytes,
                                std::span<const double> x, std::span<const double> start) {
  std::vector<double> y(start.begin(), start.end());
  for (size_t r = 0; r < y.size(); r++)
    for (size_t j = 0; j < x.size(); j++) y[r] += stored_value(layout, w.data() + r * row_bytes, j) * x[j];
  return y;
}

}  // namespace glint::reference

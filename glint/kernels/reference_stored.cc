#include "glint/kernels/reference_stored.h"

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

}  // namespace

size_t stored_row_bytes(WeightLayout layout, size_t k) {
  if (layout == WeightLayout::q8_0) return k / kStoredBlock * kQ8Bytes;
  if (layout == WeightLayout::q4_0) return k / kStoredBlock * kQ4Bytes;
  return k * (layout == WeightLayout::f32 ? 4 : 2);
}

double stored_value(WeightLayout layout, const std::byte* row, size_t j) {
  const size_t block = j / kStoredBlock, at = j % kStoredBlock;
  switch (layout) {
    case WeightLayout::f32:
      return from_bits(two_bytes(row + 4 * j) | static_cast<uint32_t>(two_bytes(row + 4 * j + 2)) << 16, 8,
                       23);
    case WeightLayout::f16:
      return half(row + 2 * j);
    case WeightLayout::bf16:
      return from_bits(two_bytes(row + 2 * j), 8, 7);
    case WeightLayout::q8_0: {
      const std::byte* b = row + block * kQ8Bytes;
      return half(b) * static_cast<int8_t>(b[2 + at]);
    }
    case WeightLayout::q4_0: {
      const std::byte* b = row + block * kQ4Bytes;
      const unsigned byte = std::to_integer<unsigned>(b[2 + at % (kStoredBlock / 2)]);
      return half(b) * (static_cast<int>(at < kStoredBlock / 2 ? byte & 15 : byte >> 4) - 8);
    }
    case WeightLayout::count:
      break;
  }
  return NAN;
}

std::vector<double> stored_dots(WeightLayout layout, std::span<const std::byte> w, size_t row_bytes,
                                std::span<const double> x, std::span<const double> start) {
  std::vector<double> y(start.begin(), start.end());
  for (size_t r = 0; r < y.size(); r++)
    for (size_t j = 0; j < x.size(); j++) y[r] += stored_value(layout, w.data() + r * row_bytes, j) * x[j];
  return y;
}

}  // namespace glint::reference

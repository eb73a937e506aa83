#include "glint/io/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace glint {

uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;  // half a unit above the largest
  // A half has 11 significant bits above 2^-14 and a fixed step of 2^-24 below: scaled so that this step is
  // 1, rounding to a whole number is rounding to a half.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int step = std::max(exponent - 11, -24);
  const float steps = std::nearbyint(std::ldexp(magnitude, -step));  // at most 2^11, exact
  const uint32_t count = static_cast<uint32_t>(steps);
  if (step == -24 && count < 1024) return sign | static_cast<uint16_t>(count);
  // count is in [1024, 2048]; 2048 carries into the exponent by itself.
  return sign | static_cast<uint16_t>((static_cast<uint32_t>(step + 25) << 10) + (count - 1024));
}

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide =
      exponent == 31 ? 255 : exponent + 112;  // 112 = 127 - 15, the difference of the biases
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace glint

// exp and log as straight-line code that compilers vectorise: no table, no branch, no errno.
// The kernels may not call libm inside a loop; these also give the same bits on every machine of one level.
#pragma once

#include <cstdint>

// Never emitted as a function of its own: files compiled for AVX-512 must not leave a shared copy for the
// linker.
#define GLINT_INLINE [[gnu::always_inline]] inline

namespace glint::vmath {

GLINT_INLINE float bits_to_float(int32_t i) { return __builtin_bit_cast(float, i); }
GLINT_INLINE int32_t float_to_bits(float f) { return __builtin_bit_cast(int32_t, f); }
GLINT_INLINE double bits_to_double(int64_t i) { return __builtin_bit_cast(double, i); }
GLINT_INLINE int64_t double_to_bits(double d) { return __builtin_bit_cast(int64_t, d); }

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer (|x| < 2^22); the low bits hold the
// integer.
inline constexpr float kRound = 12582912.0f;
inline constexpr double kRoundD = 6755399441055744.0;  // 1.5 * 2^52

GLINT_INLINE float power_of_two(int32_t n) { return bits_to_float((n + 127) << 23); }       // -126 <= n <= 127
GLINT_INLINE double power_of_two_d(int64_t n) { return bits_to_double((n + 1023) << 52); }  // -1022 <= n <= 1023

// exp(x) = mantissa * 2^exponent with mantissa in [0.7, 1.42], for |x| <= 150. Apart, so that a caller whose
// result is a denormal can scale last. Relative error of the mantissa below 1 ulp (checked over the range by
// a test).
struct ExpParts {
  float mantissa;
  int32_t exponent;
};
GLINT_INLINE ExpParts exp_parts(float x) {
  const float shifted = x * 1.44269504088896341f + kRound;
  const int32_t n = float_to_bits(shifted) - float_to_bits(kRound);
  const float k = shifted - kRound;
  // ln 2 in two parts; the first has 10 bits, so k * part is exact.
  const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  // Taylor-like polynomial on |r| <= ln2/2 (minimax, Cephes expf).
  float q = 1.9875691500e-4f;
  q = q * r + 1.3981999507e-3f;
  q = q * r + 8.3334519073e-3f;
  q = q * r + 4.1665795894e-2f;
  q = q * r + 1.6666665459e-1f;
  q = q * r + 5.0000001201e-1f;
  return {q * (r * r) + r + 1.0f, n};
}

// exp(x) for x in [-87, 88].
GLINT_INLINE float exp(float x) {
  const ExpParts e = exp_parts(x);
  return e.mantissa * power_of_two(e.exponent);
}

// exp(x) in double for |x| <= 700, relative error below 1e-15 (Taylor to degree 12 on |r| <= ln2/2).
GLINT_INLINE double exp(double x) {
  const double shifted = x * 1.44269504088896340736 + kRoundD;
  const int64_t n = double_to_bits(shifted) - double_to_bits(kRoundD);
  const double k = shifted - kRoundD;
  const double r = (x - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6;
  double q = 1.0 / 479001600;
  q = q * r + 1.0 / 39916800;
  q = q * r + 1.0 / 3628800;
  q = q * r + 1.0 / 362880;
  q = q * r + 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  return (q * (r * r) + r + 1.0) * power_of_two_d(n);
}

// ln(x) in double for normal x > 0: x = m * 2^k with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh(s), s =
// (m-1)/(m+1).
GLINT_INLINE double log(double x) {
  const int64_t bits = double_to_bits(x);
  const int64_t k = (bits - 0x3fe6a09e667f3bcdLL) >> 52;
  const double m = bits_to_double(bits - (k << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double q = 2.0 / 21;
  q = q * z + 2.0 / 19;
  q = q * z + 2.0 / 17;
  q = q * z + 2.0 / 15;
  q = q * z + 2.0 / 13;
  q = q * z + 2.0 / 11;
  q = q * z + 2.0 / 9;
  q = q * z + 2.0 / 7;
  q = q * z + 2.0 / 5;
  q = q * z + 2.0 / 3;
  // k as a double without an int64 conversion, which AVX2 lacks.
  const double kd = bits_to_double(double_to_bits(kRoundD) + k) - kRoundD;
  return kd * 6.93145751953125e-1 + (q * z * s + 2.0 * s + kd * 1.42860682030941723212e-6);
}

}  // namespace glint::vmath

// GELU in float, for callers whose numbers are PyTorch's: the value within 2 ulp of h Phi(h), in the far tail too. Training has
// the struct Gelu, in double, whose bytes do not change.
//
// With a = |h| and Q(a) = Phi(-a): Q(a) = exp(-a^2/2) G(t) / (1 + a), t = (a - 3) / (a + 3), G a minimax polynomial on [0, 14.7]
// of relative error 6e-9. G is nearly flat, so that rounding it costs half a unit, and every product whose rounding would cost
// another is followed by what it has lost.
#pragma once

#include "glint/kernels/gates.h"

namespace glint {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
struct GeluFloat {
  GLINT_INLINE static float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  GLINT_INLINE ValueAndSlope operator()(float hf) const {
    const float h = hf < -15.0f ? -15.0f : hf;  // 0 from here on
    const float b = __builtin_fabsf(h), a = b > 15.0f ? 15.0f : b;
    const float one_a = 1.0f + a, one_a_low = a - (one_a - 1.0f), three_a = 3.0f + a;
    const float both = 1.0f / (one_a * three_a);  // a division for two quotients
    const float t = fma(both * one_a, -6.0f, 1.0f), inverse = both * three_a;
    constexpr float kFirst = 4.860557914e-01f, kFirstLow = 4.259555819e-09f;
    float q = 4.719795834e-05f;
    q = fma(q, t, 1.360154874e-05f);
    q = fma(q, t, -4.694249947e-04f);
    q = fma(q, t, -3.416838008e-04f);
    q = fma(q, t, 2.990490524e-03f);
    q = fma(q, t, 1.155513455e-03f);
    q = fma(q, t, -2.272643521e-02f);
    q = fma(q, t, 4.516458884e-02f);
    q = fma(q, t, -1.643238217e-02f);
    q = fma(q, t, -9.652677923e-02f);
    const float p = fma(t, q, kFirst), p_low = fma(t, q, kFirst - p) + kFirstLow;
    // exp(-a^2/2) = (1 + s) 2^n
    const float square = a * a, square_low = fma(a, a, -square);
    const float shifted = fma(square, -0.5f * 1.44269504088896341f, vmath::kRound), k = shifted - vmath::kRound;
    const int32_t n = vmath::float_to_bits(shifted) - vmath::float_to_bits(vmath::kRound), half = n >> 1;
    const float x = fma(k, 2.12194440e-4f, fma(k, -0.693359375f, -0.5f * square)) - 0.5f * square_low;
    float e = 1.9875691500e-4f;  // as in vmath::exp_parts
    e = fma(e, x, 1.3981999507e-3f);
    e = fma(e, x, 8.3334519073e-3f);
    e = fma(e, x, 4.1665795894e-2f);
    e = fma(e, x, 1.6666665459e-1f);
    e = fma(e, x, 5.0000001201e-1f);
    const float s = fma(x * x, e, x);
    // a Q(a) = a p / (1 + a) exp(-a^2/2)
    const float w = a * p, w_low = fma(a, p_low, fma(a, p, -w));
    const float quotient = w * inverse;
    const float lost = (fma(-quotient, one_a_low, fma(-quotient, one_a, w)) + w_low) * inverse;
    const float product = quotient + fma(quotient, s, fma(lost, s, lost));
    const float s1 = vmath::power_of_two(half), s2 = vmath::power_of_two(n - half);  // 2^n in two normal steps
    const float tail = product * s1 * s2;
    const float density = (s + 1.0f) * s1 * s2, lower = p * inverse * density;
    const float bend = a * density * 0.3989422804f;
    return {h < 0 ? -tail : h - tail, h < 0 ? lower - bend : 1.0f - lower + bend};
  }
};
#else
using GeluFloat = Gelu;  // without fused products float would lose some units
#endif

}  // namespace glint

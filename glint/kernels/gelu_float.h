// GELU in float, for callers whose numbers are PyTorch's: the value within 2 ulp of h Phi(h), in the far tail too. Training has
// the struct Gelu, in double, whose bytes do not change.
//
// With a = |h| and Q(a) = Phi(-a): Q(a) = exp(-a^2/2) G(t) / (1 + 0.75 a), t = (a - 2.5) / (a + 2.5), G a minimax polynomial on
// [0, 14.7] of relative error 9e-9 whose first coefficient is a float. G is nearly flat, so that rounding it costs half a unit, and
// every product whose rounding would cost another is followed by what it has lost.
#pragma once

#include "glint/kernels/gates.h"

namespace glint {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
struct GeluFloat {
  GLINT_INLINE static float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  GLINT_INLINE ValueAndSlope operator()(float hf) const {
    const float b = __builtin_fabsf(hf), a = b > 15.0f ? 15.0f : b;  // 0 from there on
    const float under = fma(a, 0.75f, 1.0f), under_low = fma(a, 0.75f, 1.0f - under), other = 2.5f + a;
    const float both = 1.0f / (under * other);  // a division for two quotients
    const float t = fma(both * under, -5.0f, 1.0f), inverse = both * other;
    // In pairs: the terms of one step wait for each other less.
    const float t2 = t * t, t4 = t2 * t2;
    const float q8 = fma(t, -4.201361662e-05f, -1.663623989e-04f), q6 = fma(t, -4.739917858e-05f, 8.604082395e-04f);
    const float q4 = fma(t, 1.169255236e-03f, -3.798179794e-03f), q2 = fma(t, -7.806249894e-03f, 2.840987220e-02f);
    const float q0 = fma(t, -3.481631666e-06f, -1.257080585e-01f);
    const float q = fma(t4, fma(t4, q8, fma(t2, q6, q4)), fma(t2, q2, q0));
    constexpr float kFirst = 4.063275754e-01f;
    const float p = fma(t, q, kFirst), p_low = fma(t, q, kFirst - p);
    // exp(-a^2/2) = (1 + s) 2^n; the low bits of `shifted` are those of the exponent of 2^(n + 64)
    const float half = -0.5f * a, power = half * a, power_low = fma(half, a, -power);
    constexpr float kShift = vmath::kRound + 64 + 127;
    const float shifted = fma(power, 1.44269504088896341f, kShift), k = shifted - kShift;
    const float x = fma(k, 2.12194440e-4f, fma(k, -0.693359375f, power)) + power_low;
    const float scale = vmath::bits_to_float(vmath::float_to_bits(shifted) << 23);
    const float x2 = x * x, e2 = fma(x, 1.9875691500e-4f, 1.3981999507e-3f);  // as in vmath::exp_parts
    const float e1 = fma(x, 8.3334519073e-3f, 4.1665795894e-2f), e0 = fma(x, 1.6666665459e-1f, 5.0000001201e-1f);
    const float e = fma(x2, fma(x2, e2, e1), e0);
    const float s = fma(x2, e, x);
    // a Q(a) = a p / under exp(-a^2/2)
    const float w = a * p, w_low = fma(a, p_low, fma(a, p, -w));
    const float quotient = w * inverse;
    const float lost = (fma(-quotient, under_low, fma(-quotient, under, w)) + w_low) * inverse;
    const float product = quotient + fma(quotient, s, fma(lost, s, lost));
    const float tail = product * scale * 0x1p-64f;
    const float density = (s + 1.0f) * scale * 0x1p-64f, lower = p * inverse * density,
                bend = a * density * 0.3989422804f;
    const float upper = lower - bend;
    return {(hf > 0 ? hf : 0.0f) - tail, hf < 0 ? upper : 1.0f - upper};
  }
};
#else
using GeluFloat = Gelu;  // without fused products float would lose some units
#endif

}  // namespace glint

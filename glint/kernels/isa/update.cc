// AdamW over flat buffers, and pixels with normal noise.
#include "glint/base/rng.h"
#include "glint/kernels/isa/level.h"

namespace glint::GLINT_ISA {
namespace {

void adamw(const AdamwStep& s, size_t n, const float* __restrict g, float* __restrict m, float* __restrict v,
           float* __restrict p) {
  const float keep = 1.0f - s.lr * s.decay;
  const float step = s.lr / s.correction1;
  const float root = 1.0f / __builtin_sqrtf(s.correction2);
  for (size_t i = 0; i < n; i++) {
    const float grad = g[i] * s.grad_scale;
    m[i] = s.beta1 * m[i] + s.rest1 * grad;
    v[i] = s.beta2 * v[i] + s.rest2 * (grad * grad);
    p[i] = p[i] * keep - step * m[i] / (__builtin_sqrtf(v[i]) * root + s.eps);
  }
}

// Natural logarithm of u in [2^-24, 1]; absolute error below 1e-7 (polynomial of Cephes logf).
GLINT_INLINE float log_unit(float u) {
  const int32_t bits = vmath::float_to_bits(u);
  const int32_t k = (bits - 0x3f3504f3) >> 23;  // mantissa in [sqrt(1/2), sqrt(2))
  const float f = vmath::bits_to_float(bits - (k << 23)) - 1.0f;
  const float kf = static_cast<float>(k);
  float q = 7.0376836292e-2f;
  q = q * f - 1.1514610310e-1f;
  q = q * f + 1.1676998740e-1f;
  q = q * f - 1.2420140846e-1f;
  q = q * f + 1.4249322787e-1f;
  q = q * f - 1.6668057665e-1f;
  q = q * f + 2.0000714765e-1f;
  q = q * f - 2.4999993993e-1f;
  q = q * f + 3.3333331174e-1f;
  const float z = f * f;
  return q * f * z + kf * -2.12194440e-4f - 0.5f * z + f + kf * 0.693359375f;
}

// cos and sin of 2 pi t for t in [0, 1): by quadrant, then Taylor polynomials on |angle| <= pi/4.
struct CosSin {
  float cos, sin;
};
GLINT_INLINE CosSin cos_sin_turns(float t) {
  const float shifted = t * 4.0f + vmath::kRound;
  const int32_t quadrant = vmath::float_to_bits(shifted);
  const float a = (t * 4.0f - (shifted - vmath::kRound)) * 1.57079632679489662f;
  const float z = a * a;
  const float s =
      a + a * z * (-1.6666667163e-1f + z * (8.3333337680e-3f + z * (-1.9841270114e-4f + z * 2.7557314297e-6f)));
  const float c = 1.0f + z * (-0.5f + z * (4.1666667908e-2f + z * (-1.3888889225e-3f + z * 2.4801587642e-5f)));
  const bool odd = (quadrant & 1) != 0;
  const float cos = odd ? s : c, sin = odd ? c : s;
  // quadrant 0: (c, s); 1: (-s, c); 2: (-c, -s); 3: (s, -c)
  return {((quadrant + 1) & 2) != 0 ? -cos : cos, (quadrant & 2) != 0 ? -sin : sin};
}

// Normals 4 b .. 4 b + 3 of block b, for kBlocks blocks: the same numbers as Rng(seed, Stream::noise, epoch)
// at index sample 2^34 + pixel.
constexpr size_t kBlocks = 16;
GLINT_INLINE void normal_blocks(const NoiseKey& key, uint32_t first, float (&out)[4][kBlocks]) {
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (size_t i = 0; i < kBlocks; i++) {
    c0[i] = first + static_cast<uint32_t>(i);
    c1[i] = key.sample;
    c2[i] = key.epoch;
    c3[i] = static_cast<uint32_t>(Stream::noise);
  }
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; round++) {
    for (size_t i = 0; i < kBlocks; i++) {
      const uint64_t a = uint64_t{kPhiloxM0} * c0[i], b = uint64_t{kPhiloxM1} * c2[i];
      c0[i] = static_cast<uint32_t>(b >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(b);
      c2[i] = static_cast<uint32_t>(a >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(a);
    }
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  const auto pair = [&](const uint32_t(&a)[kBlocks], const uint32_t(&b)[kBlocks], float(&x)[kBlocks],
                        float(&y)[kBlocks]) __attribute__((always_inline)) {
    for (size_t i = 0; i < kBlocks; i++) {
      const float u = static_cast<float>(static_cast<int32_t>(a[i] >> 8) + 1) * 0x1p-24f;
      const float t = static_cast<float>(static_cast<int32_t>(b[i] >> 8)) * 0x1p-24f;
      const float square = -2.0f * log_unit(u);
      const float radius = __builtin_sqrtf(square > 0 ? square : 0.0f);
      const CosSin cs = cos_sin_turns(t);
      x[i] = radius * cs.cos;
      y[i] = radius * cs.sin;
    }
  };
  pair(c0, c1, out[0], out[1]);
  pair(c2, c3, out[2], out[3]);
}

void noisy_pixels(const NoiseKey& key, float std, size_t n, const uint8_t* pixels, float* out) {
  constexpr float kScale = 1.0f / 255.0f;
  if (std == 0) {
    for (size_t i = 0; i < n; i++) out[i] = static_cast<float>(pixels[i]) * kScale;
    return;
  }
  for (size_t i = 0; i < n; i += 4 * kBlocks) {
    float normal[4][kBlocks];
    normal_blocks(key, static_cast<uint32_t>(i / 4), normal);
    const size_t count = n - i < 4 * kBlocks ? n - i : 4 * kBlocks;
    if (count == 4 * kBlocks) {
      for (size_t b = 0; b < kBlocks; b++)
        for (size_t j = 0; j < 4; j++)
          out[i + 4 * b + j] = static_cast<float>(pixels[i + 4 * b + j]) * kScale + std * normal[j][b];
    } else {
      for (size_t j = 0; j < count; j++)
        out[i + j] = static_cast<float>(pixels[i + j]) * kScale + std * normal[j % 4][j / 4];
    }
  }
}

}  // namespace

void fill_update(Kernels& table) {
  table.adamw = &adamw;
  table.noisy_pixels = &noisy_pixels;
}

}  // namespace glint::GLINT_ISA

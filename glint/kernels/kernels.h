// The table of kernels of one instruction-set level. All are single-threaded and allocate nothing; callers
// cut the work into tiles. Shapes are row-major, strides count elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "glint/base/cpu.h"
#include "glint/kernels/gates.h"

namespace glint {

// C[m,n] = A[m,k] B[k,n], or C += with `accumulate`; k > 0. Row i of register tile t of A is at a + t *
// a_tile + i * a_row, its k-th element a_k * k further. B is in panels of `nr` columns: panel j holds k rows
// of nr floats, columns beyond n are zero.
struct GemmF32 {
  size_t m, n, k;
  const float* a;
  size_t a_tile, a_row, a_k;
  const float* b;
  size_t b_panel, b_k;  // floats from one panel to the next, from one row of a panel to the next
  float* c;
  size_t c_row;
  bool accumulate;
};

struct AdamwStep {
  float lr, beta1, beta2, eps, decay;
  float rest1, rest2;              // 1 - beta1, 1 - beta2, from more digits than a float has
  float correction1, correction2;  // 1 - beta1^t, 1 - beta2^t
  float grad_scale;                // multiplies every gradient: clipping
};

struct NoiseKey {
  uint64_t seed;
  uint32_t epoch, sample;
};

// How weights lie in the files of other programs, for products that read them in place: as io/stored_tensor.h
// has them, in the same order. Values of blocks have common scales.
enum class WeightLayout : int { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, q6_k, count };
inline constexpr size_t kWeightLayouts = static_cast<size_t>(WeightLayout::count);
struct StoredShape {
  size_t values, bytes;  // of a block
};
constexpr StoredShape stored_shape(WeightLayout layout) {
  constexpr StoredShape kShapes[kWeightLayouts] = {{1, 4},     {1, 2},     {1, 2},    {32, 34},  {32, 18},
                                                   {32, 20},   {32, 22},   {32, 24},  {256, 84}, {256, 110},
                                                   {256, 144}, {256, 176}, {256, 210}};
  return kShapes[static_cast<size_t>(layout)];
}

// y[r] = sum over j of w[r][j] x[j], or y += with `accumulate`, r < n, j < k. The rows of W are row_bytes
// apart, at any alignment; k is a whole number of blocks where there are blocks.
struct StoredDots {
  size_t n, k;
  const void* w;
  size_t row_bytes;
  const float* x;
  float* y;
  bool accumulate;
};

// Rows w [n, k] of floats or doubles, w_row apart, that go with `vectors` vectors of doubles.
template <class T>
struct DoubleRows {
  size_t n, k, vectors;
  const T* w;
  size_t w_row;
};

struct Kernels {
  Isa isa;

  // Products. mr x nr is the register tile; packing is copy with padding.
  size_t mr, nr;
  void (*gemm)(const GemmF32&);
  // A panel of W^T: out[k][nr] = src[k + j * j_stride] for j < cols, 0 beyond.
  void (*pack_panel)(const float* src, size_t k, size_t cols, size_t j_stride, float* out);
  // Both operands of A^T B, row by row: out[panel][k][nr] = src[k][panel * nr + j], 0 beyond n, and with mr
  // for A.
  void (*pack_panels)(const float* src, size_t k, size_t n, size_t k_stride, float* out);
  void (*pack_tiles)(const float* src, size_t k, size_t m, size_t k_stride, float* out);
  // The left operand of A B: out[tile][k][mr] = src[tile * mr + i][k], 0 beyond m.
  void (*pack_rows)(const float* src, size_t k, size_t m, size_t row_stride, float* out);

  // Weights as they are stored, widened in registers; sums in f32, in an order that depends on k alone.
  void (*stored_dots[kWeightLayouts])(const StoredDots&);
  // A row of k of them as floats.
  void (*stored_floats[kWeightLayouts])(size_t k, const void* row, float* out);

  // Products with a few vectors in double; the order of a sum depends on k or n alone.
  // out[i][r] = sum over j of w[r][j] x[i][j].
  void (*double_dots_f32)(const DoubleRows<float>&, const double* x, size_t x_row, double* out, size_t out_row);
  void (*double_dots_f64)(const DoubleRows<double>&, const double* x, size_t x_row, double* out, size_t out_row);
  // y[i][j] += sum over r of c[i][r] w[r][j].
  void (*double_add_f32)(const DoubleRows<float>&, const double* c, size_t c_row, double* y, size_t y_row);
  void (*double_add_f64)(const DoubleRows<double>&, const double* c, size_t c_row, double* y, size_t y_row);

  // y = gate(l) r, all [rows, h].
  void (*glu_forward[kGateLoops])(const GateParams&, size_t rows, size_t h, const float* l, size_t l_stride,
                                  const float* r, size_t r_stride, float* y, size_t y_stride);
  // dl = dy r gate'(l), dr = dy gate(l); dl may be l, and dr may be r.
  void (*glu_backward[kGateLoops])(const GateParams&, size_t rows, size_t h, const float* l, size_t l_stride,
                                   const float* r, size_t r_stride, const float* dy, size_t dy_stride, float* dl,
                                   size_t dl_stride, float* dr, size_t dr_stride);
  // The same, gate and product in separate passes over memory, as a framework without fusion does it:
  // value = gate(l); slope = gate'(l).
  void (*gate_apply[kGateLoops])(const GateParams&, size_t n, const float* l, float* value, float* slope);

  // Per row: loss = -log softmax(logits)[label], dlogits = scale (softmax - onehot), hit = argmax is the
  // label. dlogits may be logits or null.
  void (*softmax_xent)(size_t rows, size_t n, const float* logits, size_t stride, const uint32_t* labels, float scale,
                       float* dlogits, size_t d_stride, float* loss, uint8_t* hit);
  // y = x / sqrt(mean(x^2) + eps); inverse[row] = 1 / that root.
  void (*rmsnorm_forward)(size_t rows, size_t n, const float* x, size_t x_stride, float eps, float* y, size_t y_stride,
                          float* inverse);
  // dx = inverse (dy - y mean(dy y)).
  void (*rmsnorm_backward)(size_t rows, size_t n, const float* y, size_t y_stride, const float* inverse,
                           const float* dy, size_t dy_stride, float* dx, size_t dx_stride);
  void (*add_rows)(size_t rows, size_t n, const float* x, size_t x_stride, float* y,
                   size_t y_stride);                                                         // y += x
  void (*add_bias)(size_t rows, size_t n, const float* bias, float* y, size_t y_stride);     // y += bias
  void (*column_sums)(size_t rows, size_t n, const float* x, size_t x_stride, float* sums);  // sums += x
  double (*sum)(size_t n, const float* x);
  double (*sum_squares)(size_t n, const float* x);

  // Attention of one head. Rotary positions, half-split: a = x[j], b = x[j + half] of every head become
  // a cos - b sin and b cos + a sin, where cos and sin are [rows, half]; with back the transpose of that: the
  // gradient.
  void (*rotary)(size_t rows, size_t heads, size_t half, const float* cos, const float* sin, bool back, float* x,
                 size_t stride);
  // Row i sees its first visible + i columns: there x becomes exp(x - largest x), in the rest of `width` it
  // becomes 0. lse = log of the sum of exp(x), inverse = 1 / sum of what x became.
  void (*causal_softmax)(size_t rows, size_t visible, size_t width, float* x, size_t stride, float* lse,
                         float* inverse);
  // x becomes p = exp(x - lse), dp becomes p (dp - dot); both become 0 where the row does not see. One
  // stride.
  void (*causal_softmax_backward)(size_t rows, size_t visible, size_t width, const float* lse, const float* dot,
                                  float* x, float* dp, size_t stride);
  void (*row_dots)(size_t rows, size_t n, const float* a, size_t a_stride, const float* b, size_t b_stride,
                   float* dots);  // sum over j of a_ij b_ij
  void (*scale_rows)(size_t rows, size_t n, const float* factor, const float* x, size_t x_stride, float* y,
                     size_t y_stride);  // y_i = factor_i x_i; y may be x

  // Cross-entropy over a vocabulary, a block of columns at a time: top = largest x of a row, x becomes
  // exp(x - top), sum = their sum.
  void (*exp_rows)(size_t rows, size_t n, float* x, size_t stride, float* top, float* sum);
  // From top and sum [blocks, rows] and the logit of the target: loss = log sum exp - target,
  // sum becomes exp(top - log sum exp): what a block's exps are to be multiplied by.
  void (*xent_from_blocks)(size_t rows, size_t blocks, size_t stride, const float* top, float* sum, const float* target,
                           float* loss);

  // m, v, p in place; g is read. Decoupled decay, as PyTorch's AdamW.
  void (*adamw)(const AdamwStep&, size_t n, const float* g, float* m, float* v, float* p);

  // out = pixel / 255 + std * normal(seed, epoch, sample, pixel index); without noise when std is 0.
  void (*noisy_pixels)(const NoiseKey&, float std, size_t n, const uint8_t* pixels, float* out);
};

// The table of a level that this processor can run (see runnable_isas).
const Kernels& kernels(Isa isa);

}  // namespace glint

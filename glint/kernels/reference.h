// Every kernel once more in double: plain loops straight from the formula, one thread, no cleverness.
// Normative: where a kernel and its reference differ by more than rounding, the kernel is wrong. Views in,
// values out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/kernels/gates.h"
#include "glint/kernels/kernels.h"

namespace glint::reference {

using View = ConstMatrixView<double>;

// C[m,n] = A[m,k] B[k,n].    C_ij = sum_k A_ik B_kj
Matrix<double> multiply(View a, View b);
// C[m,n] = A[k,m]^T B[k,n].  C_ij = sum_k A_ki B_kj
Matrix<double> multiply_tn(View a, View b);
// A[m,n] -> [n,m]
Matrix<double> transpose(View a);

// The gate of a GLU. z[rows,2h] = [l | r], y[rows,h]: y = gate(l) r
Matrix<double> gate_forward(const Gate& gate, View z);
// dy[rows,h] -> dz[rows,2h] = [dy r gate'(l) | dy gate(l)]
Matrix<double> gate_backward(const Gate& gate, View z, View dy);

// Softmax with cross-entropy, s = softmax of a row: s_j = exp(x_j) / sum_k exp(x_k)
//   loss = -log s_label      dlogits = scale (s - onehot(label))      hit = (the first largest x is the
//   label)
struct Xent {
  std::vector<double> loss;  // [rows]
  std::vector<uint8_t> hit;  // [rows]
  Matrix<double> dlogits;    // [rows,n]
};
Xent softmax_xent(View logits, std::span<const uint32_t> labels, double scale);

// RMSNorm. inverse = 1 / sqrt(mean_j x_j^2 + eps), y = x inverse
struct Norm {
  Matrix<double> y;             // [rows,n]
  std::vector<double> inverse;  // [rows]
};
Norm rmsnorm_forward(View x, double eps);
// dx = inverse (dy - y mean_j(dy_j y_j))
Matrix<double> rmsnorm_backward(View y, std::span<const double> inverse, View dy);

Matrix<double> add_rows(View x, View y);                                 // y + x
Matrix<double> add_bias(std::span<const double> bias, View y);           // y_ij + bias_j
std::vector<double> column_sums(View x, std::span<const double> start);  // start_j + sum_i x_ij
double sum(std::span<const double> x);
double sum_squares(std::span<const double> x);

// AdamW, decoupled decay. g' = grad_scale g
//   m <- beta1 m + (1 - beta1) g'      v <- beta2 v + (1 - beta2) g'^2
//   p <- p (1 - lr decay) - lr (m / correction1) / (sqrt(v / correction2) + eps)
void adamw(const AdamwStep& step, std::span<const double> g, std::span<double> m, std::span<double> v,
           std::span<double> p);

// pixel / 255 + std normal, the normal that Rng(seed, Stream::noise, epoch) has at index sample 2^34 + i
// (64 bits: sample < 2^30)
std::vector<double> noisy_pixels(const NoiseKey& key, double std, std::span<const uint8_t> pixels);

// Linear layer, W[n,k]: y[m,n] = x[m,k] W^T      dx = dy W      dW = dy^T x
Matrix<double> linear_forward(View x, View w);
struct LayerGradient {
  Matrix<double> dx, dw;
};
LayerGradient linear_backward(View x, View w, View dy);

// GLU layer, W = [L; R] [2h,d]: z[m,2h] = x[m,d] W^T, y[m,h] = gate(z left) (z right)
//   dz = gate_backward(z, dy)      dx = dz W      dW = dz^T x
struct GluOutput {
  Matrix<double> z, y;
};
GluOutput glu_forward(const Gate& gate, View x, View w);
LayerGradient glu_backward(const Gate& gate, View x, View w, View z, View dy);

// Mean of the cross-entropy over the batch; its gradient is softmax_xent with scale 1 / batch.
double loss(View logits, std::span<const uint32_t> labels);

// The kernels of the language model once more in double, as in reference.h, and attention as a whole.

// Rotary positions, half-split, of `heads` heads side by side in x[rows,2 half heads]; cos, sin [rows,half].
//   a = x_j, b = x_(j + half):   (a cos - b sin, b cos + a sin)     back: (a cos + b sin, b cos - a sin)
Matrix<double> rotary(View x, size_t heads, View cos, View sin, bool back);

// Row i sees its first n = min(visible + i, width) columns. In the others everything is 0.
//   e = exp(x - max)      lse = log sum exp(x)      inverse = 1 / sum e
struct CausalSoftmax {
  Matrix<double> e;
  std::vector<double> lse, inverse;
};
CausalSoftmax causal_softmax(View x, size_t visible);
//   p = exp(x - lse)      ds = p (dp - dot)
struct CausalGradient {
  Matrix<double> p, ds;
};
CausalGradient causal_softmax_backward(View x, size_t visible, std::span<const double> lse, std::span<const double> dot,
                                       View dp);

std::vector<double> row_dots(View a, View b);                       // sum_j a_ij b_ij
Matrix<double> scale_rows(std::span<const double> factor, View x);  // factor_i x_ij

// Cross-entropy over a vocabulary in blocks: top = max, e = exp(x - top), sum = sum e of a block's columns.
struct ExpRows {
  Matrix<double> e;
  std::vector<double> top, sum;
};
ExpRows exp_rows(View x);
// From top, sum [blocks,rows]: lse = log sum_b sum_b exp(top_b); loss = lse - target; share = exp(top_b -
// lse)
struct BlockXent {
  std::vector<double> loss;
  Matrix<double> share;
};
BlockXent xent_from_blocks(View top, View sum, std::span<const double> target);

// Causal attention, one head: q, k, v [t,head_dim], scale s.
//   p_ij = softmax over j <= i of q_i . k_j      y_i = s sum_j p_ij v_j
Matrix<double> attention_forward(View q, View k, View v, double s);
struct AttentionGradient {
  Matrix<double> dq, dk, dv;
};
AttentionGradient attention_backward(View q, View k, View v, double s, View dy);

// Weights as other programs store them once more in double, as in reference.h: a value from the bits of its
// number or block, and the dot products.

// The bytes of a row of k values.
size_t stored_row_bytes(WeightLayout layout, size_t k);
// Value j of a row: a number times its scale, and what its block adds to that.
struct StoredParts {
  double product, offset;
};
StoredParts stored_parts(WeightLayout layout, const std::byte* row, size_t j);
double stored_value(WeightLayout layout, const std::byte* row, size_t j);
// y_r = start_r + sum_j w_rj x_j
std::vector<double> stored_dots(WeightLayout layout, std::span<const std::byte> w, size_t row_bytes,
                                std::span<const double> x, std::span<const double> start);

}  // namespace glint::reference

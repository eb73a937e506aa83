// The kernels of the language model once more in double, as in reference.h, and attention as a whole.
#pragma once

#include "glint/kernels/reference.h"

namespace glint::reference {

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
CausalGradient causal_softmax_backward(View x, size_t visible, std::span<const double> lse,
                                       std::span<const double> dot, View dp);

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

}  // namespace glint::reference

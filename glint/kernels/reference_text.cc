#include "glint/kernels/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace glint::reference {
namespace {

// p_ij for j <= i, 0 beyond.
Matrix<double> attention_weights(View q, View k) {
  const CausalSoftmax softmax = causal_softmax(multiply(q, transpose(k)), 1);
  return scale_rows(softmax.inverse, softmax.e);
}

}  // namespace

Matrix<double> rotary(View x, size_t heads, View cos, View sin, bool back) {
  const size_t half = cos.cols();
  assert(x.cols() == 2 * half * heads);
  Matrix<double> y(x.rows(), x.cols());
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t h = 0; h < heads; h++)
      for (size_t j = 0; j < half; j++) {
        const size_t left = 2 * h * half + j, right = left + half;
        const double s = back ? -sin(i, j) : sin(i, j);
        y(i, left) = x(i, left) * cos(i, j) - x(i, right) * s;
        y(i, right) = x(i, right) * cos(i, j) + x(i, left) * s;
      }
  return y;
}

CausalSoftmax causal_softmax(View x, size_t visible) {
  CausalSoftmax out{Matrix<double>(x.rows(), x.cols()), std::vector<double>(x.rows()), std::vector<double>(x.rows())};
  for (size_t i = 0; i < x.rows(); i++) {
    const std::span<const double> seen = x.row(i).first(std::min(visible + i, x.cols()));
    const double top = *std::max_element(seen.begin(), seen.end());
    double total = 0;
    for (size_t j = 0; j < seen.size(); j++) total += out.e(i, j) = std::exp(seen[j] - top);
    out.lse[i] = top + std::log(total);
    out.inverse[i] = 1 / total;
  }
  return out;
}

CausalGradient causal_softmax_backward(View x, size_t visible, std::span<const double> lse, std::span<const double> dot,
                                       View dp) {
  CausalGradient out{Matrix<double>(x.rows(), x.cols()), Matrix<double>(x.rows(), x.cols())};
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t j = 0; j < std::min(visible + i, x.cols()); j++) {
      out.p(i, j) = std::exp(x(i, j) - lse[i]);
      out.ds(i, j) = out.p(i, j) * (dp(i, j) - dot[i]);
    }
  return out;
}

std::vector<double> row_dots(View a, View b) {
  std::vector<double> dots(a.rows());
  for (size_t i = 0; i < a.rows(); i++)
    for (size_t j = 0; j < a.cols(); j++) dots[i] += a(i, j) * b(i, j);
  return dots;
}

Matrix<double> scale_rows(std::span<const double> factor, View x) {
  Matrix<double> y(x.rows(), x.cols());
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t j = 0; j < x.cols(); j++) y(i, j) = factor[i] * x(i, j);
  return y;
}

ExpRows exp_rows(View x) {
  ExpRows out{Matrix<double>(x.rows(), x.cols()), std::vector<double>(x.rows()), std::vector<double>(x.rows())};
  for (size_t i = 0; i < x.rows(); i++) {
    out.top[i] = *std::max_element(x.row(i).begin(), x.row(i).end());
    for (size_t j = 0; j < x.cols(); j++) out.sum[i] += out.e(i, j) = std::exp(x(i, j) - out.top[i]);
  }
  return out;
}

BlockXent xent_from_blocks(View top, View sum, std::span<const double> target) {
  const size_t rows = top.cols(), blocks = top.rows();
  BlockXent out{std::vector<double>(rows), Matrix<double>(blocks, rows)};
  for (size_t i = 0; i < rows; i++) {
    double largest = top(0, i), total = 0;
    for (size_t b = 0; b < blocks; b++) largest = std::max(largest, top(b, i));
    for (size_t b = 0; b < blocks; b++) total += sum(b, i) * std::exp(top(b, i) - largest);
    out.loss[i] = std::log(total) + largest - target[i];
    for (size_t b = 0; b < blocks; b++) out.share(b, i) = std::exp(top(b, i) - largest) / total;
  }
  return out;
}

Matrix<double> attention_forward(View q, View k, View v, double s) {
  Matrix<double> y = multiply(attention_weights(q, k), v);
  for (double& x : y.span()) x *= s;
  return y;
}

AttentionGradient attention_backward(View q, View k, View v, double s, View dy) {
  const Matrix<double> p = attention_weights(q, k);
  Matrix<double> ds = multiply(dy, transpose(v));
  for (size_t i = 0; i < p.rows(); i++) {
    double mean = 0;
    for (size_t j = 0; j <= i; j++) mean += p(i, j) * s * ds(i, j);
    for (size_t j = 0; j < p.cols(); j++) ds(i, j) = p(i, j) * (s * ds(i, j) - mean);
  }
  AttentionGradient out{multiply(ds, k), multiply_tn(ds, q), multiply_tn(p, dy)};
  for (double& x : out.dv.span()) x *= s;
  return out;
}

}  // namespace glint::reference

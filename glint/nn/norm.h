// RMS norm of rows, without weights:
//   inverse = 1 / sqrt(mean_j x_j^2 + eps)      u = x inverse
//   dx = inverse (du - u mean_j(du_j u_j))
#pragma once

#include <span>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

inline constexpr float kNormEps = 1e-8f;

// Rows of a chunk, one thread. x, u [m,d]; inverse [m] is kept for the backward pass. Error (numeric) when
// the squares of a row overflow: u would be 0, and whatever follows would look sound.
inline void norm_forward(const Kernels& kernels, ConstMatrixView<float> x, MatrixView<float> u,
                         std::span<float> inverse, float eps = kNormEps) {
  check_argument(x.rows() == u.rows() && x.cols() == u.cols() && inverse.size() >= x.rows(), "norm_forward",
                 "x and u [m, d], inverse [m]");
  kernels.rmsnorm_forward(x.rows(), x.cols(), x.data(), x.stride(), eps, u.data(), u.stride(), inverse.data());
  bool good = true;
  for (size_t i = 0; i < x.rows(); i++) good &= inverse[i] > 0;  // 0 for infinite squares; NaN stays NaN
  if (!good) throw_overflow("a norm");
}
// y = x diag(w): the weights of a norm. y may be x.
inline void multiply_columns(ConstMatrixView<float> x, std::span<const float> w, MatrixView<float> y) {
  check_argument(x.rows() == y.rows() && x.cols() == y.cols() && w.size() == x.cols(), "multiply_columns",
                 "x and y [m, d], w [d]");
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t j = 0; j < x.cols(); j++) y(i, j) = x(i, j) * w[j];
}
// dx may be du.
inline void norm_backward(const Kernels& kernels, ConstMatrixView<float> u, std::span<const float> inverse,
                          ConstMatrixView<float> du, MatrixView<float> dx) {
  check_argument(u.rows() == du.rows() && u.cols() == du.cols() && u.rows() == dx.rows() && u.cols() == dx.cols() &&
                     inverse.size() >= u.rows(),
                 "norm_backward", "u, du and dx [m, d], inverse [m]");
  kernels.rmsnorm_backward(u.rows(), u.cols(), u.data(), u.stride(), inverse.data(), du.data(), du.stride(), dx.data(),
                           dx.stride());
}

}  // namespace glint

// Token embedding: x_i = E[token_i], dE[token_i] += dx_i.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/kernels/kernels.h"

namespace glint {

inline void embedding_forward(std::span<const TokenId> tokens, ConstMatrixView<float> e,
                              MatrixView<float> x) {
  assert(x.rows() == tokens.size() && x.cols() == e.cols());
  for (size_t i = 0; i < tokens.size(); i++) {
    assert(tokens[i] < e.rows());
    std::copy_n(e.row_ptr(tokens[i]), e.cols(), x.row_ptr(i));
  }
}

inline void embedding_backward(const Kernels& kernels, std::span<const TokenId> tokens,
                               ConstMatrixView<float> dx, MatrixView<float> de) {
  assert(dx.rows() == tokens.size() && dx.cols() == de.cols());
  for (size_t i = 0; i < tokens.size(); i++)
    kernels.add_rows(1, de.cols(), dx.row_ptr(i), dx.stride(), de.row_ptr(tokens[i]), de.stride());
}

}  // namespace glint

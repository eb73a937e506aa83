// Token embedding: x_i = E[token_i], dE[token_i] += dx_i. Error (usage) for a token that has no row in E.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "glint/base/error.h"
#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/kernels/kernels.h"

namespace glint {

inline void check_tokens(std::span<const TokenId> tokens, size_t vocab) {
  for (size_t i = 0; i < tokens.size(); i++)
    if (tokens[i] >= vocab)
      bad_argument(
          "tokens",
          "token " + std::to_string(tokens[i]) + " at place " + std::to_string(i) + " is not in the vocabulary",
          "ids below " + std::to_string(vocab));
}

inline void embedding_forward(std::span<const TokenId> tokens, ConstMatrixView<float> e, MatrixView<float> x) {
  check_argument(x.rows() == tokens.size() && x.cols() == e.cols(), "embedding_forward",
                 "x [tokens, d] for E [vocab, d]");
  check_tokens(tokens, e.rows());
  for (size_t i = 0; i < tokens.size(); i++) std::copy_n(e.row_ptr(tokens[i]), e.cols(), x.row_ptr(i));
}

inline void embedding_backward(const Kernels& kernels, std::span<const TokenId> tokens, ConstMatrixView<float> dx,
                               MatrixView<float> de) {
  check_argument(dx.rows() == tokens.size() && dx.cols() == de.cols(), "embedding_backward",
                 "dx [tokens, d] for dE [vocab, d]");
  check_tokens(tokens, de.rows());
  for (size_t i = 0; i < tokens.size(); i++)
    kernels.add_rows(1, de.cols(), dx.row_ptr(i), dx.stride(), de.row_ptr(tokens[i]), de.stride());
}

}  // namespace glint

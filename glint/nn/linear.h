// Linear layer y = x W^T (+ b), W [n,k]; and how its weights and their gradient are handled.
//   dx = dy W      dW = dy^T x      db = column sums of dy
#pragma once

#include <span>
#include <vector>

#include "glint/nn/compute.h"

namespace glint {

// W packed for the forward product and for the gradient of the input: once a step, after the weights changed.
class PackedWeights {
 public:
  PackedWeights() = default;
  // `input_gradient` false: the first layer of a network needs none.
  PackedWeights(const Products& products, size_t n, size_t k, bool input_gradient = true);

  // The work of packing, in pieces that threads can share.
  size_t pieces() const { return pieces_forward_ + pieces_backward_; }
  void pack(const Products& products, ConstMatrixView<float> w, size_t piece);
  void pack_all(const Compute& compute, ConstMatrixView<float> w);

  std::span<const std::byte> forward() const { return forward_.span(); }
  std::span<const std::byte> backward() const { return backward_.span(); }
  size_t rows() const { return n_; }
  size_t cols() const { return k_; }

 private:
  size_t n_ = 0, k_ = 0, pieces_forward_ = 0, pieces_backward_ = 0;
  Matrix<std::byte> forward_, backward_;
};

// Rows of a chunk, one thread. x [m,k], y [m,n]; bias [n], or empty: none.
void linear_forward(const Products& products, ConstMatrixView<float> x, const PackedWeights& w, MatrixView<float> y,
                    std::span<std::byte> scratch, std::span<const float> bias = {});
// y += x W^T: a residual.
void linear_forward_add(const Products& products, ConstMatrixView<float> x, const PackedWeights& w, MatrixView<float> y,
                        std::span<std::byte> scratch);
// dx = dy W, or dx += with accumulate (a residual).
void linear_backward(const Products& products, ConstMatrixView<float> dy, const PackedWeights& w, MatrixView<float> dx,
                     bool accumulate, std::span<std::byte> scratch);

// dW = dy^T x over the whole batch, in tiles; their borders depend on the shape of W and the precision alone.
// Some may be empty. Fastest when the rows of x are padded_stride apart.
size_t weight_gradient_tiles(const Products& products, size_t n);
void weight_gradient_tile(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                          MatrixView<float> dw, size_t tile, std::span<std::byte> scratch);
// The same in as many bands of whole rows of dW, for those who pass a gradient on while others compute. With
// accumulate a band goes on from what is in dW: a batch in two parts gives the bytes of the whole, cut at any
// row in f32 and at a multiple of gradient_cut() in bf16.
Range weight_gradient_rows(const Products& products, size_t n, size_t band);  // of dW
void weight_gradient_band(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                          MatrixView<float> dw, size_t band, bool accumulate, std::span<std::byte> scratch);
size_t gradient_cut(const Products& products);  // rows between two places where a batch may be cut
// The same of a chunk of rows on one thread: dW = dy^T x, or += with accumulate.
void weight_gradient(const Products& products, ConstMatrixView<float> dy, ConstMatrixView<float> x,
                     MatrixView<float> dw, bool accumulate, std::span<std::byte> scratch);

}  // namespace glint

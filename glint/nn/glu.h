// GLU layer y = gate(L x) * (R x), with W = [L; R] stacked, [2h, d], the gated half first.
//   z = x W^T (+ b) = [l | r]
//   dl = dy r gate'(l)   dr = dy gate(l)   dx = dz W   dW = dz^T x
#pragma once

#include "glint/kernels/gates.h"
#include "glint/nn/linear.h"

namespace glint {

// Rows of a chunk, one thread. x [m,d], z [m,2h] (kept for the backward pass), y [m,h]; bias [2h], or empty:
// none.
void glu_forward(const Products& products, const Gate& gate, ConstMatrixView<float> x, const PackedWeights& w,
                 MatrixView<float> z, MatrixView<float> y, std::span<std::byte> scratch,
                 std::span<const float> bias = {});
// z becomes dz. dx may be empty when nothing below needs it, and may lie where dy does: that is read before.
void glu_backward(const Products& products, const Gate& gate, ConstMatrixView<float> dy, const PackedWeights& w,
                  MatrixView<float> z, MatrixView<float> dx, bool accumulate, std::span<std::byte> scratch);

// The element-wise part alone.
void gate_forward(const Kernels& kernels, const Gate& gate, ConstMatrixView<float> z, MatrixView<float> y);
void gate_backward(const Kernels& kernels, const Gate& gate, ConstMatrixView<float> z, ConstMatrixView<float> dy,
                   MatrixView<float> dz);

// A whole batch through one layer, on all threads: for benchmarks and for the library's users.
void glu_layer_forward(const Compute& compute, const Gate& gate, const PackedWeights& packed, ConstMatrixView<float> x,
                       MatrixView<float> z, MatrixView<float> y);
void glu_layer_backward(const Compute& compute, const Gate& gate, const PackedWeights& packed, ConstMatrixView<float> x,
                        MatrixView<float> z, ConstMatrixView<float> dy, MatrixView<float> dx, MatrixView<float> dw);

}  // namespace glint

#include "glint/nn/glu.h"

#include "glint/base/error.h"

namespace glint {

void gate_forward(const Kernels& kernels, const Gate& gate, ConstMatrixView<float> z, MatrixView<float> y) {
  check_argument(z.rows() == y.rows() && z.cols() == 2 * y.cols(), "gate_forward", "z [m, 2h], y [m, h]");
  const size_t h = y.cols();
  kernels.glu_forward[static_cast<int>(gate.kind)](gate.params, z.rows(), h, z.data(), z.stride(), z.data() + h,
                                                   z.stride(), y.data(), y.stride());
}

void gate_backward(const Kernels& kernels, const Gate& gate, ConstMatrixView<float> z, ConstMatrixView<float> dy,
                   MatrixView<float> dz) {
  check_argument(z.rows() == dy.rows() && z.cols() == 2 * dy.cols() && dz.rows() == z.rows() && dz.cols() == z.cols(),
                 "gate_backward", "z and dz [m, 2h], dy [m, h]");
  const size_t h = dy.cols();
  kernels.glu_backward[static_cast<int>(gate.kind)](gate.params, z.rows(), h, z.data(), z.stride(), z.data() + h,
                                                    z.stride(), dy.data(), dy.stride(), dz.data(), dz.stride(),
                                                    dz.data() + h, dz.stride());
}

void glu_forward(const Products& products, const Gate& gate, ConstMatrixView<float> x, const PackedWeights& w,
                 MatrixView<float> z, MatrixView<float> y, std::span<std::byte> scratch, std::span<const float> bias) {
  linear_forward(products, x, w, z, scratch, bias);
  gate_forward(products.kernels(), gate, z, y);
}

void glu_backward(const Products& products, const Gate& gate, ConstMatrixView<float> dy, const PackedWeights& w,
                  MatrixView<float> z, MatrixView<float> dx, bool accumulate, std::span<std::byte> scratch) {
  gate_backward(products.kernels(), gate, z, dy, z);
  if (!dx.empty()) linear_backward(products, z, w, dx, accumulate, scratch);
}

void glu_layer_forward(const Compute& compute, const Gate& gate, const PackedWeights& packed, ConstMatrixView<float> x,
                       MatrixView<float> z, MatrixView<float> y) {
  compute.pool.for_tiles(chunk_count(x.rows()), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(x.rows(), chunk);
    glu_forward(compute.products, gate, x.row_range(r.first, r.count), packed, z.row_range(r.first, r.count),
                y.row_range(r.first, r.count), compute.scratch[worker]);
  });
}

void glu_layer_backward(const Compute& compute, const Gate& gate, const PackedWeights& packed, ConstMatrixView<float> x,
                        MatrixView<float> z, ConstMatrixView<float> dy, MatrixView<float> dx, MatrixView<float> dw) {
  compute.pool.for_tiles(chunk_count(x.rows()), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(x.rows(), chunk);
    glu_backward(compute.products, gate, dy.row_range(r.first, r.count), packed, z.row_range(r.first, r.count),
                 dx.empty() ? dx : dx.row_range(r.first, r.count), false, compute.scratch[worker]);
  });
  compute.pool.for_tiles(weight_gradient_tiles(compute.products, dw.rows()), [&](size_t tile, size_t worker) {
    weight_gradient_tile(compute.products, z, x, dw, tile, compute.scratch[worker]);
  });
}

}  // namespace glint

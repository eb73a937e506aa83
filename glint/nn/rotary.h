// Rotary positions: number j and number j + half of a head (half = head_dim / 2) turn by the angle
// position * frequency_j. The queries are also multiplied by 1 / sqrt(head_dim), so that scores come out scaled.
#pragma once

#include <span>

#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

class RotaryTable {
 public:
  RotaryTable() = default;
  // One frequency per pair.
  RotaryTable(size_t context, std::span<const double> frequencies);

  size_t half() const { return cos_.cols(); }
  // In place. qkv [t, (heads + 2 kv_heads) head_dim] holds the queries, keys and values of positions first ..
  // first + t - 1.
  void forward(const Kernels& kernels, size_t heads, size_t kv_heads, size_t first, MatrixView<float> qkv) const {
    turn(kernels, heads, kv_heads, first, qkv, false);
  }
  // The gradient of what went in from that of what came out.
  void backward(const Kernels& kernels, size_t heads, size_t kv_heads, size_t first, MatrixView<float> d_qkv) const {
    turn(kernels, heads, kv_heads, first, d_qkv, true);
  }

 private:
  void turn(const Kernels& kernels, size_t heads, size_t kv_heads, size_t first, MatrixView<float> qkv,
            bool back) const;
  Matrix<float> cos_, sin_, scaled_cos_, scaled_sin_;  // [context, half]
};

}  // namespace glint

// Causal attention of one sequence, all heads, one thread. q, k, v: [t, head_dim] of a head, queries already
// scaled (rotary.h). Several heads of queries may share one of keys and values: heads / kv_heads of them, which
// follow each other.
//   p_ij = softmax over j <= i of q_i . k_j      y_i = s sum_j p_ij v_j
//   dv_j = s sum_i p_ij dy_i      dq_i = sum_j ds_ij k_j      dk_j = sum_i ds_ij q_i
//   ds_ij = p_ij (s dy_i . v_j - dy_i . y_i)
// Scores exist for a strip of a few queries at a time; the backward pass makes them again from the logarithm
// of each row's sum. Always in f32, whatever the precision of the weights.
#pragma once

#include <span>

#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

class Attention {
 public:
  Attention() = default;
  // For sequences of up to `context` tokens. `scale` is s.
  Attention(const Kernels& kernels, size_t heads, size_t kv_heads, size_t head_dim, size_t context, float scale,
            bool training);

  // Floats of scratch that a call needs, 64-byte aligned.
  size_t scratch_floats() const;

  // qkv [t, (heads + 2 kv_heads) head_dim], y [t, heads head_dim], lse [heads, context].
  void forward(ConstMatrixView<float> qkv, MatrixView<float> y, MatrixView<float> lse, std::span<float> scratch) const;
  void backward(ConstMatrixView<float> qkv, ConstMatrixView<float> y, ConstMatrixView<float> lse,
                ConstMatrixView<float> dy, MatrixView<float> d_qkv, std::span<float> scratch) const;

 private:
  size_t columns(size_t tokens) const;  // rounded up to whole panels
  void pack_transposed(ConstMatrixView<float> m, float* out) const;
  struct Right;  // of a product
  Right right(ConstMatrixView<float> m, float* buffer) const;
  size_t width() const { return (heads_ + 2 * kv_heads_) * head_dim_; }
  // Of the keys and values of a head among the columns of qkv.
  size_t key_column(size_t head) const { return (heads_ + head / (heads_ / kv_heads_)) * head_dim_; }
  size_t value_column(size_t head) const { return key_column(head) + kv_heads_ * head_dim_; }
  bool first_of_group(size_t head) const { return head % (heads_ / kv_heads_) == 0; }

  const Kernels* kernels_ = nullptr;
  size_t heads_ = 0, kv_heads_ = 0, head_dim_ = 0, context_ = 0, strip_rows_ = 0;
  float scale_ = 1;
  bool training_ = false;
};

}  // namespace glint

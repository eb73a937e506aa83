// Mean cross-entropy of a softmax over classes: loss = mean_i -log softmax(logits_i)[label_i], and its
// gradient.
#pragma once

#include <cstdint>
#include <span>

#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

// Rows of a chunk. loss and hit are per row; `batch` is what the mean is taken over. d_logits may be logits.
inline void softmax_loss_forward(const Kernels& k, ConstMatrixView<float> logits,
                                 std::span<const uint32_t> labels, std::span<float> loss,
                                 std::span<uint8_t> hit) {
  k.softmax_xent(logits.rows(), logits.cols(), logits.data(), logits.stride(), labels.data(), 1.0f, nullptr,
                 0, loss.data(), hit.data());
}
inline void softmax_loss_backward(const Kernels& k, ConstMatrixView<float> logits,
                                  std::span<const uint32_t> labels, size_t batch, MatrixView<float> d_logits,
                                  std::span<float> loss, std::span<uint8_t> hit) {
  k.softmax_xent(logits.rows(), logits.cols(), logits.data(), logits.stride(), labels.data(),
                 1.0f / static_cast<float>(batch), d_logits.data(), d_logits.stride(), loss.data(),
                 hit.data());
}

}  // namespace glint

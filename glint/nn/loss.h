// Mean cross-entropy of a softmax over classes: loss = mean_i -log softmax(logits_i)[label_i], and its
// gradient. Error (usage) for a label that is no class: the kernel would write outside the row.
#pragma once

#include <cstdint>
#include <span>

#include "glint/base/error.h"
#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

inline void check_labels(std::span<const uint32_t> labels, size_t classes) {
  for (size_t i = 0; i < labels.size(); i++)
    if (labels[i] >= classes)
      bad_argument("labels", "label " + std::to_string(labels[i]) + " of row " + std::to_string(i) + " is no class",
                   "labels below " + std::to_string(classes));
}

// Rows of a chunk. loss and hit are per row; `batch` is what the mean is taken over. d_logits may be logits.
inline void softmax_loss_forward(const Kernels& k, ConstMatrixView<float> logits, std::span<const uint32_t> labels,
                                 std::span<float> loss, std::span<uint8_t> hit) {
  check_argument(labels.size() == logits.rows() && loss.size() == logits.rows() && hit.size() == logits.rows(),
                 "softmax_loss_forward", "a label, a loss and a hit for every row of the logits");
  check_labels(labels, logits.cols());
  k.softmax_xent(logits.rows(), logits.cols(), logits.data(), logits.stride(), labels.data(), 1.0f, nullptr, 0,
                 loss.data(), hit.data());
}
inline void softmax_loss_backward(const Kernels& k, ConstMatrixView<float> logits, std::span<const uint32_t> labels,
                                  size_t batch, MatrixView<float> d_logits, std::span<float> loss,
                                  std::span<uint8_t> hit) {
  check_argument(labels.size() == logits.rows() && loss.size() == logits.rows() && hit.size() == logits.rows() &&
                     d_logits.rows() == logits.rows() && d_logits.cols() == logits.cols() && batch > 0,
                 "softmax_loss_backward", "a label, a loss, a hit and a gradient for every row of the logits");
  check_labels(labels, logits.cols());
  k.softmax_xent(logits.rows(), logits.cols(), logits.data(), logits.stride(), labels.data(),
                 1.0f / static_cast<float>(batch), d_logits.data(), d_logits.stride(), loss.data(), hit.data());
}

}  // namespace glint

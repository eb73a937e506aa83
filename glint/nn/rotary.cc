#include "glint/nn/rotary.h"

#include <cmath>

#include "glint/base/error.h"

namespace glint {

RotaryTable::RotaryTable(size_t context, std::span<const double> frequencies)
    : cos_(context, frequencies.size()),
      sin_(context, frequencies.size()),
      scaled_cos_(context, frequencies.size()),
      scaled_sin_(context, frequencies.size()) {
  const double scale = 1 / std::sqrt(static_cast<double>(2 * half()));
  for (size_t j = 0; j < half(); j++) {
    for (size_t t = 0; t < context; t++) {
      const double angle = static_cast<double>(t) * frequencies[j], c = std::cos(angle), s = std::sin(angle);
      cos_(t, j) = static_cast<float>(c);
      sin_(t, j) = static_cast<float>(s);
      scaled_cos_(t, j) = static_cast<float>(scale * c);
      scaled_sin_(t, j) = static_cast<float>(scale * s);
    }
  }
}

void RotaryTable::turn(const Kernels& kernels, size_t heads, size_t kv_heads, size_t first, MatrixView<float> qkv,
                       bool back) const {
  check_argument(first + qkv.rows() <= cos_.rows() && qkv.cols() == 2 * (heads + 2 * kv_heads) * half(), "RotaryTable",
                 "qkv [t, (heads + 2 kv_heads) head_dim], and no more positions than the context");
  if (qkv.rows() == 0) return;
  const size_t at = first * half();
  kernels.rotary(qkv.rows(), heads, half(), scaled_cos_.data() + at, scaled_sin_.data() + at, back, qkv.data(),
                 qkv.stride());
  kernels.rotary(qkv.rows(), kv_heads, half(), cos_.data() + at, sin_.data() + at, back,
                 qkv.data() + 2 * heads * half(), qkv.stride());
}

}  // namespace glint

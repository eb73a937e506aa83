#include "glint/nn/rotary.h"

#include <cmath>

#include "glint/base/error.h"

namespace glint {

RotaryTable::RotaryTable(size_t context, size_t head_dim)
    : cos_(context, head_dim / 2),
      sin_(context, head_dim / 2),
      scaled_cos_(context, head_dim / 2),
      scaled_sin_(context, head_dim / 2) {
  check_argument(head_dim % 2 == 0, "RotaryTable", "an even head_dim: positions turn pairs of numbers");
  constexpr double kBase = 10000;
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  for (size_t j = 0; j < half(); j++) {
    const double frequency = std::pow(kBase, -static_cast<double>(j) / static_cast<double>(half()));
    for (size_t t = 0; t < context; t++) {
      const double angle = static_cast<double>(t) * frequency, c = std::cos(angle), s = std::sin(angle);
      cos_(t, j) = static_cast<float>(c);
      sin_(t, j) = static_cast<float>(s);
      scaled_cos_(t, j) = static_cast<float>(scale * c);
      scaled_sin_(t, j) = static_cast<float>(scale * s);
    }
  }
}

void RotaryTable::turn(const Kernels& kernels, size_t heads, size_t first, MatrixView<float> qkv, bool back) const {
  check_argument(first + qkv.rows() <= cos_.rows() && qkv.cols() == 6 * heads * half(), "RotaryTable",
                 "qkv [t, 3 d], and no more positions than the context");
  if (qkv.rows() == 0) return;
  const size_t at = first * half();
  kernels.rotary(qkv.rows(), heads, half(), scaled_cos_.data() + at, scaled_sin_.data() + at, back, qkv.data(),
                 qkv.stride());
  kernels.rotary(qkv.rows(), heads, half(), cos_.data() + at, sin_.data() + at, back, qkv.data() + 2 * heads * half(),
                 qkv.stride());
}

}  // namespace glint

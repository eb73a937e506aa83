// Adversarial masks read off the weights: one picture, added to every input, that pushes a model towards or
// away from an output; and controls of the same length, without which its effect says nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/spectra/interaction.h"

namespace glint {

// A picture with the Euclidean length given; all 0 when it is. Error (numeric) when it is not finite.
std::vector<float> mask_of_length(std::span<const double> picture, double length);

// The gradient of sum_k values[k] (v_k . x)^2 at the mean input, with only the `terms` eigenvectors of the
// largest (push > 0) or smallest (push < 0) values, seen in the input space and scaled to the Euclidean
// length `length`:
//   mask ~ push sum_k values[k] (f_k . mean + offset_k) f_k
// With one term it is that eigenvector's picture with the sign that the data prefer. All 0 when the gradient
// is.
std::vector<float> eigen_mask(std::span<const double> values, const Features& features,
                              std::span<const double> mean_input, size_t terms, double length, int push = 1);

// Controls: independent normal entries, and the entries of a mask in random order; both of the length given.
std::vector<float> random_mask(size_t size, double length, uint64_t seed);
std::vector<float> shuffled_mask(std::span<const float> mask, uint64_t seed);

// out = images + strength * mask, held inside [low, high].
void add_mask(ConstMatrixView<float> images, std::span<const float> mask, float strength, float low,
              float high, MatrixView<float> out);

std::vector<double> mean_of_rows(ConstMatrixView<float> images);

}  // namespace glint

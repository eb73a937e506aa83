// Adversarial masks of an image model read from its weights, and how the model fares under them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/spectra/image_reading.h"
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
void add_mask(ConstMatrixView<float> images, std::span<const float> mask, float strength, float low, float high,
              MatrixView<float> out);

std::vector<double> mean_of_rows(ConstMatrixView<float> images);

// Means of the inputs of every layer, over the images that a mask is made for.
std::vector<std::vector<double>> layer_means(const ImageReading& reading, ConstMatrixView<uint8_t> pixels,
                                             std::span<const uint32_t> rows);

// One picture of the given Euclidean length that moves the output with hidden weights q [h] of the last layer
// up (push 1) or down (push -1). With m the mean input of a layer:
//   last layer  g = push sum_k values[k] (v_k . m) v_k over the `terms` eigenvectors of that sign
//   below       g becomes an output direction of the layer below, and its form, cut to the `terms` strongest
//               eigenvectors by |value|, has the gradient g' = sum_k values[k] (w_k . m') w_k; with a
//               residual g is added to it
//   pixels      E' g
// With one layer this is eigen_mask. A norm between the layers is taken as a constant.
std::vector<float> class_mask(const ImageReading& reading, std::span<const double> q, std::span<const GateTerms> lines,
                              std::span<const std::vector<double>> means, size_t terms, double length, int push);

// Decisions of the model on some images, plain or with strength * mask added and held inside [0, 1].
std::vector<uint32_t> decisions(const ImageReading& reading, ConstMatrixView<uint8_t> pixels,
                                std::span<const uint32_t> rows, std::span<const float> mask = {}, float strength = 0);

// One mask against one group of images.
struct AttackPoint {
  double accuracy = 0;  // share of the images that are still given their label
  double success = 0;   // of the images that the plain model gives `from` (away) or not `to` (towards): the
                        // share that the mask moves out of, or into, the class
  size_t images = 0, eligible = 0;
};
enum class AttackGoal { towards, away };
AttackPoint attack_point(std::span<const uint32_t> labels, std::span<const uint32_t> plain,
                         std::span<const uint32_t> masked, uint32_t unit, AttackGoal goal);

}  // namespace glint

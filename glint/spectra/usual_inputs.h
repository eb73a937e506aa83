// What the inputs of a layer usually are, so that a reader can be told when one is unlike the training data:
// the mean of every class, and how far from the nearest of them an input may be.
#pragma once

#include <cstdint>
#include <span>

#include "glint/base/matrix.h"

namespace glint {

struct UsualInputs {
  Matrix<float> means;  // [classes that have inputs, d]
  double limit = 0;     // kUsualShare of the test inputs are this near to a mean, or nearer
};
inline constexpr double kUsualShare = 0.99;

// Labels are below `classes`. Neither set may be empty.
UsualInputs usual_inputs(ConstMatrixView<float> train, std::span<const uint32_t> labels, size_t classes,
                         ConstMatrixView<float> test);

// The Euclidean distance of an input to the nearest mean.
double nearest_mean(const Matrix<float>& means, std::span<const float> x);

}  // namespace glint

// Controls of a reading: what a fidelity has to be compared with before it impresses. The logits of many
// image models are nearly linear in the input, so a form of a high R2 may say little.
#pragma once

#include "glint/spectra/glu_model.h"

namespace glint {

// The best linear map of a layer's input: y = weights x + constants, by ridge regression.
struct LinearMap {
  Matrix<double> weights;         // [units, d]
  std::vector<double> constants;  // [units]
};
// x [n, d], y [n, units]. The bytes do not depend on the number of threads.
LinearMap fit_linear(const LinearAlgebra& linalg, ThreadPool& pool, ConstMatrixView<float> x,
                     ConstMatrixView<double> y);
Matrix<double> linear_outputs(const LinearAlgebra& linalg, ThreadPool& pool, const LinearMap& map,
                              ConstMatrixView<float> x);

// The layer replaced by a linear map: fitted on `fitted`, held against the model on `measured`. What reaches
// the logits past the layer stays as it is.
Fidelity linear_control(const GluModel& model, const Directions& directions, const Activations& fitted,
                        const Activations& measured);

}  // namespace glint

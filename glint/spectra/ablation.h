// Directions taken out of what a layer reads: does the model then change as the reading of its weights says?
//
//   x' = x - (1 - keep) B'B x,   B orthonormal rows; keep 0 removes, 0.5 halves, 1 changes nothing
//
// x' is not brought back to the length of x: a norm before the layer has been taken already. Since the layer
// reads its input through L and R alone, the same model is the one with L (I - (1 - keep) B'B) and the same
// R.
#pragma once

#include "glint/spectra/glu_model.h"

namespace glint {

// Orthonormal rows [k, inputs] for the span of eigenvectors [n, w]. Where the layer has biases, the last
// entry of an eigenvector belongs to the constant 1, which is no input, and is left out.
Matrix<double> input_basis(const GluLayerView& layer, ConstMatrixView<double> vectors);

// x' for the rows of x [n, d].
Matrix<float> ablated_inputs(const LinearAlgebra& linalg, ConstMatrixView<float> x, ConstMatrixView<double> basis,
                             double keep);
// The same taken into weights that read x, [rows, d]: every row becomes row (I - (1 - keep) B'B).
void fold_ablation(const LinearAlgebra& linalg, ConstMatrixView<double> basis, double keep, MatrixView<float> weights);

// How the outputs of a layer change along directions from inputs x to `changed`, [n, directions]: those of
// the layer itself, and those of a form of it, each input with its own gains.
struct OutputChanges {
  Matrix<double> truth, predicted;  // value(x) - value(changed)
};
OutputChanges output_changes(const GluModel& model, const Directions& directions, const GateTerms& line,
                             ConstMatrixView<float> x, ConstMatrixView<float> changed);

// The line through true changes against predicted ones; over several outputs together after the mean of each
// is taken off. Both numbers are 1 when the prediction is right, and 0 where one of the two is constant.
//   correlation  Pearson: is what changes most what should change most?
//   slope        cov(true, predicted) / var(predicted): below 1 the reading predicts too much
struct ChangeFit {
  double correlation = 0, slope = 0;
};
ChangeFit change_fit(ConstMatrixView<double> truth, ConstMatrixView<double> predicted);
ChangeFit change_fit(const OutputChanges& changes, size_t direction);

}  // namespace glint

// The optional second step of the scaled form: gains and slopes of all units together,
//
//   gain_h(s) = a_h / (1 + b_h s),  b_h >= 0
//
// such that the logits come out right (squares of the errors, centred over the classes) and the decisions do
// (cross-entropy with the model's own probabilities). Begins at the scaled form and goes downhill by L-BFGS
// over all samples; the same bytes at any number of threads.
#pragma once

#include "glint/spectra/forms.h"

namespace glint {

// Of the mean square of a logit's error beside the mean cross-entropy: docs/decisions.md has what others
// give.
inline constexpr double kLogitWeight = 0.1;

// The last layer of a classifier with hidden weights [classes, h]: x [n, d] its inputs, logits [n, classes]
// the model's own. `line` is its scaled form; where that has no slopes only the gains are refined. A layer
// whose gate is the identity stays as it is, and so does one with too few samples or too many units for the
// solve of the scaled form.
GateTerms refined_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> logits,
                       ConstMatrixView<float> x, const GateTerms& line);

}  // namespace glint

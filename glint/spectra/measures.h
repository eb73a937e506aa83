// How much of a model a quadratic form explains, and how much of the form its first eigenvectors carry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/model/fidelity.h"
#include "glint/spectra/forms.h"

namespace glint {

// Approximate logits against the model's own, both [n, units]; argmax takes the first of equal values.
Fidelity fidelity(ConstMatrixView<double> model, ConstMatrixView<double> form, std::span<const uint32_t> labels = {});

std::vector<uint32_t> argmax_rows(ConstMatrixView<double> m);

// How many eigenvectors matter. 0 for a zero matrix.
//   entropy        exp(-sum p ln p), p = |value| / sum |value|
//   participation  (sum value^2)^2 / sum value^4
struct SpectrumRank {
  double entropy = 0, participation = 0;
};
SpectrumRank spectrum_rank(std::span<const double> values);

// energy[k - 1]: share of sum value^2 in the k values of largest magnitude. All 1 for a zero matrix.
std::vector<double> energy_curve(std::span<const double> values);

// What the decisions of forms are held against.
struct DecidedInputs {
  ConstMatrixView<float> x;                      // [n, d]
  std::span<const uint32_t> labels = {};         // [n], or empty
  std::span<const uint32_t> decisions = {};      // the model's, [n], or empty
  ConstMatrixView<double> residual_logits = {};  // [n, units], or empty: what goes past the layer
};
// Accuracy when each logit keeps only its k terms of largest |value| (and its linear part and constant), for
// k = 0 ... d: element k. Products in float, sums in double.
struct TruncationCurve {
  std::vector<double> accuracy;   // against the labels; empty without labels
  std::vector<double> agreement;  // with the model's decisions; empty without them
};
TruncationCurve truncation_curve(const LinearAlgebra& linalg, ThreadPool& pool, std::span<const UnitForm> forms,
                                 const DecidedInputs& inputs);

// Directions that matter to several outputs: the right singular vectors of the matrices Q_u stacked to
// [units d, d], from the eigenvectors of sum_u Q_u^2. Singular values below 1e-8 of the first are rounding.
struct SharedDirections {
  std::vector<double> values;   // [d], descending: singular values
  Matrix<double> directions;    // [d, d], rows
  Matrix<double> share;         // [units, d]: |Q_u w_k|, whose squares add up to values[k]^2
  Matrix<double> signed_share;  // [units, d]: w_k' Q_u w_k, for (+) or against (-) the output
};
SharedDirections shared_directions(const LinearAlgebra& linalg, std::span<const Spectrum> spectra);

}  // namespace glint

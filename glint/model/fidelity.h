// How well a form stands for a model: plain numbers, which spectra measures and reports show.
#pragma once

#include <cstddef>
#include <vector>

namespace glint {

// Approximate logits against the model's own, both [n, units]. With y the true and f the approximate value:
//   r2           1 - sum (y - f)^2 / sum (y - mean_u y)^2 (1 when both sums are 0, 0 when only the second is)
//   correlation  Pearson; over all units together after the mean of each unit is taken off (0 for a constant)
struct Fidelity {
  double correlation = 0, r2 = 0;                 // all units together
  std::vector<double> unit_correlation, unit_r2;  // [units]
  double centred_r2 = 0;                          // of the outputs of each input less their mean: what decides
  double agreement = 0;                           // share of inputs whose argmax is the model's
  double accuracy_model = 0, accuracy_form = 0;   // against the labels; 0 without labels
  size_t inputs = 0;
};

}  // namespace glint

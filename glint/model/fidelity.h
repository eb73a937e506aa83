// How well a form stands for a model: plain numbers, which spectra measures and reports show.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "glint/model/form.h"

namespace glint {

// A form against the model at the mirror images -x of the inputs of its layer. A model whose gate is odd says
// there what it says at x, and so does a form without a linear part.
struct MirroredFidelity {
  double r2 = 0, agreement = 0;
};

// Where a number lies with 95 % confidence.
struct Interval {
  double low = 0, high = 0;
};

// Approximate logits against the model's own, both [n, units]. With y the true and f the approximate value:
//   r2           1 - sum (y - f)^2 / sum (y - mean_u y)^2 (1 when both sums are 0, 0 when only the second is)
//   correlation  Pearson; over all units together after the mean of each unit is taken off (0 for a constant)
//   r2_scaled    r2 after the form is multiplied by the one number that makes it largest
//   r2_centred   r2 of values less their mean over the units, input by input: of classes, what softmax sees
//   even_share   Var(e) / (Var(e) + E[o^2]), e and o the even and the odd part of the layer that the form
//                stands for, over the inputs and their mirror images: what an even form can be of it there.
//                A residual path past the layer does not count. 1 where nobody measured it.
struct Fidelity {
  double correlation = 0, r2 = 0;                 // all units together
  std::vector<double> unit_correlation, unit_r2;  // [units]
  double agreement = 0;                           // share of inputs whose argmax is the model's
  double accuracy_model = 0, accuracy_form = 0;   // against the labels; 0 without labels
  size_t inputs = 0;
  double r2_scaled = 0, r2_centred = 0;
  double even_share = 1;
  std::vector<double> unit_even_share;            // [units], or empty
  std::optional<MirroredFidelity> mirrored = {};  // none where nobody measured it
  // Of r2 and unit_r2, by a bootstrap over texts (spectra/bootstrap.h); language models.
  std::optional<Interval> r2_interval = {};
  std::vector<Interval> unit_r2_interval = {};  // [units], or empty
};

// What a fidelity has to be compared with before it impresses.
struct Controls {
  Fidelity linear;  // the layer replaced by the best linear map of its input, against the model
  // The same form of a model of the same configuration with fresh weights, against that model.
  std::map<Form, Fidelity> untrained;
};

}  // namespace glint

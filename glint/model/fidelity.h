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

// How far a form can be trusted along one output, or along several together. With y the true and f the
// approximate value:
//   r2           1 - sum (y - f)^2 / sum (y - mean_u y)^2 (1 when both sums are 0, 0 when only the second is)
//   correlation  Pearson; over all units together after the mean of each unit is taken off (0 for a constant)
//   r2_scaled    r2 after the form is multiplied by the one number that makes it largest
//   r2_centred   r2 of values less their mean over the units, input by input: of classes, what softmax sees
//   even_share   Var(e) / (Var(e) + E[o^2]), e and o the even and the odd part of the layer that the form
//                stands for, over the inputs and their mirror images: what an even form can be of it there.
//                A residual path past the layer does not count. 1 where nobody measured it.
// Eigenvectors: the form without its linear part and without what goes past the layer. The share of a part is
// cov(part, form) / var(form): with what goes past the layer they add up to 1. For a constant form the
// eigenvectors have it all.
struct Trust {
  double correlation = 0, r2 = 0, r2_scaled = 0, r2_centred = 0;
  double agreement = 0;  // share of inputs whose argmax is the model's
  double even_share = 1;
  double eigenvectors_r2 = 0, eigenvectors_agreement = 0;
  double linear_share = 0, quadratic_share = 1;
  // By a bootstrap over texts (spectra/bootstrap.h); language models.
  std::optional<Interval> r2_interval = {}, eigenvectors_r2_interval = {};
  std::optional<MirroredFidelity> mirrored = {};  // none where nobody measured it
};

// Approximate logits against the model's own, both [n, units]: all units together, and each.
struct Fidelity : Trust {
  double accuracy_model = 0, accuracy_form = 0;  // against the labels; 0 without labels
  size_t inputs = 0;
  std::vector<Trust> units = {};
  // One number of every unit.
  std::vector<double> each(double Trust::*value) const {
    std::vector<double> out;
    for (const Trust& t : units) out.push_back(t.*value);
    return out;
  }
};

// One form of one layer, of those that a page, a model card or a table of layers has.
struct LayerTrust {
  size_t layer = 0;  // from 1 on
  std::string form = {};
  Trust trust = {};
};

// What a fidelity has to be compared with before it impresses.
struct Controls {
  Fidelity linear;  // the layer replaced by the best linear map of its input, against the model
  // The same form of a model of the same configuration with fresh weights, against that model.
  std::map<Form, Fidelity> untrained;
};

}  // namespace glint

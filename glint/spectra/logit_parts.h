// Why a language model gives a token its logit: what each part of the model adds to it on the direct path,
// and the share of one GLU by eigenvectors.
//
//   logit = scale u . (embedding + sum_i attention_i + sum_i glu_i) + constant
//
// u is the direction of the token in the residual stream (for the difference of two logits that of their
// directions), and scale what the last norm multiplies by at this input, taken as it is. The direct path is
// what a part adds to the stream and the last norm passes on; what it does through the layers above is
// theirs.
#pragma once

#include "glint/model/family_pass.h"
#include "glint/spectra/forms.h"

namespace glint {

struct LogitParts {
  double logit = 0;  // the model's own
  double embedding = 0;
  std::vector<double> attention, glu;  // [layers]
  double constant = 0;                 // of the biases of the last norm and of the head
  double sum() const;
  double error() const { return sum() - logit; }
};

LogitParts logit_parts(const ResidualTrace& trace, std::span<const double> direction, double constant, double logit);

// What the GLU of a layer adds to a logit, read through a form.
struct GluShare {
  size_t layer = 0;
  double share = 0;  // LogitParts::glu of the layer: the numbers below add up to it
  double quadratic = 0, linear = 0, constant = 0;
  double rest = 0;                                   // what the form leaves out
  UnitForm form;                                     // along the direction, as `read` has it
  double scale = 1;                                  // its values times this are parts of the logit
  std::vector<double> projections = {}, terms = {};  // [k]: v . x, with a bias v . (x, 1); scale value (v . x)^2
  double others = 0;                                 // of `quadratic`: eigenvectors that are not among them
};

// `weights` [h] are those of the hidden units along the direction, `constant` what the direction gets
// whatever the units say. The local form of the input is exact: its rest is what rounding leaves.
GluShare glu_share(const LayerReader& reader, size_t layer, std::span<const double> weights, double constant,
                   const GateTerms& line, const ResidualTrace& trace, double share, const Wanted& wanted = {});

}  // namespace glint

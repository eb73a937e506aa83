// One input read through the three forms, class by class.
#pragma once

#include "glint/spectra/image_reading.h"

namespace glint {

// A form's account of one output at one input: total = positive + negative + linear + constant + around.
struct FormAccount {
  double positive = 0, negative = 0;  // sums of the terms value (v . x)^2
  double linear = 0, constant = 0;
  double around = 0;  // what reaches the logit past the layer (a residual)
  double total() const { return positive + negative + linear + constant + around; }
};

struct ClassAccount {
  size_t index = 0;
  double logit = 0;
  FormAccount weights, calibrated, local;
  UnitForm form;                    // the chosen form, whole
  std::vector<double> projections;  // [k]: v . x
  std::vector<double> terms;        // [k]: value (v . x)^2
};

enum class FormKind { weights, calibrated, local };

// Classes of the model at the last layer; `pass` holds the one input in its row `row`.
std::vector<ClassAccount> account_for(const ImageReading& reading, const ImagePass& pass, size_t row,
                                      const GateLine& calibrated, std::span<const size_t> classes,
                                      FormKind chosen);

}  // namespace glint

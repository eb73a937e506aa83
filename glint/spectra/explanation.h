// One input read through every form, class by class.
#pragma once

#include <optional>

#include "glint/spectra/image_reading.h"

namespace glint {

// What a form makes of one output at one input.
struct FormSums {
  double positive = 0, negative = 0;  // sums of the terms value (v . x)^2
  double linear = 0, constant = 0;
  double residual_logit = 0;  // what reaches the logit past the layer
  double total() const { return positive + negative + linear + constant + residual_logit; }
};

struct ClassExplanation {
  size_t index = 0;
  double logit = 0;
  FormSums weights, calibrated, local;
  std::optional<FormSums> scaled =
      {};         // with the gains of the input's own size; none where there is no such form
  UnitForm form;  // the chosen form, whole
  std::vector<double> projections;  // [k]: v . x, with a bias v . (x, 1)
  std::vector<double> terms;        // [k]: value (v . x)^2
};

enum class FormKind { weights, scaled, calibrated, local };

const FormSums& sums_of(const ClassExplanation& explanation, FormKind form);

// Classes of the model at the last layer; the input is row `row` of the activations of that layer. The lines
// are those of the last layer; `scaled` may be null unless it is chosen.
std::vector<ClassExplanation> explain_classes(const ImageReading& reading, const Activations& activations,
                                              size_t row, const GateLine& calibrated,
                                              std::span<const size_t> classes, FormKind chosen,
                                              const GateLine* scaled = nullptr);

}  // namespace glint

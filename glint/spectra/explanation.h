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
  // Of every form that the layer has, with the coefficients of the input's own size.
  PerForm<std::optional<FormSums>> sums = {};
  UnitForm form = {};                    // the chosen form, whole
  std::vector<double> projections = {};  // [k]: v . x, with a bias v . (x, 1)
  std::vector<double> terms = {};        // [k]: value (v . x)^2
};

// Classes of the model at the last layer; the input is row `row` of the activations of that layer. `terms` are
// those of the last layer in every form that is looked at; the local ones are made here.
std::vector<ClassExplanation> explain_classes(const ImageReading& reading, const Activations& activations, size_t row,
                                              PerForm<std::optional<GateTerms>> terms, std::span<const size_t> classes,
                                              Form chosen);

}  // namespace glint

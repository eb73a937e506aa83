// What each form of the table (model/form.h) makes of a layer.
#pragma once

#include "glint/model/form.h"
#include "glint/spectra/forms.h"

namespace glint {

// What a form is fitted to.
struct FormData {
  LayerReader reader;
  ConstMatrixView<double> outputs;  // [classes, h]: GluModel::logit_weights, or empty
  ConstMatrixView<float> x;         // [n, d]: inputs of the layer
};

struct FormFunctions {
  GateTerms (*fit)(const FormData&) = nullptr;  // null for the form of one input
  // Whether a layer has it, and an Error (usage) where it has not; null: every layer has it.
  bool (*has)(const GluLayerView&) = nullptr;
  void (*check)(const GluLayerView&) = nullptr;
};
const FormFunctions& form_functions(Form form);

}  // namespace glint

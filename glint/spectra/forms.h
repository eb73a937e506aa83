// Readings of a gated layer as a quadratic form of its input. Each replaces the product of hidden unit h by
//
//   gate(l) r ~ gain l r + square l^2 + left l + shift r + constant        l = L_h x, r = R_h x
//
// so that an output with hidden weights q becomes, with sums over h,
//
//   value(x) = x' Q x + w . x + c
//   Q = 1/2 (L' diag(q gain) R + R' diag(q gain) L) + L' diag(q square) L
//   w = sum q (left L_h + shift R_h),   c = sum q constant
//
// form_functions below: what each form of the table (model/form.h) makes of the five.
#pragma once

#include <span>
#include <vector>

#include "glint/model/form.h"
#include "glint/spectra/interaction.h"

namespace glint {

struct GateTerms {
  std::vector<double> gain;  // [h]
  // [h] each, or empty: all 0
  std::vector<double> shift = {}, square = {}, left = {}, constant = {};
  // [h], or empty: gains and squares are the same for every input. Otherwise, for an input of size s,
  //   gain_h(s) = gain_h / (1 + (slope_h s)^power)^(1/power)
  std::vector<double> slope = {};
  double power = 1;
  double size = 0;  // where spectra are drawn: the median of s over data; 0 where there is no slope

  bool operator==(const GateTerms&) const = default;
};
// The lists of the five coefficients, by name: what files, pages and exports write of them.
struct TermList {
  const char* name;
  std::vector<double> GateTerms::*values;
};
inline constexpr TermList kTermLists[] = {{"gain", &GateTerms::gain},
                                          {"shift", &GateTerms::shift},
                                          {"square", &GateTerms::square},
                                          {"left", &GateTerms::left},
                                          {"constant", &GateTerms::constant}};

// s of one input of a layer: its Euclidean length, without the 1 that biases append.
double input_size(std::span<const float> x);
double input_size(std::span<const double> x);
// The terms for inputs of size s, without slopes.
GateTerms at_size(const GateTerms& terms, double s);
bool has_linear_part(const GateTerms& terms);
// The form without its linear part: the eigenvectors, and the constant.
GateTerms without_linear_part(GateTerms terms);

// From the weights alone. Odd gates (identity, SQS): gain 1, the paper's form, exact for the identity. ReLU,
// GELU, SiLU: gain 1/2, the even part of the layer, exactly (even.h).
GateTerms weights_form(const GluLayerView& layer);

// The line through the point of one input: the value at that input is the model's own. gain = gate(l) / l
// where that is at most kLocalGain in magnitude; nearer to 0 the gain stays there and the rest is shift, so
// that the line goes through (l, gate(l)) for every l, also l = 0 (where SQS is -c).
inline constexpr double kLocalGain = 16;
GateTerms local_form(const GluLayerView& layer, std::span<const double> x);

// The hidden weights q of one output times the quadratic terms, at the size of the terms.
struct QuadraticPart {
  std::vector<double> products, squares;  // the second may be empty
  operator ProductWeights() const { return {products, squares}; }
};
QuadraticPart quadratic_part(std::span<const double> q, const GateTerms& terms);

// One output read through a form.
struct UnitForm {
  Spectrum spectrum;           // of Q
  std::vector<double> linear;  // [w], or empty: all 0
  double constant = 0;         // the bias of the head, and c
};

// Which eigenpairs of a form are wanted: the `strongest` by |value|, 0: all. Layers wider than kFullWidth of
// which few are wanted are not decomposed whole; up to that width all eigenpairs take less than a second, and
// those of several units run side by side.
inline constexpr size_t kFullWidth = 1024;
struct Wanted {
  size_t strongest = 0;
  double gap = kDefaultGap;
};

// A form for every row of the hidden weights [units, h]; constants [units] or empty. Gains that depend on the
// input's size are taken at the size of the line.
std::vector<UnitForm> unit_forms(const LayerReader& reader, const GateTerms& line, ConstMatrixView<double> weights,
                                 std::span<const float> constants = {}, const Wanted& wanted = {});

// How alike the strongest eigenvectors of two forms of each output are: |cos| of the first above 0 and of the
// first below 0, mean over the outputs.
double mean_alike(std::span<const UnitForm> a, std::span<const UnitForm> b);

// A form with only its k terms of the largest |value|; all when it has no more.
UnitForm strongest_terms(UnitForm form, size_t k);

// What each eigenvector contributes at x [d]: values[k] (v_k . x)^2. For a layer with biases x is (x, 1).
std::vector<double> contributions(const Spectrum& spectrum, std::span<const double> x);
// Their sum with the linear part and the constant.
double form_value(const UnitForm& form, std::span<const double> x);

// Outputs [n, units] of the layer itself and of a form of it, for inputs x [n, d], each with the gains of its
// own size. Pre-activations in float, as the model computes them; sums over hidden units in double. These
// and all readings: Error (numeric) when a number overflows.
Matrix<double> layer_outputs(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                             std::span<const float> constants = {});
Matrix<double> form_outputs(const LayerReader& reader, const GateTerms& line, ConstMatrixView<double> weights,
                            ConstMatrixView<float> x, std::span<const float> constants = {});

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

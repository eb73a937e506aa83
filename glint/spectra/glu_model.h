// The one way to read a model with GLU layers, whichever kind it is: its layers, what they see on samples,
// and output directions read through a form, with how far the form can be trusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "glint/base/tokens.h"
#include "glint/spectra/even.h"
#include "glint/spectra/forms.h"
#include "glint/spectra/measures.h"

namespace glint {

// What the output of one layer is read along: classes, differences, tokens, hidden units, eigenvectors of the
// layer above.
struct Directions {
  size_t layer = 0;
  std::vector<std::string> names;
  Matrix<double> weights;        // [directions, h] of the layer
  std::vector<float> constants;  // [directions], or empty
  bool decisions = false;        // they are all classes: the largest is what the model decides
  size_t count() const { return names.size(); }
};

// Puts the directions of `more`, of the same layer, behind those of `all`.
void append(Directions& all, const Directions& more);

// What a layer sees in the model's own pass over samples.
struct Activations {
  Matrix<float> inputs;  // [n, d]: what the layer reads
  // For classifiers:
  Matrix<float> logits;               // [n, classes]
  Matrix<double> residual_logits;     // [n, classes]: what reaches the logits past the last layer; empty without
                                      // a residual
  std::vector<uint32_t> labels = {};  // [n], or empty: not known
  // For language models: how many inputs in a row belong together, as bootstrap.h draws them. Where they are
  // given, R2 has an interval.
  std::vector<size_t> blocks = {};
};

// Images [n, pixels] as bytes, images or vectors [n, inputs] as floats, or rows of tokens.
using ModelInputs = std::variant<ConstMatrixView<uint8_t>, ConstMatrixView<float>, std::span<const TokenRow>>;

class GluModel {
 public:
  virtual ~GluModel() = default;
  virtual const LinearAlgebra& linalg() const = 0;
  virtual ThreadPool& pool() const = 0;
  virtual size_t layers() const = 0;
  virtual GluLayerView layer(size_t i) const = 0;
  LayerReader reader(size_t i) const { return {linalg(), pool(), layer(i)}; }
  // P [o, h], from the hidden units to the output of layer i; empty where they are the output.
  virtual WeightRows projection(size_t i) const = 0;
  // From what people see, pixels or tokens, to the input of the first layer.
  virtual InputMap input_map() const = 0;
  virtual std::string weights_hash() const = 0;
  // Of a layer whose outputs become logits: the weights of its hidden units in every class [classes, h]; else
  // empty.
  virtual Matrix<double> logit_weights(size_t) const { return {}; }
  // Error (usage) for samples of another kind than the model's.
  virtual Activations activations(size_t layer, const ModelInputs& samples) const = 0;

  size_t last() const { return layers() - 1; }
  // How many numbers an output of layer i has.
  size_t outputs(size_t i) const;
  // Directions in the outputs of a layer, one per row [n, outputs]. Where the vectors are eigenvectors of the
  // layer above and that has biases, their last entry belongs to the bias and is left out.
  Directions directions(size_t layer, ConstMatrixView<double> vectors, std::vector<std::string> names) const;
  // The product gate(l) r of one hidden unit, from 0 on.
  Directions hidden_unit(size_t layer, size_t unit) const;
};

// The form of the weights for every layer.
std::vector<GateTerms> weights_lines(const GluModel& model);
// A form of one layer fitted to inputs of it [n, d]. Error (usage) where the layer has no such form.
GateTerms fit_form(const GluModel& model, Form form, size_t layer, ConstMatrixView<float> x);
// Whether the model's last layer, and with it all, has the form.
bool has_form(const GluModel& model, Form form);

// Directions read through one form. A form is its eigenvectors and, where the lines have shifts, a linear
// part; beside it a residual path may reach the logits.
struct Reading {
  std::vector<UnitForm> units;
  Fidelity fidelity;  // against the logits for decisions, else the layer's own outputs; units: [directions]
};

// What directions are measured against: the logits for decisions, else the layer's own outputs. [n,
// directions]
Matrix<double> own_outputs(const GluModel& model, const Directions& directions, const Activations& activations);

// The model at the mirror images of the layer's inputs. What goes past the layer is negated with them.
struct MirroredModel {
  EvenShare even;
  Matrix<double> own;   // [n, directions]
  Matrix<double> past;  // at x: what goes past the layer, or empty
};
MirroredModel mirrored_model(const GluModel& model, const Directions& directions, const Activations& activations);

// `activations` must be of the directions' layer. Several forms of the same directions share a `mirror`;
// without one it is made.
Reading read(const GluModel& model, const Directions& directions, const GateTerms& line, const Activations& activations,
             const Wanted& wanted = {}, const MirroredModel* mirror = nullptr);
// The fidelity alone, without any eigenvector.
Fidelity form_fidelity(const GluModel& model, const Directions& directions, const GateTerms& line,
                       const Activations& activations, const MirroredModel* mirror = nullptr);
// The form as a whole against the model, without its parts, mirror images and intervals: for controls.
Fidelity whole_fidelity(const GluModel& model, const Directions& directions, const GateTerms& line,
                        const Activations& activations);
// Values of a stand-in for the layer [n, directions], to which what goes past it is added, against the model.
Fidelity stand_in_fidelity(const GluModel& model, const Directions& directions, Matrix<double> values,
                           const Activations& activations);

// The accuracy of decisions with few of the eigenvectors that were read.
TruncationCurve truncation(const GluModel& model, const Reading& decisions, const Activations& activations);

// How far the local form, the exact one, is from the model: what rounding leaves.
struct LocalError {
  double largest = 0;    // |value - the model's own|
  double scale = 0;      // the largest |own value|
  double agreement = 0;  // for decisions: share of the inputs on which the form decides as the model
  size_t inputs = 0;
};
// The local forms of the first `inputs` inputs, each evaluated as the quadratic form that it is.
LocalError local_error(const GluModel& model, const Directions& directions, const Activations& activations,
                       size_t inputs);

}  // namespace glint

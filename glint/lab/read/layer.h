// One GLU layer read from arrays: weights that a program has in memory, of any model, without a run and
// without a file.
//
//   LayerArrays layer{.left = L, .right = R, .projection = P, .gate = {GateKind::Silu}};
//   LayerReading r = read_layer(engine, layer, {.directions = u, .inputs = x, .strongest = 32});
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/spectra/glu_model.h"

namespace glint {

// y = P (gate(L x + a) * (R x + b)). With a norm the layer reads x / rms(x) * weights + bias, of x less its
// mean where the norm is centred (LayerNorm). Weights, bias and centring go into L, R, a and b: eigenvectors
// are directions of x / rms(x), and have no mean where the norm takes it away.
struct LayerArrays {
  ConstMatrixView<float> left, right;                      // [h, d]
  ConstMatrixView<float> projection = {};                  // [o, h]; empty: the hidden units are the output
  std::span<const float> bias_left = {}, bias_right = {};  // [h], or empty
  Gate gate = {};
  bool norm = false;                                         // a norm before the layer: RMS
  bool norm_centred = false;                                 // or LayerNorm
  std::span<const float> norm_weights = {}, norm_bias = {};  // [d], or empty: 1 and 0
  double norm_eps = 1e-6;
};

// Error (usage) for shapes that do not fit together.
void check_shapes(const LayerArrays& layer);

struct LayerReadRequest {
  ConstMatrixView<double> directions;   // [n, o]
  std::vector<std::string> names = {};  // [n], or empty: 0, 1, 2 ...
  ConstMatrixView<float> inputs = {};   // [samples, d]: of the norm, where there is one; or empty
  // weights, scaled, calibrated; auto: weights without inputs, otherwise scaled for odd gates and calibrated
  // for others. A line per unit, as in layers of language models.
  std::string form = "auto";
  size_t strongest = 0;  // eigenpairs of the largest |value|; 0: all, of layers up to kFullWidth
};

struct LayerReading {
  Form form = Form::weights;
  std::string linalg;
  std::vector<std::string> names;
  std::vector<UnitForm> units;                    // [directions]
  std::vector<std::optional<SpectrumRank>> rank;  // none where not all eigenvalues are known
  // Of inputs. The form and the linear map are fitted on the first half of them and measured on the second;
  // the form of the weights is measured on all, and the linear map beside it as before.
  size_t fitted = 0, measured = 0;
  std::optional<Reading> reading;  // without its units; none without inputs
  std::optional<Fidelity> linear;  // the control: the best linear map of the input
  GateTerms line;                  // of every hidden unit
};

// An R2 of fewer inputs says nothing, and is not given.
inline constexpr size_t kFewestInputs = 20;
// Error (usage) for shapes that do not fit together, fewer inputs than kFewestInputs, and a layer wider than kFullWidth
// without `strongest`; Error (numeric) for numbers that are not finite.
LayerReading read_layer(const Engine& engine, const LayerArrays& layer, const LayerReadRequest& request);
// Outputs [samples, o] of the layer itself.
Matrix<double> layer_values(const Engine& engine, const LayerArrays& layer, ConstMatrixView<float> inputs);
// Values [samples, directions] of a reading's form.
Matrix<double> form_values(const Engine& engine, const LayerArrays& layer, ConstMatrixView<double> directions,
                           const GateTerms& line, ConstMatrixView<float> inputs);

OrderedJson to_json(const LayerReading& result);  // "glint-layer/1"

}  // namespace glint

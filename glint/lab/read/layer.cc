#include "glint/lab/read/layer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "glint/base/error.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/spectra/bootstrap.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/controls.h"

namespace glint {
namespace {

// The arrays as a model of one layer, with the norm's weights folded in.
class ArrayModel : public GluModel {
 public:
  ArrayModel(const Engine& engine, const LayerArrays& arrays) : engine_(engine), arrays_(arrays) {
    check_shapes(arrays);
    check_numbers();
    fold_bias(arrays_.left, arrays_.bias_left, bias_left_);
    fold_bias(arrays_.right, arrays_.bias_right, bias_right_);
    if (!arrays.norm_weights.empty() || arrays.norm_centred) {
      left_ = folded(arrays.left), right_ = folded(arrays.right);
      arrays_.left = left_, arrays_.right = right_;
    }
    glint::check(layer(0), "layer");
  }

  const LinearAlgebra& linalg() const override { return engine_.linalg(); }
  ThreadPool& pool() const override { return engine_.pool(); }
  size_t layers() const override { return 1; }
  GluLayerView layer(size_t) const override {
    return {arrays_.left, arrays_.right, arrays_.bias_left, arrays_.bias_right, arrays_.gate, arrays_.norm};
  }
  WeightRows projection(size_t) const override { return arrays_.projection; }
  InputMap input_map() const override { return {}; }
  std::string weights_hash() const override { return {}; }
  Activations activations(size_t, const ModelInputs& samples) const override {
    const auto* values = std::get_if<ConstMatrixView<float>>(&samples);
    if (!values) bad_argument("inputs", "samples of another kind", "floats [samples, d]");
    Activations a;
    a.inputs = read(*values, 0, values->rows());
    return a;
  }

  // Rows of the inputs as the layer reads them.
  Matrix<float> read(ConstMatrixView<float> inputs, size_t first, size_t count) const {
    const size_t d = arrays_.left.cols();
    if (inputs.cols() != d)
      bad_argument("inputs", "inputs have " + std::to_string(inputs.cols()) + " numbers each",
                   std::to_string(d) + ", as the columns of L");
    Matrix<float> out(count, d);
    pool().for_tiles((count + 255) / 256, [&](size_t tile, size_t) {
      for (size_t i = tile * 256; i < std::min(count, tile * 256 + 256); i++) {
        const std::span<const float> x = inputs.row(first + i);
        double mean = 0, squares = 0;
        if (arrays_.norm_centred) mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(d);
        for (const float v : x) squares += (v - mean) * (v - mean);
        if (!std::isfinite(squares))
          throw Error({.code = ErrorCode::numeric,
                       .what = "input " + std::to_string(first + i) + " is not finite",
                       .where = "inputs"});
        const double scale = arrays_.norm ? 1 / std::sqrt(squares / static_cast<double>(d) + arrays_.norm_eps) : 1;
        for (size_t j = 0; j < d; j++) out(i, j) = static_cast<float>(scale * (x[j] - mean));
      }
    });
    return out;
  }

 private:
  void check_numbers() const {
    for (const auto& m : {arrays_.left, arrays_.right, arrays_.projection})
      for (size_t i = 0; i < m.rows(); i++)
        for (const float v : m.row(i))
          if (!std::isfinite(v))
            throw Error({.code = ErrorCode::numeric, .what = "a weight is not finite", .where = "layer"});
    for (const auto& v : {arrays_.bias_left, arrays_.bias_right, arrays_.norm_weights, arrays_.norm_bias})
      for (const float x : v)
        if (!std::isfinite(x))
          throw Error({.code = ErrorCode::numeric, .what = "a weight is not finite", .where = "layer"});
    glint::check(arrays_.gate.params);
  }

  // M diag(g), and M diag(g) (I - 11'/d) where the norm is centred.
  Matrix<float> folded(ConstMatrixView<float> m) const {
    const std::span<const float> g = arrays_.norm_weights;
    Matrix<float> out(m.rows(), m.cols());
    std::vector<double> row(m.cols());
    for (size_t i = 0; i < m.rows(); i++) {
      for (size_t j = 0; j < m.cols(); j++) row[j] = g.empty() ? m(i, j) : static_cast<double>(m(i, j)) * g[j];
      const double mean =
          arrays_.norm_centred ? std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size()) : 0;
      for (size_t j = 0; j < m.cols(); j++) out(i, j) = static_cast<float>(row[j] - mean);
    }
    return out;
  }

  // The bias of the norm, as the layer reads it: M bias.
  void fold_bias(ConstMatrixView<float> m, std::span<const float>& bias, std::vector<float>& own) const {
    if (arrays_.norm_bias.empty()) return;
    own.resize(m.rows());
    for (size_t i = 0; i < m.rows(); i++) {
      double sum = bias.empty() ? 0 : bias[i];
      for (size_t j = 0; j < m.cols(); j++) sum += static_cast<double>(m(i, j)) * arrays_.norm_bias[j];
      own[i] = static_cast<float>(sum);
    }
    bias = own;
  }

  const Engine& engine_;
  LayerArrays arrays_;
  Matrix<float> left_, right_;
  std::vector<float> bias_left_, bias_right_;
};

Directions layer_directions(const ArrayModel& model, ConstMatrixView<double> vectors, std::vector<std::string> names) {
  if (vectors.rows() == 0) bad_argument("out", "no direction", "at least one");
  if (vectors.cols() != model.outputs(0))
    bad_argument("out", "directions have " + std::to_string(vectors.cols()) + " numbers",
                 std::to_string(model.outputs(0)) + ", the outputs of the layer");
  for (size_t i = 0; i < vectors.rows(); i++)
    for (const double v : vectors.row(i))
      if (!std::isfinite(v))
        throw Error({.code = ErrorCode::numeric, .what = "a direction is not finite", .where = "out"});
  for (size_t i = names.size(); i < vectors.rows(); i++) names.push_back(std::to_string(i));
  names.resize(vectors.rows());
  return model.directions(0, vectors, std::move(names));
}

Form layer_form(const LayerReadRequest& request, const GluLayerView& layer) {
  const bool data = !request.inputs.empty();
  const Form form = asked_form(request.form).value_or(default_form(layer.gate.kind, data));
  if (const auto check = form_functions(form).check) check(layer);
  if (form_info(form).needs != FormNeeds::nothing && !data)
    bad_argument("inputs", "the " + name(form) + " form is fitted on data", "inputs of the layer, or `form=weights`");
  return form;
}

}  // namespace

void check_shapes(const LayerArrays& layer) {
  const size_t h = layer.left.rows(), d = layer.left.cols();
  const auto size = [](size_t n) { return std::to_string(n); };
  if (h == 0 || d == 0) bad_argument("L", "an empty layer", "[hidden units, inputs]");
  if (layer.right.rows() != h || layer.right.cols() != d)
    bad_argument("R", "shape (" + size(layer.right.rows()) + ", " + size(layer.right.cols()) + ")",
                 "(" + size(h) + ", " + size(d) + "), as L");
  if (!layer.projection.empty() && layer.projection.cols() != h)
    bad_argument("P", size(layer.projection.cols()) + " columns", size(h) + ", the hidden units");
  for (const auto& bias : {layer.bias_left, layer.bias_right})
    if (!bias.empty() && bias.size() != h)
      bad_argument("bias", size(bias.size()) + " numbers", size(h) + ", the hidden units");
  for (const auto& values : {layer.norm_weights, layer.norm_bias})
    if (!values.empty() && values.size() != d)
      bad_argument("norm", size(values.size()) + " numbers", size(d) + ", the inputs");
}

LayerReading read_layer(const Engine& engine, const LayerArrays& arrays, const LayerReadRequest& request) {
  const ArrayModel model(engine, arrays);
  const GluLayerView layer = model.layer(0);
  const Directions directions = layer_directions(model, request.directions, request.names);
  if (request.strongest == 0 && layer.width() > kFullWidth)
    bad_argument("k", "all eigenpairs of a layer of width " + std::to_string(layer.width()),
                 "how many, beyond a width of " + std::to_string(kFullWidth), "`k=32`");
  LayerReading result;
  result.form = layer_form(request, layer);
  result.linalg = engine.linalg().description();
  result.names = directions.names;
  const Wanted wanted{.strongest = std::min(request.strongest, layer.width())};
  const size_t samples = request.inputs.rows();
  if (samples > 0 && samples < kFewestInputs)
    bad_argument("inputs", std::to_string(samples) + (samples == 1 ? " input" : " inputs"),
                 std::to_string(kFewestInputs) + " or more: one half is fitted on, one measured on");
  const bool from_weights = form_info(result.form).needs == FormNeeds::nothing;
  Activations fitted, measured;
  if (samples > 0) {
    result.fitted = samples / 2;
    result.measured = from_weights ? samples : samples - result.fitted;
    fitted.inputs = model.read(request.inputs, 0, result.fitted);
    measured.inputs = model.read(request.inputs, samples - result.measured, result.measured);
    constexpr size_t kPieces = 32;
    // Neighbours may be of one text: the interval is of pieces in a row.
    const size_t piece = std::clamp<size_t>(result.measured / kPieces, 1, kBlockTokens);
    for (size_t at = 0; at < result.measured; at += piece)
      measured.blocks.push_back(std::min(piece, result.measured - at));
  }
  const LinearAlgebra& linalg = engine.linalg();
  result.line = fit_form(model, result.form, 0, fitted.inputs);
  if (samples == 0) {
    result.units = unit_forms({linalg, engine.pool(), layer}, result.line, directions.weights, {}, wanted);
  } else {
    result.reading = read(model, directions, result.line, measured, wanted);
    result.units = std::move(result.reading->units);
    result.reading->units.clear();
    Activations later;
    if (from_weights) later.inputs = model.read(request.inputs, result.fitted, samples - result.fitted);
    result.linear = linear_control(model, directions, fitted, from_weights ? later : measured);
  }
  for (const UnitForm& unit : result.units)
    result.rank.push_back(unit.spectrum.count() == layer.width() ? std::optional(spectrum_rank(unit.spectrum.values))
                                                                 : std::nullopt);
  return result;
}

Matrix<double> layer_values(const Engine& engine, const LayerArrays& arrays, ConstMatrixView<float> inputs) {
  const ArrayModel model(engine, arrays);
  Matrix<double> all(model.outputs(0), model.outputs(0));
  for (size_t i = 0; i < all.rows(); i++) all(i, i) = 1;
  const Directions directions = layer_directions(model, all, {});
  return layer_outputs(model.reader(0), directions.weights, model.read(inputs, 0, inputs.rows()));
}

Matrix<double> form_values(const Engine& engine, const LayerArrays& arrays, ConstMatrixView<double> vectors,
                           const GateTerms& line, ConstMatrixView<float> inputs) {
  const ArrayModel model(engine, arrays);
  const Directions directions = layer_directions(model, vectors, {});
  return form_outputs(model.reader(0), line, directions.weights, model.read(inputs, 0, inputs.rows()));
}

OrderedJson to_json(const LayerReading& r) {
  OrderedJson j = {{"schema", "glint-layer/1"}, {"form", name(r.form)}, {"linalg", r.linalg}};
  if (r.reading) {
    OrderedJson fidelity = fidelity_json(r.reading->fidelity, false);
    add_trust(fidelity, r.reading->fidelity, {"eigenvectors_r2", "eigenvectors_r2_interval"});
    fidelity["inputs"] = r.measured;
    j["fidelity"] = std::move(fidelity);
    j["controls"] = {{"linear", fidelity_json(*r.linear, false)}};
    j["fitted_on"] = r.form == Form::weights ? 0 : r.fitted;
  }
  j["units"] = OrderedJson::array();
  for (size_t u = 0; u < r.units.size(); u++) {
    OrderedJson unit = {{"name", r.names[u]}, {"eigenvalues", r.units[u].spectrum.values}};
    if (r.reading)
      add_trust(unit, r.reading->fidelity.units[u],
                {"r2", "eigenvectors_r2", "linear_share", "quadratic_share", "even_share", "r2_interval",
                 "eigenvectors_r2_interval"});
    if (r.rank[u]) {
      unit["entropy_rank"] = r.rank[u]->entropy;
      unit["participation_rank"] = r.rank[u]->participation;
    }
    j["units"].push_back(std::move(unit));
  }
  return j;
}

}  // namespace glint

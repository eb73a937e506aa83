#include "glint/spectra/image_reading.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/spectra/lanczos.h"
#include "glint/spectra/refine.h"

namespace glint {
namespace {

constexpr size_t kBatch = 1024;

}  // namespace

std::vector<uint32_t> evenly_spaced(size_t count, size_t most) {
  const size_t n = std::min(count, most);
  std::vector<uint32_t> rows(n);
  for (size_t i = 0; i < n; i++) rows[i] = static_cast<uint32_t>(i * count / n);
  return rows;
}

ImageReading::ImageReading(const ImageModel& model, const Compute& compute, const LinearAlgebra& linalg)
    : model_(model),
      compute_(compute),
      linalg_(linalg),
      params_((check(model.config), classifier_params(model.config))) {
  params_.table.check_buffer(model.weights.span(), "weights");
}

GluLayerView ImageReading::layer(size_t i) const {
  if (i >= layers())
    bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(layers()));
  const size_t h = model_.config.hidden();
  const ConstMatrixView<float> w = params_.table.view(model_.weights.span(), params_.blocks[i].weight);
  GluLayerView view{.left = w.row_range(0, h),
                    .right = w.row_range(h, h),
                    .bias_left = {},
                    .bias_right = {},
                    .gate = model_.config.gate,
                    .normed = model_.config.norm != Norm::none};
  if (params_.blocks[i].bias != kNoParam) {
    const std::span<const float> b = params_.table.view(model_.weights.span(), params_.blocks[i].bias).row(0);
    view.bias_left = b.subspan(0, h);
    view.bias_right = b.subspan(h, h);
  }
  return view;
}

InputMap ImageReading::input_map() const {
  InputMap map{.matrix = params_.table.view(model_.weights.span(), params_.embed.weight), .bias = {}};
  if (params_.embed.bias != kNoParam) map.bias = params_.table.view(model_.weights.span(), params_.embed.bias).row(0);
  return map;
}

ConstMatrixView<float> ImageReading::head() const {
  return params_.table.view(model_.weights.span(), params_.head.weight);
}

std::span<const float> ImageReading::head_bias() const {
  if (params_.head.bias == kNoParam) return {};
  return params_.table.view(model_.weights.span(), params_.head.bias).row(0);
}

std::string ImageReading::weights_hash() const { return sha256_hex(std::as_bytes(model_.weights.span())); }

Activations ImageReading::run(size_t count, const ClassifierEngine::RowSource& source, size_t layer) const {
  ClassifierEngine engine(model_.config, compute_, std::min(kBatch, std::max<size_t>(count, 1)), false);
  engine.set_weights(model_.weights.span());
  const size_t classes = model_.config.classes;
  Activations pass{Matrix<float>(count, engine.layer_input(layer).cols()), Matrix<float>(count, classes), {}};
  const bool residual = model_.config.residual && layer == last();
  if (residual) pass.residual_logits = Matrix<double>(count, classes);
  const Matrix<double> head_weights = residual ? hidden_weights(head()) : Matrix<double>();
  const std::vector<uint32_t> no_labels(kBatch);
  for (size_t first = 0; first < count; first += engine.max_batch()) {
    const size_t rows = std::min(engine.max_batch(), count - first);
    engine.evaluate(
        rows, [&](size_t row, float* out) { source(first + row, out); }, no_labels);
    for (size_t i = 0; i < rows; i++) {
      std::ranges::copy(engine.layer_input(layer).row(i), pass.inputs.view().row_ptr(first + i));
      std::ranges::copy(engine.logits().row(i), pass.logits.view().row_ptr(first + i));
    }
    if (!residual) continue;
    Matrix<double> state(rows, engine.state(layer).cols());
    for (size_t i = 0; i < rows; i++) std::ranges::copy(engine.state(layer).row(i), state.view().row_ptr(i));
    linalg_.gemm(Op::plain, Op::transposed, 1.0, state, head_weights, 0.0,
                 pass.residual_logits.view().row_range(first, rows));
  }
  return pass;
}

template <class T>
Activations ImageReading::run_samples(ConstMatrixView<T> samples, size_t layer, std::span<const uint32_t> rows) const {
  if (samples.rows() > 0 && samples.cols() != model_.config.inputs)
    bad_argument("samples", "samples of " + std::to_string(samples.cols()) + " numbers do not fit the model",
                 std::to_string(model_.config.inputs) + ", the inputs of the model");
  for (const uint32_t row : rows)
    if (row >= samples.rows())
      bad_argument("rows", "there is no sample " + std::to_string(row), "below " + std::to_string(samples.rows()));
  return run(
      rows.empty() ? samples.rows() : rows.size(),
      [&](size_t row, float* out) {
        write_sample(compute_.kernels(), samples.row(rows.empty() ? row : rows[row]), out);
      },
      layer);
}

Activations ImageReading::run(ConstMatrixView<uint8_t> pixels, size_t layer, std::span<const uint32_t> rows) const {
  return run_samples(pixels, layer, rows);
}

Activations ImageReading::run(ConstMatrixView<float> values, size_t layer, std::span<const uint32_t> rows) const {
  return run_samples(values, layer, rows);
}

Activations ImageReading::run(const ImageSet& set, size_t layer, std::span<const uint32_t> rows) const {
  Activations pass = set.floats() ? run(set.values.view(), layer, rows) : run(set.pixels.view(), layer, rows);
  for (size_t i = 0; i < pass.inputs.rows(); i++) pass.labels.push_back(set.labels[rows.empty() ? i : rows[i]]);
  return pass;
}

Activations ImageReading::activations(size_t layer, const ModelInputs& samples) const {
  if (const auto* pixels = std::get_if<ConstMatrixView<uint8_t>>(&samples)) return run(*pixels, layer);
  if (const auto* values = std::get_if<ConstMatrixView<float>>(&samples)) return run(*values, layer);
  bad_argument("samples", "an image model reads images or vectors, not tokens",
               "samples of " + std::to_string(model_.config.inputs) + " numbers");
}

StoredCalibration ImageReading::calibrate(const ImageSet& train, const std::string& data_checksum) const {
  const std::vector<uint32_t> rows = evenly_spaced(train.count(), kCalibrationImages);
  StoredCalibration stored{
      .model = weights_hash(), .data = data_checksum, .inputs = rows.size(), .linalg = linalg_.description()};
  for (size_t i = 0; i < layers(); i++) add_layer(*this, i, run(train, i, rows).inputs, stored);
  return stored;
}

std::vector<GateTerms> ImageReading::refined_lines(const ImageSet& train, std::vector<GateTerms> scaled) const {
  assert(scaled.size() == layers());
  const Activations pass = run(train, last(), evenly_spaced(train.count(), kCalibrationImages));
  scaled.back() =
      refined_form({linalg_, pool(), layer(last())}, logit_weights(last()), pass.logits, pass.inputs, scaled.back());
  return scaled;
}

Matrix<double> ImageReading::logit_weights(size_t i) const {
  return i == last() ? hidden_weights(head()) : Matrix<double>();
}

Directions ImageReading::classes() const {
  const std::span<const float> bias = head_bias();
  return {.layer = last(),
          .names = model_.class_names,
          .weights = hidden_weights(head()),
          .constants = {bias.begin(), bias.end()},
          .decisions = true};
}

Directions ImageReading::difference(size_t a, size_t b) const {
  const Directions all = classes();
  Directions one{.layer = last(),
                 .names = {all.names[a] + " - " + all.names[b]},
                 .weights = Matrix<double>(1, all.weights.cols()),
                 .constants = {}};
  for (size_t h = 0; h < all.weights.cols(); h++) one.weights(0, h) = all.weights(a, h) - all.weights(b, h);
  if (!all.constants.empty()) one.constants = {all.constants[a] - all.constants[b]};
  return one;
}

Matrix<double> ImageReading::pictures(size_t layer_index, ConstMatrixView<double> vectors,
                                      std::span<const GateTerms> lines) const {
  if (layer_index == 0) return features(linalg_, vectors, input_map()).maps;
  const GluLayerView below = layer(layer_index - 1);
  Matrix<double> strongest(vectors.rows(), below.width());
  pool().for_tiles(vectors.rows(), [&](size_t k, size_t) {
    ThreadPool alone(1);  // a tile must not use the pool that runs it
    const QuadraticPart q = quadratic_part(vectors.row(k).first(below.hidden()), lines[layer_index - 1]);
    const Spectrum top = top_interaction({linalg_, alone, below}, q, 1);
    std::ranges::copy(top.vectors.view().row(0), strongest.view().row_ptr(k));
  });
  return pictures(layer_index - 1, strongest, lines);
}

}  // namespace glint

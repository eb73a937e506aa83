#include "glint/spectra/image_reading.h"

#include <algorithm>
#include <cmath>

#include "glint/base/argument.h"
#include "glint/base/finite.h"
#include "glint/base/sha256.h"
#include "glint/spectra/lanczos.h"

namespace glint {
namespace {

constexpr size_t kBatch = 1024;

std::vector<uint32_t> evenly_spaced(size_t count, size_t most) {
  const size_t n = std::min(count, most);
  std::vector<uint32_t> rows(n);
  for (size_t i = 0; i < n; i++) rows[i] = static_cast<uint32_t>(i * count / n);
  return rows;
}

}  // namespace

ImageReading::ImageReading(const ImageModel& model, const Compute& compute, const LinearAlgebra& linalg)
    : model_(model),
      compute_(compute),
      linalg_(linalg),
      params_((check(model.config), classifier_params(model.config))) {
  params_.table.check_buffer(model.weights.span(), "weights");
}

GluLayerView ImageReading::layer(size_t i) const {
  if (i >= layers()) bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(layers()));
  const size_t h = model_.config.hidden();
  const ConstMatrixView<float> w = params_.table.view(model_.weights.span(), params_.blocks[i].weight);
  GluLayerView view{.left = w.row_range(0, h),
                    .right = w.row_range(h, h),
                    .bias_left = {},
                    .bias_right = {},
                    .gate = model_.config.gate};
  if (params_.blocks[i].bias != kNoParam) {
    const std::span<const float> b = params_.table.view(model_.weights.span(), params_.blocks[i].bias).row(0);
    view.bias_left = b.subspan(0, h);
    view.bias_right = b.subspan(h, h);
  }
  return view;
}

InputMap ImageReading::input_map() const {
  InputMap map{.matrix = params_.table.view(model_.weights.span(), params_.embed.weight), .bias = {}};
  if (params_.embed.bias != kNoParam)
    map.bias = params_.table.view(model_.weights.span(), params_.embed.bias).row(0);
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

ImagePass ImageReading::run(size_t count, const ClassifierEngine::RowSource& source, size_t layer) const {
  ClassifierEngine engine(model_.config, compute_, std::min(kBatch, std::max<size_t>(count, 1)), false);
  engine.set_weights(model_.weights.span());
  const size_t classes = model_.config.classes;
  ImagePass pass{Matrix<float>(count, engine.layer_input(layer).cols()), Matrix<float>(count, classes), {}};
  const bool around = model_.config.residual && layer == last();
  if (around) pass.around = Matrix<double>(count, classes);
  const Matrix<double> head_weights = around ? hidden_weights(head()) : Matrix<double>();
  const std::vector<uint32_t> no_labels(kBatch);
  for (size_t first = 0; first < count; first += engine.max_batch()) {
    const size_t rows = std::min(engine.max_batch(), count - first);
    engine.evaluate(
        rows, [&](size_t row, float* out) { source(first + row, out); }, no_labels);
    for (size_t i = 0; i < rows; i++) {
      std::ranges::copy(engine.layer_input(layer).row(i), pass.inputs.view().row_ptr(first + i));
      std::ranges::copy(engine.logits().row(i), pass.logits.view().row_ptr(first + i));
    }
    if (!around) continue;
    Matrix<double> state(rows, engine.state(layer).cols());
    for (size_t i = 0; i < rows; i++) std::ranges::copy(engine.state(layer).row(i), state.view().row_ptr(i));
    linalg_.gemm(Op::plain, Op::transposed, 1.0, state, head_weights, 0.0,
                 pass.around.view().row_range(first, rows));
  }
  return pass;
}

ImagePass ImageReading::run(const ImageSet& set, size_t layer, std::span<const uint32_t> rows) const {
  return run(
      rows.empty() ? set.count() : rows.size(),
      [&](size_t row, float* out) {
        write_sample(compute_.kernels(), set, rows.empty() ? row : rows[row], out);
      },
      layer);
}

ImagePass ImageReading::run(ConstMatrixView<uint8_t> pixels, size_t layer,
                            std::span<const uint32_t> rows) const {
  if (pixels.rows() > 0 && pixels.cols() != model_.config.inputs)
    bad_argument("pixels", "images of " + std::to_string(pixels.cols()) + " pixels",
                 std::to_string(model_.config.inputs) + ", the inputs of the model");
  for (const uint32_t row : rows)
    if (row >= pixels.rows())
      bad_argument("rows", "there is no image " + std::to_string(row), "below " + std::to_string(pixels.rows()));
  return run(
      rows.empty() ? pixels.rows() : rows.size(),
      [&](size_t row, float* out) {
        compute_.kernels().noisy_pixels({}, 0, pixels.cols(), pixels.row_ptr(rows.empty() ? row : rows[row]),
                                        out);
      },
      layer);
}

StoredCalibration ImageReading::calibrate(const ImageSet& train, const std::string& data_checksum,
                                          Calibration calibration) const {
  const std::vector<uint32_t> rows = evenly_spaced(train.count(), kCalibrationImages);
  StoredCalibration stored{
      .model = weights_hash(), .data = data_checksum, .inputs = rows.size(), .lines = {}, .kinds = {}};
  for (size_t i = 0; i < layers(); i++) {
    const ImagePass pass = run(train, i, rows);
    Calibration kind = calibration;
    if (kind == Calibration::joint && (i != last() || model_.config.hidden() > kJointUnits))
      kind = Calibration::affine;
    stored.kinds.push_back(kind);
    stored.lines.push_back(kind == Calibration::joint
                               ? joint_form(linalg_, pool(), layer(i), classes().weights, pass.inputs)
                               : calibrated_form(linalg_, pool(), layer(i), pass.inputs, kind));
  }
  return stored;
}

Units ImageReading::classes() const {
  const std::span<const float> bias = head_bias();
  return {.layer = last(),
          .names = model_.class_names,
          .weights = hidden_weights(head()),
          .constants = {bias.begin(), bias.end()},
          .decisions = true};
}

Units ImageReading::difference(size_t a, size_t b) const {
  const Units all = classes();
  Units one{.layer = last(),
            .names = {all.names[a] + " - " + all.names[b]},
            .weights = Matrix<double>(1, all.weights.cols()),
            .constants = {}};
  for (size_t h = 0; h < all.weights.cols(); h++) one.weights(0, h) = all.weights(a, h) - all.weights(b, h);
  if (!all.constants.empty()) one.constants = {all.constants[a] - all.constants[b]};
  return one;
}

Units ImageReading::directions(size_t layer_index, ConstMatrixView<double> vectors,
                               std::vector<std::string> names) const {
  const size_t h = model_.config.hidden();
  assert(vectors.cols() == h || vectors.cols() == h + 1);
  Units units{.layer = layer_index,
              .names = std::move(names),
              .weights = Matrix<double>(vectors.rows(), h),
              .constants = {}};
  for (size_t u = 0; u < vectors.rows(); u++)
    std::copy_n(vectors.row_ptr(u), h, units.weights.view().row_ptr(u));
  return units;
}

FormReading ImageReading::read(const Units& units, const GateLine& line, const ImagePass& pass,
                               std::span<const uint32_t> labels) const {
  const GluLayerView view = layer(units.layer);
  FormReading reading;
  reading.units = unit_forms(linalg_, pool(), view, line, units.weights, units.constants);
  if (units.decisions) {
    reading.fidelity = trust(line, pass, labels);
    return reading;
  }
  reading.fidelity =
      fidelity(layer_outputs(linalg_, pool(), view, units.weights, pass.inputs, units.constants),
               form_outputs(linalg_, pool(), view, line, units.weights, pass.inputs, units.constants));
  return reading;
}

Fidelity ImageReading::trust(const GateLine& line, const ImagePass& pass,
                             std::span<const uint32_t> labels) const {
  const Units units = classes();
  Matrix<double> values =
      form_outputs(linalg_, pool(), layer(last()), line, units.weights, pass.inputs, units.constants);
  for (size_t i = 0; i < pass.around.size(); i++) values.data()[i] += pass.around.data()[i];
  Matrix<double> logits(pass.logits.rows(), pass.logits.cols());
  std::copy_n(pass.logits.data(), pass.logits.size(), logits.data());
  return fidelity(logits, values, labels);
}

LocalError ImageReading::local_error(const Units& units, const ImagePass& pass, size_t inputs) const {
  const GluLayerView view = layer(units.layer);
  const size_t n = std::min(inputs, pass.inputs.rows()), h = view.hidden(), d = view.inputs();
  const ConstMatrixView<float> x = pass.inputs.view().row_range(0, n);
  const Matrix<double> own = units.decisions
                                 ? Matrix<double>()
                                 : layer_outputs(linalg_, pool(), view, units.weights, x, units.constants);
  const Matrix<double> left = hidden_weights(view.left), right = hidden_weights(view.right);
  std::vector<LocalError> errors(n);
  pool().for_tiles(n, [&](size_t i, size_t) {
    const std::vector<double> input(x.row(i).begin(), x.row(i).end());
    const GateLine line = local_form(view, input);
    // x' Q x + w x as half of (q * (R x, 1))' (L x, 1) and half of the reverse, and the shifts.
    Matrix<double> by_right(units.count(), h), by_left(units.count(), h), to_left(units.count(), d),
        to_right(units.count(), d);
    std::vector<double> values(units.count());
    for (size_t j = 0; j < h; j++) {
      const PreActivation p = pre_activation(view, j, input);
      const double bias_l = view.bias_left.empty() ? 0 : view.bias_left[j],
                   bias_r = view.bias_right.empty() ? 0 : view.bias_right[j];
      for (size_t u = 0; u < units.count(); u++) {
        const double q = units.weights(u, j) * line.gain[j] / 2;
        by_right(u, j) = q * p.r, by_left(u, j) = q * p.l;
        values[u] += q * (p.r * bias_l + p.l * bias_r);
        if (!line.shift.empty()) values[u] += units.weights(u, j) * line.shift[j] * p.r;
      }
    }
    linalg_.gemm(Op::plain, Op::plain, 1.0, by_right, left, 0.0, to_left);
    linalg_.gemm(Op::plain, Op::plain, 1.0, by_left, right, 0.0, to_right);
    for (size_t u = 0; u < units.count(); u++) {
      double value = values[u] + (units.constants.empty() ? 0 : units.constants[u]);
      for (size_t j = 0; j < d; j++) value += (to_left(u, j) + to_right(u, j)) * input[j];
      if (units.decisions && !pass.around.span().empty()) value += pass.around(i, u);
      if (!std::isfinite(value)) throw_overflow("the local form of input " + std::to_string(i));
      const double model = units.decisions ? static_cast<double>(pass.logits(i, u)) : own(i, u);
      errors[i].largest = std::max(errors[i].largest, std::fabs(value - model));
      errors[i].scale = std::max(errors[i].scale, std::fabs(model));
    }
  });
  LocalError all{.inputs = n};
  for (const LocalError& e : errors) {
    all.largest = std::max(all.largest, e.largest);
    all.scale = std::max(all.scale, e.scale);
  }
  return all;
}

TruncationCurve ImageReading::truncation(const FormReading& reading, const ImagePass& pass,
                                         std::span<const uint32_t> labels) const {
  Matrix<double> logits(pass.logits.rows(), pass.logits.cols());
  std::copy_n(pass.logits.data(), pass.logits.size(), logits.data());
  return truncation_curve(linalg_, pool(), reading.units, pass.inputs, labels, argmax_rows(logits),
                          pass.around);
}

Matrix<double> ImageReading::pictures(size_t layer_index, ConstMatrixView<double> vectors,
                                      std::span<const GateLine> lines) const {
  if (layer_index == 0) return features(linalg_, vectors, input_map()).maps;
  const GluLayerView below = layer(layer_index - 1);
  const GateLine& line = lines[layer_index - 1];
  Matrix<double> strongest(vectors.rows(), below.width());
  pool().for_tiles(vectors.rows(), [&](size_t k, size_t) {
    std::vector<double> q(below.hidden());
    for (size_t h = 0; h < q.size(); h++) q[h] = vectors(k, h) * line.gain[h];
    ThreadPool alone(1);  // a tile must not use the pool that runs it
    const Spectrum top = top_interaction(linalg_, alone, below, q, 1);
    std::ranges::copy(top.vectors.view().row(0), strongest.view().row_ptr(k));
  });
  return pictures(layer_index - 1, strongest, lines);
}

std::vector<uint32_t> labels_of(const ImageSet& images) {
  return {images.labels.begin(), images.labels.end()};
}

std::vector<GateLine> weights_lines(const ImageReading& reading) {
  std::vector<GateLine> lines;
  for (size_t i = 0; i < reading.layers(); i++) lines.push_back(weights_form(reading.layer(i)));
  return lines;
}

}  // namespace glint

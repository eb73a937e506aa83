#include "glint/spectra/language_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "glint/base/argument.h"
#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/sha256.h"
#include "glint/nn/embedding.h"
#include "glint/spectra/even.h"
#include "glint/spectra/scaled.h"

namespace glint {
namespace {

std::vector<TokenId> all_tokens(size_t vocab) {
  std::vector<TokenId> tokens(vocab);
  std::iota(tokens.begin(), tokens.end(), TokenId{0});
  return tokens;
}

void subtract(Matrix<double>& a, const Matrix<double>& b) {
  for (size_t i = 0; i < a.size(); i++) a.data()[i] -= b.data()[i];
}

void centre_columns(Matrix<double>& m) {
  const size_t n = m.rows(), d = m.cols();
  std::vector<double> mean(d);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++) mean[j] += m(i, j);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++) m(i, j) -= mean[j] / static_cast<double>(n);
}

Matrix<double> moments(const LinearAlgebra& linalg, const Matrix<double>& a, const Matrix<double>& b) {
  Matrix<double> out(a.cols(), b.cols());
  linalg.gemm(Op::transposed, Op::plain, 1, a, b, 0, out);
  return out;
}

double trace(const Matrix<double>& m) {
  double sum = 0;
  for (size_t i = 0; i < m.rows(); i++) sum += m(i, i);
  return sum;
}

// u' M u of every row u. [rows]
std::vector<double> squares(const LinearAlgebra& linalg, const Matrix<double>& rows,
                            const Matrix<double>& m) {
  Matrix<double> product(rows.rows(), m.cols());
  linalg.gemm(Op::plain, Op::plain, 1, rows, m, 0, product);
  std::vector<double> out(rows.rows());
  for (size_t t = 0; t < rows.rows(); t++)
    for (size_t j = 0; j < m.cols(); j++) out[t] += product(t, j) * rows(t, j);
  return out;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

LanguageReading::LanguageReading(const LanguageModel& model, const Compute& compute,
                                 const LinearAlgebra& linalg)
    : model_(model),
      compute_(compute),
      linalg_(linalg),
      params_((check(model.config), transformer_params(model.config))) {
  params_.table.check_buffer(model.weights.span(), "weights");
  const ConstMatrixView<float> e = input_map().matrix;
  for (size_t t = 0; t < e.rows(); t++)
    embedding_norms_.push_back(std::sqrt(compute.kernels().sum_squares(e.cols(), e.row_ptr(t))));
}

GluLayerView LanguageReading::layer(size_t i) const {
  if (i >= layers())
    bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(layers()));
  const size_t h = model_.config.hidden();
  const ConstMatrixView<float> w = params_.table.view(model_.weights.span(), params_.blocks[i].mlp_w);
  return {.left = w.row_range(0, h),
          .right = w.row_range(h, h),
          .bias_left = {},
          .bias_right = {},
          .gate = model_.config.gate,
          .normed = true};
}

ConstMatrixView<float> LanguageReading::projection(size_t i) const {
  return params_.table.view(model_.weights.span(), params_.blocks[i].mlp_p);
}

ConstMatrixView<float> LanguageReading::unembedding() const {
  return params_.table.view(model_.weights.span(), params_.head);
}

InputMap LanguageReading::input_map() const {
  return {.matrix = params_.table.view(model_.weights.span(), params_.wte), .row_is_input = true, .bias = {}};
}

std::string LanguageReading::weights_hash() const { return sha256_hex(std::as_bytes(model_.weights.span())); }

Matrix<double> LanguageReading::hidden(size_t i, ConstMatrixView<double> directions) const {
  return hidden_weights(linalg_, directions, projection(i));
}

Matrix<double> LanguageReading::token_directions(std::span<const TokenId> tokens) const {
  const ConstMatrixView<float> u = unembedding();
  check_tokens(tokens, u.rows());
  Matrix<double> out(tokens.size(), u.cols());
  for (size_t i = 0; i < tokens.size(); i++) std::ranges::copy(u.row(tokens[i]), out.view().row_ptr(i));
  return out;
}

Matrix<float> LanguageReading::inputs(std::span<const TokenRow> rows, size_t i, size_t most) const {
  TransformerEngine engine(model_.config, compute_, 1, false);
  engine.set_weights(model_.weights.span());
  size_t tokens = 0, used = 0;
  while (used < rows.size() && tokens < most) tokens += rows[used++].input.size();
  Matrix<float> x(tokens, model_.config.d_model);
  size_t first = 0;
  for (const TokenRow& row : rows.first(used)) {
    engine.trace(row, i, x.view().row_range(first, row.input.size()));
    first += row.input.size();
  }
  return x;
}

Activations LanguageReading::activations(size_t i, const ModelInputs& samples) const {
  const auto* rows = std::get_if<std::span<const TokenRow>>(&samples);
  if (!rows)
    throw Error({.code = ErrorCode::usage,
                 .what = "a language model reads tokens, not images",
                 .where = "samples",
                 .expected = "rows of tokens"});
  return {
      .inputs = inputs(*rows, i, std::numeric_limits<size_t>::max()), .logits = {}, .residual_logits = {}};
}

StoredCalibration LanguageReading::calibrate(std::span<const TokenRow> rows,
                                             const std::string& data_checksum) const {
  StoredCalibration stored{.model = weights_hash(), .data = data_checksum, .lines = {}, .kinds = {}};
  stored.linalg = linalg_.description();
  for (size_t i = 0; i < layers(); i++) {
    const Matrix<float> x = inputs(rows, i, kCalibrationTokens);
    stored.inputs = x.rows();
    stored.kinds.push_back(Calibration::affine);
    stored.lines.push_back(calibrated_form(linalg_, pool(), layer(i), x, Calibration::affine));
    stored.scaled.push_back(scaled_form(linalg_, pool(), layer(i), {}, x));
  }
  return stored;
}

std::vector<GateLine> LanguageReading::scaled_lines(std::span<const TokenRow> rows) const {
  std::vector<GateLine> lines;
  for (size_t i = 0; i < layers(); i++)
    lines.push_back(scaled_form(linalg_, pool(), layer(i), {}, inputs(rows, i, kCalibrationTokens)));
  return lines;
}

LanguageReading::LayerFidelity LanguageReading::layer_fidelity(size_t i, const GateLine& line,
                                                               ConstMatrixView<float> x) const {
  // The rows of P: every direction of the residual stream by itself.
  const ConstMatrixView<float> p = projection(i);
  Matrix<double> weights(p.rows(), p.cols());
  for (size_t r = 0; r < p.rows(); r++) std::ranges::copy(p.row(r), weights.view().row_ptr(r));
  const GluLayerView view = layer(i);
  Matrix<double> model = layer_outputs(linalg_, pool(), view, weights, x);
  Matrix<double> form = form_outputs(linalg_, pool(), view, line, weights, x);
  const Matrix<double> squared = form_outputs(linalg_, pool(), view, without_shift(line), weights, x);
  LayerFidelity out;
  out.all = fidelity(model, form);
  out.all.even_share = even_share(linalg_, pool(), view, weights, x).all;
  out.eigenvectors_r2 = fidelity(model, squared).r2;
  // The output along a token is linear in these: its variances and errors are squares of their moments.
  Matrix<double> error = form, error_squared = squared, linear = form;
  subtract(error, model);
  subtract(error_squared, model);
  subtract(linear, squared);
  for (Matrix<double>* m : {&model, &form, &linear}) centre_columns(*m);
  const Matrix<double> linear_form = moments(linalg_, linear, form), form_form = moments(linalg_, form, form);
  out.linear_share = ratio(trace(linear_form), trace(form_form));
  const Matrix<double> tokens = token_directions(all_tokens(model_.config.vocab));
  const auto along = [&](const Matrix<double>& m) { return squares(linalg_, tokens, m); };
  const std::vector<double> total = along(moments(linalg_, model, model)),
                            wrong = along(moments(linalg_, error, error)),
                            wrong_squared = along(moments(linalg_, error_squared, error_squared)),
                            part = along(linear_form), whole = along(form_form);
  for (size_t t = 0; t < total.size(); t++) {
    out.tokens.r2.push_back(total[t] > 0 ? 1 - wrong[t] / total[t] : 0);
    out.tokens.eigenvectors_r2.push_back(total[t] > 0 ? 1 - wrong_squared[t] / total[t] : 0);
    out.tokens.linear_share.push_back(ratio(part[t], whole[t]));
  }
  // Sums that overflow would come out as a share of 0.
  for (const std::vector<double>* sums : {&total, &wrong, &wrong_squared, &part, &whole})
    if (!all_finite(*sums)) throw_overflow("the tokens' outputs of layer " + std::to_string(i + 1));
  return out;
}

LanguageReading::NearTokens LanguageReading::near(std::span<const double> vector, size_t count,
                                                  const std::function<bool(TokenId)>& candidate) const {
  const ConstMatrixView<float> e = input_map().matrix;
  double norm = 0;
  for (const double v : vector) norm += v * v;
  norm = std::sqrt(norm);
  std::vector<double> cosine(e.rows());
  for (size_t t = 0; t < e.rows(); t++) {
    double dot = 0;
    for (size_t j = 0; j < e.cols(); j++) dot += static_cast<double>(e(t, j)) * vector[j];
    const double length = norm * embedding_norms_[t];
    cosine[t] = length > 0 ? dot / length : 0;
  }
  return most_alike(cosine, count, candidate);
}

LanguageReading::NearTokens most_alike(std::span<const double> cosine, size_t count,
                                       const std::function<bool(TokenId)>& candidate) {
  std::vector<TokenId> order;
  for (size_t t = 0; t < cosine.size(); t++)
    if (const auto token = static_cast<TokenId>(t); !candidate || candidate(token)) order.push_back(token);
  const size_t n = std::min(count, order.size());
  const auto pick = [&](double sign) {
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                      [&](TokenId a, TokenId b) {
                        return std::pair(-sign * cosine[a], a) < std::pair(-sign * cosine[b], b);
                      });
    std::vector<LanguageReading::NearToken> out;
    for (size_t k = 0; k < n; k++) out.push_back({order[k], cosine[order[k]]});
    return out;
  };
  return {pick(1), pick(-1)};
}

std::vector<LanguageReading::Scanned> LanguageReading::scan(
    size_t i, const GateLine& line, const std::function<void(size_t)>& progress) const {
  return scan(i, line, {0, model_.config.vocab}, progress);
}

std::vector<LanguageReading::Scanned> LanguageReading::scan(
    size_t i, const GateLine& line, Range some, const std::function<void(size_t)>& progress) const {
  const size_t vocab = model_.config.vocab, h = model_.config.hidden();
  const GluLayerView view = layer(i);
  const std::vector<TokenId> tokens = all_tokens(vocab);
  Matrix<double> weights = hidden(i, token_directions(tokens));
  const std::vector<double> gain = at_size(line, line.size).gain;
  for (size_t t = 0; t < vocab; t++)
    for (size_t j = 0; j < h; j++) weights(t, j) *= gain[j];
  const InteractionBuilder builder(linalg_, view);
  struct Worker {
    Matrix<double> q, scratch;
    std::vector<double> values;
    EighWorkspace workspace;
  };
  std::vector<Worker> workers(pool().size());
  std::vector<Scanned> out(some.count);
  std::mutex mutex;
  size_t done = 0;
  pool().for_tiles(some.count, [&](size_t tile, size_t id) {
    const size_t t = some.first + tile;
    Worker& w = workers[id];
    if (w.q.rows() == 0) w.q = Matrix<double>(view.width(), view.width()), w.values.resize(view.width());
    builder.build(weights.view().row(t), w.q, w.scratch);
    if (!all_finite(w.q)) throw_overflow("the interaction matrix of token " + std::to_string(t));
    linalg_.eigh_in_place(w.q, w.values, w.workspace);
    const std::vector<uint32_t> order = order_by_magnitude(w.values);
    out[tile] = {.token = tokens[t],
                 .rank = spectrum_rank(w.values),
                 .top = w.values.back(),
                 .bottom = w.values.front(),
                 .energy = energy_curve(w.values).front(),
                 .strongest = order.front()};
    if (!progress) return;
    const std::lock_guard lock(mutex);
    progress(++done);
  });
  return out;
}

}  // namespace glint

#include "glint/spectra/language_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/spectra/bootstrap.h"
#include "glint/spectra/even.h"

namespace glint {
namespace {

constexpr size_t kTokenBlock = 512;  // tokens whose rows of the (un)embedding are in memory at a time

std::vector<TokenId> tokens_in(Range range) {
  std::vector<TokenId> tokens(range.count);
  std::iota(tokens.begin(), tokens.end(), static_cast<TokenId>(range.first));
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
void add_squares(const LinearAlgebra& linalg, const Matrix<double>& rows, const Matrix<double>& m,
                 std::vector<double>& out) {
  Matrix<double> product(rows.rows(), m.cols());
  linalg.gemm(Op::plain, Op::plain, 1, rows, m, 0, product);
  for (size_t t = 0; t < rows.rows(); t++) {
    double sum = 0;
    for (size_t j = 0; j < m.cols(); j++) sum += product(t, j) * rows(t, j);
    out.push_back(sum);
  }
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Of the cosines of some tokens with a vector: the largest and the smallest.
LanguageReading::NearTokens most_alike(std::span<const double> cosine, size_t count, std::vector<TokenId> order) {
  const size_t n = std::min(count, order.size());
  const auto pick = [&](double sign) {
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
        [&](TokenId a, TokenId b) { return std::pair(-sign * cosine[a], a) < std::pair(-sign * cosine[b], b); });
    std::vector<LanguageReading::NearToken> out;
    for (size_t k = 0; k < n; k++) out.push_back({order[k], cosine[order[k]]});
    return out;
  };
  return {pick(1), pick(-1)};
}

}  // namespace

Activations LanguageReading::activations(size_t i, const ModelInputs& samples) const {
  const auto* rows = std::get_if<std::span<const TokenRow>>(&samples);
  if (!rows) bad_argument("samples", "a language model reads tokens, not images", "rows of tokens");
  Activations a;
  a.inputs = inputs(*rows, i, std::numeric_limits<size_t>::max());
  return a;
}

Matrix<double> LanguageReading::hidden(size_t i, ConstMatrixView<double> directions) const {
  return hidden_weights(linalg(), directions, projection(i));
}

StoredCalibration LanguageReading::calibrate(std::span<const TokenRow> rows, const std::string& data_checksum) const {
  StoredCalibration stored{.model = weights_hash(), .data = data_checksum, .linalg = linalg().description()};
  LayerPass all = pass(rows, kCalibrationTokens);
  stored.inputs = all.tokens();
  for (size_t i = 0; i < layers(); i++) add_layer(*this, i, all.inputs(i), stored);
  return stored;
}

Fidelity LanguageReading::layer_fidelity(size_t i, const GateTerms& line, ConstMatrixView<float> x,
                                         std::span<const size_t> blocks, const ScanPlan* along) const {
  // The rows of P: every direction of the residual stream by itself.
  const WeightRows p = projection(i);
  Matrix<double> weights(p.rows(), p.cols());
  Matrix<float> buffer;
  p.widen(0, weights, buffer);
  const LayerReader on = reader(i);
  Matrix<double> model = layer_outputs(on, weights, x);
  Matrix<double> form = form_outputs(on, line, weights, x);
  const Matrix<double> squared = form_outputs(on, without_linear_part(line), weights, x);
  Fidelity out = fidelity(model, form);
  out.units.clear();
  if (!blocks.empty()) out.r2_interval = bootstrap_r2(model, form, blocks).all;
  out.even_share = even_share(on, weights, x).all;
  out.eigenvectors_r2 = fidelity(model, squared).r2;
  // The output along a token is linear in these: its variances and errors are squares of their moments.
  Matrix<double> error = form, error_squared = squared, linear = form;
  subtract(error, model);
  subtract(error_squared, model);
  subtract(linear, squared);
  for (Matrix<double>* m : {&model, &form, &linear}) centre_columns(*m);
  const Matrix<double> model_model = moments(linalg(), model, model), error_error = moments(linalg(), error, error),
                       squared_squared = moments(linalg(), error_squared, error_squared),
                       linear_form = moments(linalg(), linear, form), form_form = moments(linalg(), form, form);
  out.linear_share = ratio(trace(linear_form), trace(form_form));
  std::vector<double> total, wrong, wrong_squared, part, whole;
  const size_t count = along ? along->count : vocab();
  for (size_t first = 0; first < count; first += kTokenBlock) {
    const Range some{first, std::min(kTokenBlock, count - first)};
    const Matrix<double> rows = along ? along->directions(some) : token_directions(tokens_in(some));
    add_squares(linalg(), rows, model_model, total);
    add_squares(linalg(), rows, error_error, wrong);
    add_squares(linalg(), rows, squared_squared, wrong_squared);
    add_squares(linalg(), rows, linear_form, part);
    add_squares(linalg(), rows, form_form, whole);
  }
  const auto r2 = [&](double errors, size_t t) { return total[t] > 0 ? 1 - errors / total[t] : 0; };
  for (size_t t = 0; t < total.size(); t++)
    out.units.push_back(
        {.r2 = r2(wrong[t], t), .eigenvectors_r2 = r2(wrong_squared[t], t), .linear_share = ratio(part[t], whole[t])});
  // Sums that overflow would come out as a share of 0.
  for (const std::vector<double>* sums : {&total, &wrong, &wrong_squared, &part, &whole})
    if (!all_finite(*sums)) throw_overflow("the tokens' outputs of layer " + std::to_string(i + 1));
  return out;
}

namespace {

// In lanes, which the compiler computes side by side: one sum would wait for each of its products.
double row_product(std::span<const double> a, std::span<const double> b) {
  constexpr size_t kLanes = 8;
  double lanes[kLanes] = {}, sum = 0;
  size_t j = 0;
  for (; j + kLanes <= a.size(); j += kLanes)
    for (size_t i = 0; i < kLanes; i++) lanes[i] += a[j + i] * b[j + i];
  for (; j < a.size(); j++) sum += a[j] * b[j];
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

LanguageReading::NearTokens LanguageReading::near(std::span<const double> vector, size_t count,
                                                  const std::function<bool(TokenId)>& candidate) const {
  return near(ConstMatrixView<double>(vector.data(), 1, vector.size()), count, candidate)[0];
}

Matrix<double> LanguageReading::products(ConstMatrixView<double> vectors) const {
  std::vector<double> ignored;
  return products(vectors, ignored);
}

Matrix<double> LanguageReading::products(ConstMatrixView<double> vectors, std::vector<double>& squares) const {
  const size_t d = width(), tiles = (vocab() + kTokenBlock - 1) / kTokenBlock;
  checked(model_.embedding());
  Matrix<double> out(vectors.rows(), vocab());
  squares.assign(vocab(), 0);
  pool().for_tiles(tiles, [&](size_t tile, size_t) {
    const size_t first = tile * kTokenBlock;
    Matrix<float> rows(std::min(kTokenBlock, vocab() - first), d);
    embeddings(first, rows);
    std::vector<double> row(d);
    for (size_t t = 0; t < rows.rows(); t++) {
      std::ranges::copy(rows.view().row(t), row.begin());
      squares[first + t] = row_product(row, row);
      for (size_t k = 0; k < vectors.rows(); k++) out(k, first + t) = row_product(row, vectors.row(k).first(d));
    }
  });
  return out;
}

std::vector<LanguageReading::NearTokens> LanguageReading::near(ConstMatrixView<double> vectors, size_t count,
                                                               const std::function<bool(TokenId)>& candidate) const {
  std::vector<double> squares;
  Matrix<double> cosine = products(vectors, squares);
  std::vector<TokenId> candidates;
  for (TokenId t = 0; t < vocab(); t++)
    if (!candidate || candidate(t)) candidates.push_back(t);
  std::vector<NearTokens> out(vectors.rows());
  pool().for_tiles(vectors.rows(), [&](size_t k, size_t) {
    const std::span<const double> vector = vectors.row(k).first(width());
    const double square = row_product(vector, vector);
    for (size_t t = 0; t < vocab(); t++) {
      const double length = std::sqrt(square) * std::sqrt(squares[t]);
      cosine(k, t) = length > 0 ? cosine(k, t) / length : 0;
    }
    out[k] = most_alike(cosine.view().row(k), count, candidates);
  });
  return out;
}

ScanPlan LanguageReading::token_scan(size_t i) const {
  return scan_plan(*this, i, vocab(), [this](Range block) { return token_directions(tokens_in(block)); });
}

}  // namespace glint

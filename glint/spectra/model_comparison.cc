#include "glint/spectra/model_comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"

namespace glint {

namespace {

constexpr uint32_t kControlStream = 0x636d7000u;  // sub-streams of Stream::sample, one per unit

// All units' vectors stacked become pictures in one call: deeper models walk down many vectors at once.
void to_pixels(const ImageReading& reading, std::span<const GateTerms> lines, ModelVectors& model) {
  size_t rows = 0, at = 0;
  for (const Matrix<double>& m : model.vectors) rows += m.rows();
  Matrix<double> all(rows, reading.layer(reading.last()).width());
  for (const Matrix<double>& m : model.vectors) {
    std::copy_n(m.data(), m.size(), all.view().row_ptr(at));
    at += m.rows();
  }
  const Matrix<double> pictures = reading.pictures(reading.last(), all, lines);
  at = 0;
  for (Matrix<double>& m : model.vectors) {
    Matrix<double> seen(m.rows(), pictures.cols());
    std::copy_n(pictures.view().row_ptr(at), seen.size(), seen.data());
    at += m.rows();
    m = std::move(seen);
  }
}

// Rows of independent normal numbers made orthonormal, one after the other; twice, against rounding.
Matrix<double> random_orthonormal_rows(size_t rows, size_t width, uint64_t seed, uint32_t sub) {
  const Rng rng(seed, Stream::sample, sub);
  Matrix<double> m(rows, width);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = rng.normal(i);
  for (size_t r = 0; r < rows; r++) {
    const std::span<double> row = m.view().row(r);
    for (int pass = 0; pass < 2; pass++)
      for (size_t q = 0; q < r; q++) {
        const std::span<const double> other = std::as_const(m).view().row(q);
        double product = 0;
        for (size_t i = 0; i < width; i++) product += row[i] * other[i];
        for (size_t i = 0; i < width; i++) row[i] -= product * other[i];
      }
    double squares = 0;
    for (const double e : row) squares += e * e;
    for (double& e : row) e /= std::sqrt(squares);
  }
  return m;
}

const std::vector<double>& values_of(const SideComparison& side, Measure measure) {
  return measure == Measure::rank_matched   ? side.rank_matched
         : measure == Measure::best_matched ? side.best_matched
                                            : side.subspace;
}

}  // namespace

ModelVectors model_vectors(const ImageReading& reading, const Directions& units, std::span<const GateTerms> lines,
                           CompareSpace space, size_t k) {
  assert(units.layer == reading.last() && lines.size() == reading.layers());
  ModelVectors model = strongest_vectors(unit_forms(reading.reader(units.layer), lines[units.layer], units.weights), k);
  if (space == CompareSpace::pixels) to_pixels(reading, lines, model);
  return model;
}

ModelVectors strongest_vectors(std::span<const UnitForm> forms, size_t k) {
  ModelVectors model;
  for (const UnitForm& form : forms) {
    const Spectrum& s = form.spectrum;
    const size_t up = std::min(k, count_sign(s.values, 1)), down = std::min(k, count_sign(s.values, -1));
    std::vector<double> values;
    Matrix<double> vectors(up + down, s.width());
    for (size_t i = 0; i < up + down; i++) {
      const size_t from = i < up ? i : s.count() - down + (i - up);
      values.push_back(s.values[from]);
      std::ranges::copy(s.vectors.view().row(from), vectors.view().row_ptr(i));
    }
    model.values.push_back(std::move(values));
    model.vectors.push_back(std::move(vectors));
  }
  return model;
}

ModelVectors random_vectors(const ImageReading& reading, size_t units, std::span<const GateTerms> lines,
                            CompareSpace space, size_t k, uint64_t seed) {
  ModelVectors model = random_vectors(units, reading.layer(reading.last()).width(), k, seed);
  if (space == CompareSpace::pixels) to_pixels(reading, lines, model);
  return model;
}

ModelVectors random_vectors(size_t units, size_t width, size_t k, uint64_t seed) {
  const size_t side = std::min(k, width / 2);
  ModelVectors model;
  for (size_t u = 0; u < units; u++) {
    std::vector<double> values;
    for (size_t i = 0; i < 2 * side; i++)
      values.push_back(i < side ? static_cast<double>(side - i)
                                : static_cast<double>(side) - 1 - static_cast<double>(i));
    model.values.push_back(std::move(values));
    model.vectors.push_back(random_orthonormal_rows(2 * side, width, seed, kControlStream + static_cast<uint32_t>(u)));
  }
  return model;
}

PairComparison compare_models(const LinearAlgebra& linalg, ThreadPool& pool, const ModelVectors& a,
                              const ModelVectors& b, size_t k) {
  assert(a.values.size() == b.values.size());
  PairComparison units(a.values.size());
  pool.for_tiles(units.size(), [&](size_t u, size_t) {
    units[u] = compare_units(linalg, {a.values[u], a.vectors[u]}, {b.values[u], b.vectors[u]}, k);
  });
  return units;
}

std::string_view name(Measure measure) {
  return measure == Measure::rank_matched   ? "rank_matched"
         : measure == Measure::best_matched ? "best_matched"
                                            : "subspace";
}

std::string_view name(Side side) {
  return side == Side::both ? "both" : side == Side::positive ? "positive" : "negative";
}

std::vector<Spread> by_rank(std::span<const PairComparison> pairs, Measure measure, Side side,
                            std::optional<size_t> unit) {
  std::vector<std::vector<double>> all, pair_means;
  for (const PairComparison& pair : pairs) {
    std::vector<std::vector<double>> own;
    for (size_t u = 0; u < pair.size(); u++) {
      if (unit && *unit != u) continue;
      for (const bool positive : {true, false}) {
        if (side == (positive ? Side::negative : Side::positive)) continue;
        const std::vector<double>& v = values_of(positive ? pair[u].positive : pair[u].negative, measure);
        own.resize(std::max(own.size(), v.size()));
        for (size_t r = 0; r < v.size(); r++) own[r].push_back(v[r]);
      }
    }
    all.resize(std::max(all.size(), own.size()));
    pair_means.resize(all.size());
    for (size_t r = 0; r < own.size(); r++) {
      all[r].insert(all[r].end(), own[r].begin(), own[r].end());
      pair_means[r].push_back(mean_and_sd(own[r]).mean);
    }
  }
  std::vector<Spread> out;
  for (size_t r = 0; r < all.size(); r++) {
    const MeanAndSd m = mean_and_sd(all[r]);
    out.push_back({.mean = m.mean,
                   .sd = m.sd,
                   .min = *std::min_element(all[r].begin(), all[r].end()),
                   .pair_sd = mean_and_sd(pair_means[r]).sd,
                   .n = all[r].size(),
                   .pairs = pair_means[r].size()});
  }
  return out;
}

namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

double form_trace(const Matrix<double>& m) {
  double sum = 0;
  for (size_t i = 0; i < m.rows(); i++) sum += m(i, i);
  return sum;
}

std::span<const double> all(const Matrix<double>& m) { return {m.data(), m.size()}; }

// Q from its eigenpairs, and the gradient of the form at p = 0: 2 Q offset + linear.
FunctionalForms forms_of(const LinearAlgebra& linalg, std::span<const UnitForm> units, Matrix<double> map,
                         const std::vector<double>& offset) {
  FunctionalForms out{.map = std::move(map), .q = {}, .linear = {}};
  for (const UnitForm& unit : units) {
    const Spectrum& s = unit.spectrum;
    Matrix<double> scaled(s.count(), s.width()), q(s.width(), s.width());
    for (size_t k = 0; k < s.count(); k++)
      for (size_t i = 0; i < s.width(); i++) scaled(k, i) = s.values[k] * s.vectors(k, i);
    linalg.gemm(Op::transposed, Op::plain, 1.0, s.vectors, scaled, 0.0, q);
    std::vector<double> linear(s.width());
    for (size_t i = 0; i < s.width(); i++)
      linear[i] = 2 * dot(q.view().row(i), offset) + (unit.linear.empty() ? 0 : unit.linear[i]);
    out.q.push_back(std::move(q));
    out.linear.push_back(std::move(linear));
  }
  return out;
}

// cov of unit u of a with unit u of b; g = map_a map_b'.
std::vector<double> covariances(const LinearAlgebra& linalg, const FunctionalForms& a, const FunctionalForms& b) {
  Matrix<double> g(a.map.rows(), b.map.rows());
  linalg.gemm(Op::plain, Op::transposed, 1.0, a.map, b.map, 0.0, g);
  std::vector<double> out;
  Matrix<double> left(g.rows(), g.cols()), right(g.rows(), g.cols());
  for (size_t u = 0; u < a.q.size(); u++) {
    linalg.gemm(Op::plain, Op::plain, 1.0, a.q[u], g, 0.0, left);
    linalg.gemm(Op::plain, Op::plain, 1.0, g, b.q[u], 0.0, right);
    double linear = 0;
    for (size_t i = 0; i < g.rows(); i++) linear += a.linear[u][i] * dot(g.view().row(i), b.linear[u]);
    out.push_back(2 * dot(all(left), all(right)) + linear);  // <Qa g, g Qb> = tr(Qa g Qb g')
  }
  return out;
}

double ratio(double covariance, double a, double b) { return a > 0 && b > 0 ? covariance / std::sqrt(a * b) : 0; }

}  // namespace

GaussianProduct gaussian_product(const QuadraticForm& a, const QuadraticForm& b) {
  assert(a.a.rows() == b.a.rows() && a.a.rows() == a.a.cols() && b.a.rows() == b.a.cols());
  const double linear = a.b.empty() || b.b.empty() ? 0 : dot(a.b, b.b);
  const double covariance = 2 * dot(all(a.a), all(b.a)) + linear;
  return {(form_trace(a.a) + a.c) * (form_trace(b.a) + b.c) + covariance, covariance};
}

FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units, size_t inputs) {
  assert(!units.empty());
  const size_t width = units.front().spectrum.width();
  Matrix<double> map(width, inputs);
  std::vector<double> offset(width);
  for (size_t i = 0; i < inputs; i++) map(i, i) = 1;
  if (width > inputs) offset[inputs] = 1;
  return forms_of(linalg, units, std::move(map), offset);
}

FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units, const InputMap& input) {
  assert(!units.empty() && !input.row_is_input);
  const size_t width = units.front().spectrum.width(), d = input.matrix.rows();
  Matrix<double> map(width, input.matrix.cols());
  std::vector<double> offset(width);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < map.cols(); j++) map(i, j) = static_cast<double>(input.matrix(i, j));
    if (!input.bias.empty()) offset[i] = static_cast<double>(input.bias[i]);
  }
  if (width > d) offset[d] = 1;
  return forms_of(linalg, units, std::move(map), offset);
}

FunctionalSimilarity functional_similarity(const LinearAlgebra& linalg, const FunctionalForms& a,
                                           const FunctionalForms& b) {
  assert(a.q.size() == b.q.size() && a.map.cols() == b.map.cols());
  const std::vector<double> own = covariances(linalg, a, a), other = covariances(linalg, b, b),
                            both = covariances(linalg, a, b);
  FunctionalSimilarity out;
  double sum = 0, sum_a = 0, sum_b = 0;
  for (size_t u = 0; u < both.size(); u++) {
    out.unit.push_back(ratio(both[u], own[u], other[u]));
    sum += both[u], sum_a += own[u], sum_b += other[u];
  }
  out.all = ratio(sum, sum_a, sum_b);
  return out;
}

}  // namespace glint

#include "glint/spectra/functional.h"

#include <cassert>
#include <cmath>

namespace glint {
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
std::vector<double> covariances(const LinearAlgebra& linalg, const FunctionalForms& a,
                                const FunctionalForms& b) {
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

double ratio(double covariance, double a, double b) {
  return a > 0 && b > 0 ? covariance / std::sqrt(a * b) : 0;
}

}  // namespace

GaussianProduct gaussian_product(const QuadraticForm& a, const QuadraticForm& b) {
  assert(a.a.rows() == b.a.rows() && a.a.rows() == a.a.cols() && b.a.rows() == b.a.cols());
  const double linear = a.b.empty() || b.b.empty() ? 0 : dot(a.b, b.b);
  const double covariance = 2 * dot(all(a.a), all(b.a)) + linear;
  return {(form_trace(a.a) + a.c) * (form_trace(b.a) + b.c) + covariance, covariance};
}

FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units,
                                 size_t inputs) {
  assert(!units.empty());
  const size_t width = units.front().spectrum.width();
  Matrix<double> map(width, inputs);
  std::vector<double> offset(width);
  for (size_t i = 0; i < inputs; i++) map(i, i) = 1;
  if (width > inputs) offset[inputs] = 1;
  return forms_of(linalg, units, std::move(map), offset);
}

FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units,
                                 const InputMap& input) {
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

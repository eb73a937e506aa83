#include "glint/spectra/compare.h"

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "glint/base/finite.h"

namespace glint {
namespace {

using Columns = Eigen::MatrixXd;

Matrix<double> unit_rows(ConstMatrixView<double> m) {
  Matrix<double> out(m.rows(), m.cols());
  for (size_t r = 0; r < m.rows(); r++) {
    double largest = 0, squares = 0;
    for (double e : m.row(r)) largest = std::max(largest, std::fabs(e));
    if (largest == 0) continue;
    for (double e : m.row(r)) squares += (e / largest) * (e / largest);
    for (size_t i = 0; i < m.cols(); i++) out(r, i) = m(r, i) / largest / std::sqrt(squares);
  }
  return out;
}

// An orthonormal basis of the span of the rows, as columns; dependent rows add nothing.
Columns basis_of(ConstMatrixView<double> m) {
  const Matrix<double> rows = unit_rows(m);
  const Columns a =
      Eigen::Map<const Columns>(rows.data(), static_cast<Eigen::Index>(m.cols()), static_cast<Eigen::Index>(m.rows()));
  Eigen::ColPivHouseholderQR<Columns> qr(a);
  qr.setThreshold(1e-12);
  return qr.householderQ() * Columns::Identity(a.rows(), qr.rank());
}

// Singular values, descending.
std::vector<double> singular_values(const Columns& m) {
  const Eigen::JacobiSVD<Columns> svd(m);
  return {svd.singularValues().data(), svd.singularValues().data() + svd.singularValues().size()};
}

Matrix<double> rows_of(ConstMatrixView<double> m, size_t count, bool from_the_end) {
  Matrix<double> out(count, m.cols());
  for (size_t i = 0; i < count; i++)
    std::copy_n(m.row_ptr(from_the_end ? m.rows() - 1 - i : i), m.cols(), out.view().row_ptr(i));
  return out;
}

}  // namespace

size_t count_sign(std::span<const double> values, int sign) {
  return static_cast<size_t>(std::count_if(values.begin(), values.end(), [sign](double v) { return sign * v > 0; }));
}

Matrix<double> cosines(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b) {
  assert(a.cols() == b.cols());
  Matrix<double> out(a.rows(), b.rows());
  linalg.gemm(Op::plain, Op::transposed, 1.0, unit_rows(a), unit_rows(b), 0.0, out);
  for (double& c : out.span()) c = std::clamp(c, -1.0, 1.0);
  return out;
}

Matrix<double> similarity(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b) {
  Matrix<double> out = cosines(linalg, a, b);
  for (double& c : out.span()) c = std::fabs(c);
  return out;
}

Matrix<double> row_basis(ConstMatrixView<double> m) {
  if (m.empty()) return Matrix<double>(0, m.cols());
  const Columns basis = basis_of(m);
  Matrix<double> rows(static_cast<size_t>(basis.cols()), m.cols());
  Eigen::Map<Columns>(rows.data(), basis.rows(), basis.cols()) = basis;
  return rows;
}

std::vector<uint32_t> best_matching(ConstMatrixView<double> weight) {
  const size_t n = weight.rows(), m = weight.cols();
  assert(n <= m);
  // A NaN is no nearer than anything: no column would ever be chosen.
  if (!all_finite(weight)) throw_overflow("how alike eigenvectors are");
  constexpr double kFar = std::numeric_limits<double>::infinity();
  constexpr size_t kNone = static_cast<size_t>(-1);
  // Shortest augmenting paths with potentials; cost = -weight. Column m stands for the row being placed.
  std::vector<double> row_potential(n), column_potential(m + 1);
  std::vector<size_t> row_of(m + 1, kNone), previous(m + 1);
  for (size_t row = 0; row < n; row++) {
    row_of[m] = row;
    size_t column = m;
    std::vector<double> distance(m, kFar);
    std::vector<bool> done(m + 1, false);
    while (row_of[column] != kNone) {
      done[column] = true;
      const size_t r = row_of[column];
      double step = kFar;
      size_t next = m;
      for (size_t c = 0; c < m; c++) {
        if (done[c]) continue;
        const double reduced = -weight(r, c) - row_potential[r] - column_potential[c];
        if (reduced < distance[c]) distance[c] = reduced, previous[c] = column;
        if (distance[c] < step) step = distance[c], next = c;
      }
      for (size_t c = 0; c <= m; c++)
        if (done[c]) {
          row_potential[row_of[c]] += step;
          column_potential[c] -= step;
        } else {
          distance[c] -= step;
        }
      column = next;
    }
    for (; column != m; column = previous[column]) row_of[column] = row_of[previous[column]];
  }
  std::vector<uint32_t> partner(n);
  for (size_t c = 0; c < m; c++)
    if (row_of[c] != kNone) partner[row_of[c]] = static_cast<uint32_t>(c);
  return partner;
}

std::vector<double> principal_angles(ConstMatrixView<double> a, ConstMatrixView<double> b) {
  assert(a.cols() == b.cols());
  if (a.empty() || b.empty()) return {};
  Columns qa = basis_of(a), qb = basis_of(b);
  if (qa.cols() < qb.cols()) qa.swap(qb);
  if (qb.cols() == 0) return {};
  const Columns inside = qa.transpose() * qb;
  const std::vector<double> cosines = singular_values(inside);
  std::vector<double> sines = singular_values(qb - qa * inside);
  std::reverse(sines.begin(), sines.end());
  std::vector<double> angles(cosines.size());
  for (size_t i = 0; i < angles.size(); i++)
    angles[i] = cosines[i] * cosines[i] > 0.5 ? std::asin(std::min(sines[i], 1.0))
                                              : std::acos(std::clamp(cosines[i], 0.0, 1.0));
  return angles;
}

SideComparison compare_sides(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b) {
  assert(a.rows() == b.rows());
  const size_t k = a.rows();
  const Matrix<double> cosine = similarity(linalg, a, b);
  SideComparison out;
  out.partner = best_matching(cosine);
  for (size_t i = 0; i < k; i++) {
    out.rank_matched.push_back(cosine(i, i));
    out.best_matched.push_back(cosine(i, out.partner[i]));
    const std::vector<double> angles = principal_angles(a.row_range(0, i + 1), b.row_range(0, i + 1));
    double sum = 0;
    for (double angle : angles) sum += std::cos(angle);
    out.subspace.push_back(angles.empty() ? 0 : sum / static_cast<double>(angles.size()));
  }
  return out;
}

UnitComparison compare_units(const LinearAlgebra& linalg, const VectorSet& a, const VectorSet& b, size_t k) {
  assert(a.values.size() == a.vectors.rows() && b.values.size() == b.vectors.rows());
  const size_t up = std::min({k, count_sign(a.values, 1), count_sign(b.values, 1)});
  const size_t down = std::min({k, count_sign(a.values, -1), count_sign(b.values, -1)});
  return {compare_sides(linalg, rows_of(a.vectors, up, false), rows_of(b.vectors, up, false)),
          compare_sides(linalg, rows_of(a.vectors, down, true), rows_of(b.vectors, down, true))};
}

}  // namespace glint

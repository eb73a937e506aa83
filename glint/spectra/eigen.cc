#include "glint/spectra/eigen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/finite.h"

namespace glint {
namespace {

constexpr double kSignTie = 1e-9;  // rounding must not choose between two entries of equal magnitude

void require_finite(ConstMatrixView<double> m, size_t index) {
  if (all_finite(m)) return;
  for (size_t r = 0; r < m.rows(); r++)
    for (size_t c = 0; c < m.cols(); c++)
      if (!std::isfinite(m(r, c)))
        throw Error({.code = ErrorCode::numeric,
                     .what = "a matrix to decompose holds " + std::to_string(m(r, c)),
                     .where = "matrix " + std::to_string(index) + ", row " + std::to_string(r) + ", column " +
                              std::to_string(c),
                     .expected = "finite numbers",
                     .hint = "the weights hold NaN or infinity: the training diverged or the file is damaged"});
}

double sign_of(std::span<const double> v) {
  double largest = 0;
  for (double x : v) largest = std::max(largest, std::fabs(x));
  for (double x : v)
    if (std::fabs(x) >= (1 - kSignTie) * largest) return std::signbit(x) ? -1 : 1;
  return 1;
}

// One worker's memory, kept from matrix to matrix.
struct EigenScratch {
  Matrix<double> matrix;
  std::vector<double> values;
  EighWorkspace workspace;
};

Spectrum decompose(const LinearAlgebra& linalg, EigenScratch& s, size_t index, double gap) {
  require_finite(s.matrix, index);
  s.values.resize(s.matrix.rows());
  linalg.eigh_in_place(s.matrix, s.values, s.workspace);
  if (!all_finite(s.values)) throw_overflow("the eigenvalues of matrix " + std::to_string(index));
  const double max_abs = s.values.empty() ? 0 : std::max(std::fabs(s.values.front()), std::fabs(s.values.back()));
  return canonical(s.values, s.matrix, max_abs, gap);
}

}  // namespace

Spectrum canonical(std::span<const double> values, ConstMatrixView<double> vectors, double max_abs, double gap) {
  assert(values.size() == vectors.rows());
  const size_t k = values.size();
  std::vector<uint32_t> order(k);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
  Spectrum out;
  out.values.resize(k);
  out.vectors = Matrix<double>(k, vectors.cols());
  out.groups.resize(k);
  for (size_t i = 0; i < k; i++) {
    out.values[i] = values[order[i]] + 0.0;  // no -0
    const std::span<const double> from = vectors.row(order[i]);
    const std::span<double> to = out.vectors.view().row(i);
    const double sign = sign_of(from);
    for (size_t j = 0; j < from.size(); j++) to[j] = sign * from[j] + 0.0;
    if (i > 0) out.groups[i] = out.groups[i - 1] + (out.values[i - 1] - out.values[i] > gap * max_abs ? 1 : 0);
  }
  return out;
}

Spectrum eigh(const LinearAlgebra& linalg, ConstMatrixView<double> matrix, double gap) {
  assert(matrix.rows() == matrix.cols());
  EigenScratch s;
  s.matrix = Matrix<double>(matrix.rows(), matrix.cols());
  for (size_t r = 0; r < matrix.rows(); r++) std::copy_n(matrix.row_ptr(r), matrix.cols(), s.matrix.view().row_ptr(r));
  return decompose(linalg, s, 0, gap);
}

std::vector<Spectrum> eigh_many(const LinearAlgebra& linalg, ThreadPool& pool, size_t count, size_t width,
                                const FillMatrix& fill, double gap) {
  std::vector<Spectrum> spectra(count);
  std::vector<EigenScratch> scratch(pool.size());
  pool.for_tiles(count, [&](size_t i, size_t worker) {
    EigenScratch& s = scratch[worker];
    if (s.matrix.rows() != width) s.matrix = Matrix<double>(width, width);
    fill(i, worker, s.matrix);
    spectra[i] = decompose(linalg, s, i, gap);
  });
  return spectra;
}

std::vector<uint32_t> order_by_magnitude(std::span<const double> values) {
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return std::fabs(values[a]) > std::fabs(values[b]); });
  return order;
}

BothEnds both_ends(std::span<const double> values, size_t most) {
  BothEnds out;
  for (const uint32_t k : order_by_magnitude(values)) {
    std::vector<uint32_t>& side = values[k] > 0 ? out.positive : out.negative;
    if (values[k] != 0 && side.size() < most) side.push_back(k);
  }
  return out;
}

}  // namespace glint

#include "glint/spectra/controls.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cassert>

#include "glint/base/finite.h"
#include "glint/spectra/row_tiles.h"

namespace glint {
namespace {

// Of the mean of the diagonal: enough for inputs that never vary, and too little to cost a good map anything.
constexpr double kRidge = 1e-5;
constexpr size_t kControlRows = 64;  // columns of the Gram matrix that are computed together

std::vector<double> column_means(const Matrix<double>& m) {
  std::vector<double> means(m.cols());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) means[j] += m(i, j);
  for (double& mean : means) mean /= static_cast<double>(m.rows());
  return means;
}

void subtract_from_rows(Matrix<double>& m, const std::vector<double>& row) {
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) m(i, j) -= row[j];
}

}  // namespace

LinearMap fit_linear(const LinearAlgebra& linalg, ThreadPool& pool, ConstMatrixView<float> x,
                     ConstMatrixView<double> y) {
  assert(x.rows() == y.rows());
  const size_t n = x.rows(), d = x.cols(), units = y.cols();
  LinearMap map{Matrix<double>(units, d), std::vector<double>(units)};
  if (n == 0) return map;
  Matrix<double> inputs(n, d), targets(n, units);
  for (size_t i = 0; i < n; i++) {
    std::ranges::copy(x.row(i), inputs.view().row_ptr(i));
    std::ranges::copy(y.row(i), targets.view().row_ptr(i));
  }
  const std::vector<double> input_means = column_means(inputs), target_means = column_means(targets);
  subtract_from_rows(inputs, input_means);
  subtract_from_rows(targets, target_means);
  // By rows, what is on and right of the diagonal; seen by columns, as Eigen does, that is the lower
  // triangle.
  Matrix<double> gram(d, d), moments(d, units);
  pool.for_tiles((d + kControlRows - 1) / kControlRows, [&](size_t t, size_t) {
    const size_t first = t * kControlRows, count = std::min(kControlRows, d - first);
    const ConstMatrixView<double> block = std::as_const(inputs).view().col_range(first, count);
    linalg.gemm(Op::transposed, Op::plain, 1.0, block, std::as_const(inputs).view().col_range(first, d - first), 0.0,
                gram.view().row_range(first, count).col_range(first, d - first));
    linalg.gemm(Op::transposed, Op::plain, 1.0, block, targets, 0.0, moments.view().row_range(first, count));
  });
  if (!all_finite(gram) || !all_finite(moments)) throw_overflow("the linear map of a layer's input");
  double ridge = 0;
  for (size_t j = 0; j < d; j++) ridge += kRidge * gram(j, j) / static_cast<double>(d);
  if (ridge == 0) ridge = 1;  // inputs that never vary: any ridge gives the map 0
  const auto size = static_cast<Eigen::Index>(d);
  Eigen::MatrixXd a = Eigen::Map<const Eigen::MatrixXd>(gram.data(), size, size);
  a.diagonal().array() += ridge;
  const Eigen::LLT<Eigen::MatrixXd> factor(a);
  const Eigen::MatrixXd solved =
      factor.solve(Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          moments.data(), size, static_cast<Eigen::Index>(units)));
  for (size_t u = 0; u < units; u++) {
    map.constants[u] = target_means[u];
    for (size_t j = 0; j < d; j++) {
      map.weights(u, j) = solved(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(u));
      map.constants[u] -= map.weights(u, j) * input_means[j];
    }
  }
  if (!all_finite(map.weights)) throw_overflow("the linear map of a layer's input");
  return map;
}

Matrix<double> linear_outputs(const LinearAlgebra& linalg, ThreadPool& pool, const LinearMap& map,
                              ConstMatrixView<float> x) {
  Matrix<double> out(x.rows(), map.weights.rows());
  pool.for_tiles(tiles_of(x.rows()), [&](size_t t, size_t) {
    const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
    Matrix<double> tile(rows, x.cols());
    for (size_t i = 0; i < rows; i++) {
      std::ranges::copy(x.row(first + i), tile.view().row_ptr(i));
      std::ranges::copy(map.constants, out.view().row_ptr(first + i));
    }
    linalg.gemm(Op::plain, Op::transposed, 1.0, tile, map.weights, 1.0, out.view().row_range(first, rows));
  });
  return out;
}

Fidelity linear_control(const GluModel& model, const Directions& d, const Activations& fitted,
                        const Activations& measured) {
  Matrix<double> targets = own_outputs(model, d, fitted);
  if (d.decisions)
    for (size_t i = 0; i < fitted.residual_logits.size(); i++) targets.data()[i] -= fitted.residual_logits.data()[i];
  const LinearMap map = fit_linear(model.linalg(), model.pool(), fitted.inputs, targets);
  return stand_in_fidelity(model, d, linear_outputs(model.linalg(), model.pool(), map, measured.inputs), measured);
}

}  // namespace glint

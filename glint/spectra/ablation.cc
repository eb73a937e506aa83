#include "glint/spectra/ablation.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/finite.h"
#include "glint/spectra/compare.h"

namespace glint {
namespace {

// rows - (1 - keep) (rows B') B, a few rows at a time in double.
void project(const LinearAlgebra& linalg, ConstMatrixView<double> basis, double keep, ConstMatrixView<float> from,
             MatrixView<float> to) {
  constexpr size_t kRows = 1024;
  const size_t d = from.cols();
  assert(basis.cols() == d && to.rows() == from.rows() && to.cols() == d);
  for (size_t first = 0; first < from.rows(); first += kRows) {
    const size_t rows = std::min(kRows, from.rows() - first);
    Matrix<double> wide(rows, d), along(rows, basis.rows());
    for (size_t r = 0; r < rows; r++) std::ranges::copy(from.row(first + r), wide.view().row_ptr(r));
    linalg.gemm(Op::plain, Op::transposed, 1.0, wide, basis, 0.0, along);
    linalg.gemm(Op::plain, Op::plain, -(1 - keep), along, basis, 1.0, wide);
    for (size_t r = 0; r < rows; r++)
      for (size_t i = 0; i < d; i++) to(first + r, i) = static_cast<float>(wide(r, i));
  }
}

Matrix<double> difference(Matrix<double> a, const Matrix<double>& b) {
  for (size_t i = 0; i < a.size(); i++) a.data()[i] -= b.data()[i];
  return a;
}

double column_mean(ConstMatrixView<double> m, size_t c) {
  double sum = 0;
  for (size_t r = 0; r < m.rows(); r++) sum += m(r, c);
  return sum / static_cast<double>(m.rows());
}

}  // namespace

Matrix<double> input_basis(const GluLayerView& layer, ConstMatrixView<double> vectors) {
  assert(vectors.cols() == layer.width());
  return row_basis(vectors.col_range(0, layer.inputs()));
}

Matrix<float> ablated_inputs(const LinearAlgebra& linalg, ConstMatrixView<float> x, ConstMatrixView<double> basis,
                             double keep) {
  Matrix<float> out(x.rows(), x.cols());
  if (basis.rows() > 0 && keep != 1)
    project(linalg, basis, keep, x, out);
  else
    for (size_t r = 0; r < x.rows(); r++) std::ranges::copy(x.row(r), out.view().row_ptr(r));
  return out;
}

void fold_ablation(const LinearAlgebra& linalg, ConstMatrixView<double> basis, double keep, MatrixView<float> weights) {
  if (basis.rows() > 0 && keep != 1) project(linalg, basis, keep, weights, weights);
}

OutputChanges output_changes(const GluModel& model, const Directions& d, const GateTerms& line,
                             ConstMatrixView<float> x, ConstMatrixView<float> changed) {
  const GluLayerView layer = model.layer(d.layer);
  const auto own = [&](ConstMatrixView<float> inputs) {
    return layer_outputs({model.linalg(), model.pool(), layer}, d.weights, inputs);
  };
  const auto read_as = [&](ConstMatrixView<float> inputs) {
    return form_outputs({model.linalg(), model.pool(), layer}, line, d.weights, inputs);
  };
  return {.truth = difference(own(x), own(changed)), .predicted = difference(read_as(x), read_as(changed))};
}

ChangeFit change_fit(ConstMatrixView<double> truth, ConstMatrixView<double> predicted) {
  assert(truth.rows() == predicted.rows() && truth.cols() == predicted.cols());
  double both = 0, true_squares = 0, predicted_squares = 0;
  for (size_t c = 0; c < truth.cols() && truth.rows() > 0; c++) {
    const double true_mean = column_mean(truth, c), predicted_mean = column_mean(predicted, c);
    for (size_t r = 0; r < truth.rows(); r++) {
      const double t = truth(r, c) - true_mean, p = predicted(r, c) - predicted_mean;
      both += t * p, true_squares += t * t, predicted_squares += p * p;
    }
  }
  if (!std::isfinite(both) || !std::isfinite(true_squares) || !std::isfinite(predicted_squares))
    throw_overflow("the changes of a layer's outputs");
  if (true_squares == 0 || predicted_squares == 0) return {};
  return {.correlation = both / std::sqrt(true_squares) / std::sqrt(predicted_squares),
          .slope = both / predicted_squares};
}

ChangeFit change_fit(const OutputChanges& changes, size_t direction) {
  return change_fit(changes.truth.view().col_range(direction, 1), changes.predicted.view().col_range(direction, 1));
}

}  // namespace glint

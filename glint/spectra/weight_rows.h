// A weight matrix of a layer that is read: floats in memory, or numbers as a file stores them, with the
// factors that norms give to its rows or columns. A few rows at a time become floats; the whole never does.
#pragma once

#include <span>

#include "glint/model/stored_product.h"

namespace glint {

class WeightRows {
 public:
  WeightRows() = default;
  WeightRows(ConstMatrixView<float> floats) : floats_(floats), rows_(floats.rows()), cols_(floats.cols()) {}
  WeightRows(MatrixView<float> floats) : WeightRows(ConstMatrixView<float>(floats)) {}
  WeightRows(const Matrix<float>& floats) : WeightRows(floats.view()) {}
  // diag(of_rows) W diag(of_columns); empty factors are 1. Keeps references.
  WeightRows(const StoredMatrix& stored, const Kernels& kernels, std::span<const float> of_rows,
             std::span<const float> of_columns);

  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }
  WeightRows row_range(size_t first, size_t count) const;

  // Some rows without the factors: in place where they are floats, else in `buffer`, which grows.
  ConstMatrixView<float> plain(Range rows, Matrix<float>& buffer) const;
  std::span<const float> row_factors() const { return of_rows_; }        // [rows], or empty
  std::span<const float> column_factors() const { return of_columns_; }  // [cols], or empty
  // Some rows with them, rounded to float: in place where they are floats without factors.
  ConstMatrixView<float> floats(Range rows, Matrix<float>& buffer) const;
  // Some columns of a row, as floats() has them.
  void columns(size_t row, size_t first, std::span<float> out) const;
  // Rows from `first` on with them, exact, into the first columns of out.
  void widen(size_t first, MatrixView<double> out, Matrix<float>& buffer) const;

 private:
  ConstMatrixView<float> floats_;  // empty when they are stored in another way
  const StoredMatrix* stored_ = nullptr;
  const Kernels* kernels_ = nullptr;
  size_t first_ = 0, rows_ = 0, cols_ = 0;
  std::span<const float> of_rows_, of_columns_;
};

}  // namespace glint

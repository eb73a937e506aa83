#include "glint/spectra/weight_rows.h"

namespace glint {
namespace {

MatrixView<float> room_in(Matrix<float>& buffer, size_t rows, size_t cols) {
  if (buffer.size() < rows * cols) buffer = Matrix<float>(1, rows * cols);
  return {buffer.data(), rows, cols};
}

}  // namespace

WeightRows::WeightRows(const StoredMatrix& stored, const Kernels& kernels, std::span<const float> of_rows,
                       std::span<const float> of_columns)
    : floats_(float_view(stored)),
      stored_(&stored),
      kernels_(&kernels),
      rows_(stored.rows),
      cols_(stored.cols),
      of_rows_(of_rows),
      of_columns_(of_columns) {
  assert(of_rows.empty() || of_rows.size() == rows_);
  assert(of_columns.empty() || of_columns.size() == cols_);
}

WeightRows WeightRows::row_range(size_t first, size_t count) const {
  assert(first + count <= rows_);
  WeightRows out = *this;
  if (!floats_.empty()) out.floats_ = floats_.row_range(first, count);
  out.first_ = first_ + first, out.rows_ = count;
  if (!of_rows_.empty()) out.of_rows_ = of_rows_.subspan(first, count);
  return out;
}

ConstMatrixView<float> WeightRows::plain(Range rows, Matrix<float>& buffer) const {
  assert(rows.first + rows.count <= rows_);
  if (!floats_.empty() || rows.count == 0) return floats_.row_range(rows.first, rows.count);
  const MatrixView<float> out = room_in(buffer, rows.count, cols_);
  widen_rows(*stored_, first_ + rows.first, out, *kernels_);
  return out;
}

ConstMatrixView<float> WeightRows::floats(Range rows, Matrix<float>& buffer) const {
  const ConstMatrixView<float> from = plain(rows, buffer);
  if (of_rows_.empty() && of_columns_.empty()) return from;
  const MatrixView<float> out = room_in(buffer, rows.count, cols_);  // plain() left it large enough, or in place
  for (size_t r = 0; r < rows.count; r++) {
    const float factor = of_rows_.empty() ? 1.0f : of_rows_[rows.first + r];
    for (size_t j = 0; j < cols_; j++)
      out(r, j) = factor * (of_columns_.empty() ? from(r, j) : from(r, j) * of_columns_[j]);
  }
  return out;
}

void WeightRows::columns(size_t row, size_t first, std::span<float> out) const {
  assert(row < rows_ && first + out.size() <= cols_);
  if (!floats_.empty())
    std::copy_n(floats_.row_ptr(row) + first, out.size(), out.data());
  else
    glint::widen(*stored_->tensor, (stored_->first + first_ + row) * cols_ + first, out);
  const float factor = of_rows_.empty() ? 1.0f : of_rows_[row];
  for (size_t j = 0; j < out.size(); j++)
    out[j] = factor * (of_columns_.empty() ? out[j] : out[j] * of_columns_[first + j]);
}

void WeightRows::widen(size_t first, MatrixView<double> out, Matrix<float>& buffer) const {
  const ConstMatrixView<float> from = plain({first, out.rows()}, buffer);
  for (size_t r = 0; r < out.rows(); r++) {
    std::copy_n(from.row_ptr(r), cols_, out.row_ptr(r));
    for (size_t j = 0; j < of_columns_.size(); j++) out(r, j) *= of_columns_[j];
    for (size_t j = 0; j < cols_ && !of_rows_.empty(); j++) out(r, j) *= of_rows_[first + r];
  }
}

}  // namespace glint

// Row-major matrices: views that do not own, and a 64-byte aligned matrix that does.
// A view is (data, rows, cols, stride); stride >= cols counts elements between rows.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "glint/base/error.h"

namespace glint {

inline constexpr size_t kLineFloats = 16;  // of a cache line
// A row length, in floats, that is an odd number of cache lines: rows then spread over all sets of a cache,
// where a power of two would put them into a few.
constexpr size_t padded_stride(size_t cols) {
  const size_t lines = (cols + kLineFloats - 1) / kLineFloats;
  return (lines % 2 == 0 ? lines + 1 : lines) * kLineFloats;
}

inline constexpr size_t kAlignment = 64;  // a cache line, and the widest vector register

template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, size_t rows, size_t cols, size_t stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {
    assert(stride >= cols);
  }
  MatrixView(T* data, size_t rows, size_t cols) : MatrixView(data, rows, cols, cols) {}
  // A view of mutable elements is a view of const ones.
  template <class U>
  requires(std::is_same_v<const U, T>) MatrixView(const MatrixView<U>& other)
      : MatrixView(other.data(), other.rows(), other.cols(), other.stride()) {}

  T* data() const { return data_; }
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  size_t stride() const { return stride_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }
  T& operator()(size_t r, size_t c) const {
    assert(r < rows_ && c < cols_);
    return data_[r * stride_ + c];
  }
  T* row_ptr(size_t r) const { return data_ + r * stride_; }
  std::span<T> row(size_t r) const {
    assert(r < rows_);
    return {data_ + r * stride_, cols_};
  }
  MatrixView row_range(size_t first, size_t count) const {
    assert(first + count <= rows_);
    return {data_ + first * stride_, count, cols_, stride_};
  }
  MatrixView col_range(size_t first, size_t count) const {
    assert(first + count <= cols_);
    return {data_ + first, rows_, count, stride_};
  }

 private:
  T* data_ = nullptr;
  size_t rows_ = 0, cols_ = 0, stride_ = 0;
};

template <class T>
using ConstMatrixView = MatrixView<const T>;

// rows * cols * sizeof(T), or an Error when that does not fit.
constexpr size_t checked_bytes(size_t rows, size_t cols, size_t element) {
  size_t count = 0, bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &count) || __builtin_mul_overflow(count, element, &bytes) ||
      bytes > (size_t{1} << 46))
    throw Error({.what = "matrix of " + std::to_string(rows) + " x " + std::to_string(cols) + " is too large"});
  return bytes;
}

// The Error (failure) of an allocation that the system refused.
[[noreturn]] inline void throw_no_memory(size_t bytes) {
  throw Error({.what = "cannot get " + std::to_string((bytes >> 20) + 1) + " MiB of memory",
               .hint = "a smaller batch or a narrower model"});
}

// Owning, zero-initialised, contiguous (stride == cols), 64-byte aligned.
template <class T>
class Matrix {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Matrix() = default;
  Matrix(size_t rows, size_t cols) : rows_(rows), cols_(cols) {
    const size_t bytes = checked_bytes(rows, cols, sizeof(T));
    if (bytes == 0) return;
    data_ = static_cast<T*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
    if (!data_) throw_no_memory(bytes);
    std::fill_n(data_, rows * cols, T{});
  }
  Matrix(const Matrix& other) : Matrix(other.rows_, other.cols_) { std::copy_n(other.data_, size(), data_); }
  Matrix(Matrix&& other) noexcept { swap(other); }
  Matrix& operator=(Matrix other) noexcept {
    swap(other);
    return *this;
  }
  ~Matrix() { std::free(data_); }

  void swap(Matrix& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }
  size_t size() const { return rows_ * cols_; }
  T& operator()(size_t r, size_t c) { return view()(r, c); }
  const T& operator()(size_t r, size_t c) const { return view()(r, c); }
  MatrixView<T> view() { return {data_, rows_, cols_}; }
  ConstMatrixView<T> view() const { return {data_, rows_, cols_}; }
  std::span<T> span() { return {data_, size()}; }
  std::span<const T> span() const { return {data_, size()}; }
  operator MatrixView<T>() { return view(); }
  operator ConstMatrixView<T>() const { return view(); }

 private:
  T* data_ = nullptr;
  size_t rows_ = 0, cols_ = 0;
};

}  // namespace glint

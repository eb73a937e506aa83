// Arrays of Python as views, and glint's memory as NumPy arrays. Everything about an array is checked here
// before a loop sees it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

#include "glint/base/matrix.h"

namespace glint::python {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;  // NumPy, or anything with DLPack
using OutArray = nb::ndarray<nb::device::cpu>;          // that is written to

template <class T>
bool holds(const auto& array) {
  return array.dtype() == nb::dtype<T>();
}

std::string shape_text(const AnyArray& array);
std::vector<size_t> shape_of(const AnyArray& array);

// How the elements of an array lie: rows of `cols` neighbours, `stride` elements from row to row. Leading
// axes are one where their strides allow it. `good` is false where they do not; NumPy makes a copy then.
struct Rows {
  size_t rows = 0, cols = 0, stride = 0;
  bool good = false;
};
Rows rows_of(const AnyArray& array);

// A view of an array of one or more axes: [product of the leading axes, last axis].
template <class T>
ConstMatrixView<T> view_of(const AnyArray& array, const Rows& rows) {
  return {static_cast<const T*>(array.data()), rows.rows, rows.cols, rows.stride};
}
template <class T>
MatrixView<T> view_of(OutArray& array, const Rows& rows) {
  return {static_cast<T*>(array.data()), rows.rows, rows.cols, rows.stride};
}

// A NumPy array that owns new memory of glint.
template <class T>
nb::object owned_array(T* data, const std::vector<size_t>& shape, void (*release)(void*) noexcept) {
  nb::capsule owner(data, release);
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
}

// Uninitialised, 64-byte aligned.
template <class T>
struct NewArray {
  T* data;
  nb::object array;
};
void* array_memory(size_t elements, size_t element);
void release_memory(void* memory) noexcept;
template <class T>
NewArray<T> new_array(const std::vector<size_t>& shape) {
  size_t count = 1;
  for (const size_t n : shape) count *= n;
  T* data = static_cast<T*>(array_memory(count, sizeof(T)));
  return {data, owned_array<T>(data, shape, release_memory)};
}

// The memory of a Matrix, moved into the array.
template <class T>
nb::object to_numpy(Matrix<T>&& matrix) {
  auto* kept = new Matrix<T>(std::move(matrix));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Matrix<T>*>(p); });
  const size_t shape[2] = {kept->rows(), kept->cols()};
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), 2, shape, owner));
}
template <class T>
nb::object to_numpy(std::vector<T>&& values, std::vector<size_t> shape = {}) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {kept->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

// Whether the bytes of two arrays overlap.
bool overlap(const AnyArray& a, const AnyArray& b);

}  // namespace glint::python

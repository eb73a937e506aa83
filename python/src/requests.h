// A request of the library from a Python dict: each of its fields by name (io/fields.h); data sets that are in memory;
// and results as JSON text, which Python's own reader turns into dicts.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "arrays.h"
#include "errors.h"
#include "glint/data/dataset.h"
#include "glint/io/fields.h"
#include "glint/lab/models/run.h"

namespace glint::python {

namespace nb = nanobind;

inline std::string json_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A data set of the library as a Python object, and the set of one; null for None.
struct DataBox {
  std::shared_ptr<const Dataset> data;
};
std::shared_ptr<const Dataset> images_of(nb::handle object);

// Text of Python as UTF-8; Error (usage) for what is no text or has a null character.
std::string text_of(nb::handle object, const std::string& name);
// Numbers, texts, lists of them and what NumPy has of these. Error (usage) that names the parameter.
Json json_of(nb::handle object, const std::string& name);
nb::dict dict_of(nb::handle values);  // a copy
// Of a dict, its values by name.
void set_from(std::vector<Field> fields, const nb::dict& values);
// An array of two axes.
template <class T>
Matrix<T> matrix_of(const AnyArray& array, const char* name) {
  const Rows rows = rows_of(array);
  if (array.ndim() != 2 || !holds<T>(array) || !rows.good)
    refuse(name, "not a matrix", sizeof(T) == 1 ? "[height, width] of bytes" : "[vectors, width] of float64");
  const ConstMatrixView<T> view = view_of<T>(array, rows);
  Matrix<T> out(view.rows(), view.cols());
  for (size_t i = 0; i < view.rows(); i++) std::ranges::copy(view.row(i), out.view().row_ptr(i));
  return out;
}
// A value of a dict, taken out of it; `target` stays as it is when it is not there.
void take(nb::dict& values, const char* name, std::string& target);
template <class T>
void take(nb::dict& values, const char* name, Matrix<T>& target) {
  if (!values.contains(name)) return;
  AnyArray array;
  if (!nb::try_cast<AnyArray>(values[name], array)) refuse(name, "not an array", "numbers");
  target = matrix_of<T>(array, name);
  nb::del(values[name]);
}

// What is None or not there stays as it is in a request of this source. Arrays and a text in memory are taken
// as they are.
template <class Request>
Request request_of(nb::handle values, RunSource source = {}, nb::handle data = nb::none()) {
  Request request;
  nb::dict rest = dict_of(values);
  if (!data.is_none()) source.images = images_of(data), source.data.clear();
  if (rest.contains("data") && !rest["data"].is_none()) source.images = nullptr;
  request.source = std::move(source);
  if constexpr (requires { request.figures; }) request.figures = false;
  if constexpr (requires { request.vectors; }) take(rest, "vectors", request.vectors);
  if constexpr (requires { request.picture; }) take(rest, "picture", request.picture);
  if constexpr (requires { request.words; }) take(rest, "words", request.words);
  if constexpr (requires { request.along; }) {
    Matrix<double> vector;
    take(rest, "vector", vector);
    if (vector.size() > 0) request.along.vectors.push_back({"vector", {vector.data(), vector.data() + vector.size()}});
  }
  set_from(fields_of(request), rest);
  if constexpr (requires { request.spectra; }) request.spectra = request.figures;
  return request;
}

}  // namespace glint::python

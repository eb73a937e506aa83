// Data sets: from arrays, and those that glint knows.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "call.h"
#include "errors.h"
#include "glint/data/arrays.h"
#include "glint/lab/work/data_sets.h"
#include "glint/lab/work/tokenize.h"
#include "requests.h"

namespace glint::python {
namespace {

template <class T>
ConstMatrixView<T> matrix_of(const AnyArray& array, const char* name) {
  const Rows rows = rows_of(array);
  if (array.ndim() != 2 || !rows.good || !holds<T>(array)) refuse(name, "not a matrix", "[samples, numbers]");
  return view_of<T>(array, rows);
}

std::span<const uint32_t> labels_span(const AnyArray& array, const char* name) {
  const Rows rows = rows_of(array);
  if (array.ndim() != 1 || !rows.good || !holds<uint32_t>(array)) refuse(name, "not a list of labels", "[samples]");
  return {static_cast<const uint32_t*>(array.data()), array.shape(0)};
}

DataBox make_data(const AnyArray& train, const AnyArray& train_labels, const AnyArray& test,
                  const AnyArray& test_labels, nb::handle options) {
  ArrayOptions about;
  set_from({Field("name", about.name, ""), Field("height", about.height, ""), Field("width", about.width, ""),
            Field("classes", about.classes, ""), Field("class_names", about.class_names, "")},
           dict_of(options));
  const std::span<const uint32_t> y = labels_span(train_labels, "y"), test_y = labels_span(test_labels, "test");
  if (holds<uint8_t>(train)) {
    const Samples<uint8_t> first{matrix_of<uint8_t>(train, "X"), y};
    const Samples<uint8_t> second{matrix_of<uint8_t>(test, "test"), test_y};
    nb::gil_scoped_release release;
    return {std::make_shared<Dataset>(make_dataset(first, second, about))};
  }
  const Samples<float> first{matrix_of<float>(train, "X"), y};
  const Samples<float> second{matrix_of<float>(test, "test"), test_y};
  nb::gil_scoped_release release;
  return {std::make_shared<Dataset>(make_dataset(first, second, about))};
}

// The samples of a set as an array over its own memory.
template <class T>
nb::object array_over(nb::handle self, const ImageSet& set, const Matrix<T>& values) {
  std::vector<size_t> shape = {values.rows(), values.cols()};
  if (set.pictures()) shape = {values.rows(), set.height, set.width};
  return nb::cast(nb::ndarray<nb::numpy, const T>(values.data(), shape.size(), shape.data(), self));
}

nb::object samples(nb::handle self, const ImageSet& set) {
  return set.floats() ? array_over(self, set, set.values) : array_over(self, set, set.pixels);
}

nb::object labels(nb::handle self, const ImageSet& set) {
  const size_t shape[1] = {set.labels.size()};
  return nb::cast(nb::ndarray<nb::numpy, const uint32_t>(set.labels.data(), 1, shape, self));
}

const Dataset& set_of(nb::handle self) { return *nb::cast<const DataBox&>(self).data; }

}  // namespace

std::shared_ptr<const Dataset> images_of(nb::handle object) {
  if (object.is_none()) return nullptr;
  if (!nb::isinstance<DataBox>(object)) refuse("data", "not a data set", "glint.Images or glint.Vectors");
  return nb::cast<const DataBox&>(object).data;
}

void bind_data(nb::module_& m) {
  nb::class_<DataBox>(m, "Data", "Labelled samples in memory.")
      .def_prop_ro("name", [](const DataBox& d) { return d.data->name; })
      .def_prop_ro("checksum", [](const DataBox& d) { return d.data->checksum; })
      .def_prop_ro("height", [](const DataBox& d) { return d.data->train.height; })
      .def_prop_ro("width", [](const DataBox& d) { return d.data->train.width; })
      .def_prop_ro("class_names", [](const DataBox& d) { return d.data->class_names; })
      .def_prop_ro("X", [](nb::handle self) { return samples(self, set_of(self).train); })
      .def_prop_ro("y", [](nb::handle self) { return labels(self, set_of(self).train); })
      .def_prop_ro("test_X", [](nb::handle self) { return samples(self, set_of(self).test); })
      .def_prop_ro("test_y", [](nb::handle self) { return labels(self, set_of(self).test); });
  m.def("data_words", &data_words);
  m.def("make_data", &make_data, nb::arg("train"), nb::arg("train_labels"), nb::arg("test"), nb::arg("test_labels"),
        nb::arg("options"));
  m.def(
      "load_data",
      [](const std::string& name, const std::string& data_dir, nb::handle talk) {
        Call call(talk);
        return call.run([&] {
          DataOptions options;
          options.paths = data_paths_from_environment(data_dir);
          options.pool = &call.engine().pool();
          return DataBox{std::make_shared<Dataset>(load_dataset(name, options))};
        });
      },
      nb::arg("name"), nb::arg("data_dir"), nb::arg("talk").none());
  m.def(
      "describe_data",
      [](nb::handle values, nb::handle talk) {
        DataRequest request;
        set_from({Field("name", request.name, ""), Field("data_dir", request.data_dir, "")}, dict_of(values));
        Call call(talk);
        return json_text(to_json(call.run([&] { return describe_data(call.engine(), request); })));
      },
      nb::arg("fields"), nb::arg("talk").none());
  m.def(
      "tokenize",
      [](nb::handle values, nb::handle talk) {
        CorpusBuild request;
        set_from({Field("texts", request.texts, ""), Field("valid_texts", request.valid_texts, ""),
                  Field("valid_share", request.valid_share, ""), Field("out", request.out, ""),
                  Field("tokenizer", request.tokenizer, ""), Field("vocab", request.training.vocab, ""),
                  Field("seed", request.seed, ""), Field("force", request.force, "")},
                 dict_of(values));
        Call call(talk);
        return json_text(to_json(call.run([&] { return tokenize(call.engine(), request); })));
      },
      nb::arg("fields"), nb::arg("talk").none());
}

}  // namespace glint::python

// Models of other programs, and what of glint's own language models is read in the same way: what a model is,
// its weights by name, the arrays of a layer, its neurons.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "errors.h"
#include "glint/io/weight_file.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/import.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/model_info.h"
#include "glint/lab/read/read_directions.h"
#include "open_run.h"
#include "requests.h"

namespace glint::python {
namespace {

std::string model_json(nb::handle values, nb::handle talk) {
  ModelInfoRequest request;
  set_from({Field("path", request.path, ""), Field("tokenizer", request.tokenizer, "")}, dict_of(values));
  Call call(talk);
  return json_text(to_json(call.run([&] { return model_info(call.engine(), request); })));
}

// (name, shape, type) of every tensor that glint reads, by name.
nb::list tensors_of(const WeightFile& file) {
  nb::list all;
  for (const StoredTensor& t : file.tensors()) all.append(nb::make_tuple(t.name, t.shape, std::string(name(t.type))));
  return all;
}

// Widened to float32, whatever the file has.
nb::object tensor_of(const WeightFile& file, const std::string& tensor_name) {
  const StoredTensor& tensor = file.at(tensor_name);
  NewArray<float> out = new_array<float>(tensor.shape);
  const std::span<float> values(out.data, tensor.values());
  {
    nb::gil_scoped_release release;
    widen(tensor, 0, values);
  }
  return out.array;
}

// Of a run of glint its arrays by name, read-only, where they lie; of another program's model its file.
nb::object weights_of(OpenRun& run) {
  const std::shared_ptr<Run> kept = run.share();
  const bool language = kept->kind() == ModelKind::language;
  if (language && kept->language().foreign()) return nb::cast(kept->language().model().file());
  const ParamTable table = language ? transformer_params(kept->language().own().config).table
                                    : classifier_params(kept->image().model().config).table;
  const std::span<const float> floats =
      language ? kept->language().own().weights.span() : kept->image().model().weights.span();
  const nb::capsule owner(new std::shared_ptr<Run>(kept),
                          [](void* p) noexcept { delete static_cast<std::shared_ptr<Run>*>(p); });
  nb::dict arrays;
  for (const ParamSpec& spec : table.specs()) {
    std::vector<size_t> shape = {spec.rows, spec.cols};
    if (spec.vector) shape = {spec.cols};
    arrays[spec.name.c_str()] =
        nb::cast(nb::ndarray<nb::numpy, const float>(floats.data() + spec.offset, shape.size(), shape.data(), owner));
  }
  return arrays;
}

// The GLU of a layer as it is read: with the weights of the norm before it folded in.
struct OwnLayer {
  size_t number = 0;
  Matrix<float> left, right, projection;
  std::vector<float> bias_left, bias_right;
  Gate gate;
  bool normed = false;
};

OwnLayer own_layer(const Run& run, std::optional<size_t> asked) {
  const size_t index = asked_layer(run.reading(), asked);
  const GluLayerView layer = run.reading().layer(index);
  const auto copy = [](const WeightRows& weights) {
    Matrix<float> out(weights.rows(), weights.cols()), buffer;
    constexpr size_t kAtOnce = 256;
    for (size_t first = 0; first < weights.rows(); first += kAtOnce) {
      const ConstMatrixView<float> some = weights.floats({first, std::min(kAtOnce, weights.rows() - first)}, buffer);
      for (size_t i = 0; i < some.rows(); i++) std::ranges::copy(some.row(i), out.view().row_ptr(first + i));
    }
    return out;
  };
  return {.number = index + 1,
          .left = copy(layer.left),
          .right = copy(layer.right),
          .projection = copy(run.reading().projection(index)),
          .bias_left = {layer.bias_left.begin(), layer.bias_left.end()},
          .bias_right = {layer.bias_right.begin(), layer.bias_right.end()},
          .gate = layer.gate,
          .normed = layer.normed};
}

template <class Values>
nb::object array_or_none(Values&& values) {
  return values.size() == 0 ? nb::none() : to_numpy(std::move(values));
}

nb::dict layer_dict(OpenRun& run, nb::handle values, nb::handle talk) {
  RunSource source = run.source();
  std::optional<size_t> asked;
  set_from({Field("layer", asked, ""), Field("expert", source.expert, "")}, dict_of(values));
  OwnLayer layer = run.call(talk, source, [&](const Engine&, Run& of) { return own_layer(of, asked); });
  nb::dict out;
  out["number"] = layer.number;
  out["L"] = to_numpy(std::move(layer.left));
  out["R"] = to_numpy(std::move(layer.right));
  out["P"] = array_or_none(std::move(layer.projection));
  out["bias_left"] = array_or_none(std::move(layer.bias_left));
  out["bias_right"] = array_or_none(std::move(layer.bias_right));
  out["norm"] = layer.normed;
  out["gate"] = layer.gate;
  return out;
}

std::string import_json(nb::handle values, const Gate& gate, nb::handle talk) {
  ImportRequest request;
  request.gate = gate_info(gate.kind).text.name, request.gate_params = gate.params;
  set_from(
      {Field("weights", request.weights, ""), Field("height", request.height, ""), Field("width", request.width, ""),
       Field("residual", request.residual, ""), Field("rms_norm", request.rms_norm, ""),
       Field("data", request.data, ""), Field("classes", request.class_names, ""), Field("out", request.out, "")},
      dict_of(values));
  Call call(talk);
  return json_text(to_json(call.run([&] { return import_classifier(call.engine(), request); })));
}

}  // namespace

void bind_models(nb::module_& m, nb::class_<OpenRun>& run) {
  m.def("model", &model_json, nb::arg("fields"), nb::arg("talk").none());
  m.def("import_model", &import_json, nb::arg("fields"), nb::arg("gate"), nb::arg("talk").none());
  run.def("layer", &layer_dict, nb::arg("fields"), nb::arg("talk").none()).def("weights", &weights_of);
  nb::class_<WeightFile>(m, "Weights").def("tensors", &tensors_of).def("read", &tensor_of, nb::arg("name"));
  m.def(
      "open_weights",
      [](const std::string& path) {
        nb::gil_scoped_release release;
        return open_weights(path);
      },
      nb::arg("path"));
}

}  // namespace glint::python

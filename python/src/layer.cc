// One layer from arrays: glint.GLU.
#include "glint/lab/read/layer.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bind.h"
#include "call.h"
#include "errors.h"
#include "figures.h"
#include "glint/report/spectrum_figure.h"
#include "requests.h"

namespace glint::python {
namespace {

// Arrays that stay alive as long as the views of them.
class LayerHolder {
 public:
  explicit LayerHolder(nb::handle values) : values_(dict_of(values)) {
    layer_.left = floats("L", 2), layer_.right = floats("R", 2);
    layer_.projection = floats("P", 2);
    layer_.bias_left = numbers("bias_left"), layer_.bias_right = numbers("bias_right");
    layer_.norm_weights = numbers("norm_weights"), layer_.norm_bias = numbers("norm_bias");
    const nb::object gate = taken("gate");
    if (!nb::isinstance<Gate>(gate)) refuse("gate", "not a gate", "glint.gate(...)");
    layer_.gate = nb::cast<Gate>(gate);
  }
  const LayerArrays& layer() const { return layer_; }
  ConstMatrixView<float> floats(const char* name, size_t axes) { return matrix<float>(name, axes); }
  // Samples for the layer itself, of which there may be none.
  ConstMatrixView<float> samples(const char* name) { return matrix<float>(name, 2, true); }
  ConstMatrixView<double> doubles(const char* name) { return matrix<double>(name, 2); }
  // What is no array, when all of those were taken.
  void set_rest(std::vector<Field> fields) {
    set_from(join(std::move(fields), {Field("norm", layer_.norm, ""), Field("norm_centred", layer_.norm_centred, ""),
                                      Field("eps", layer_.norm_eps, "")}),
             values_);
  }
  std::vector<double> reals(const char* name) {
    const ConstMatrixView<double> m = matrix<double>(name, 1);
    return m.rows() == 0 ? std::vector<double>() : std::vector<double>(m.row(0).begin(), m.row(0).end());
  }

 private:
  template <class T>
  ConstMatrixView<T> matrix(const char* name, size_t axes, bool may_be_empty = false) {
    const nb::object value = taken(name);
    if (value.is_none()) return {};
    AnyArray array;
    if (!nb::try_cast<AnyArray>(value, array) || array.ndim() != axes || !holds<T>(array))
      refuse(name, "not an array of " + std::to_string(axes) + " axes", sizeof(T) == 4 ? "float32" : "float64");
    const Rows rows = rows_of(array);
    if (!rows.good) refuse(name, "its elements do not lie side by side", "rows of neighbours");
    if (array.size() == 0 && !may_be_empty) refuse(name, "an array without numbers", "numbers, or None");
    kept_.push_back(array);
    return view_of<T>(array, rows);
  }
  std::span<const float> numbers(const char* name) {
    const ConstMatrixView<float> m = floats(name, 1);
    return m.empty() ? std::span<const float>() : m.row(0);
  }

  nb::object taken(const char* name) {
    if (!values_.contains(name)) return nb::none();
    nb::object value = values_[name];
    nb::del(values_[name]);
    return value;
  }

  nb::dict values_;
  LayerArrays layer_;
  std::vector<AnyArray> kept_;
};

nb::dict line_dict(GateTerms&& line) {
  nb::dict out;
  for (const TermList& list : kTermLists) out[list.name] = to_numpy(std::move(line.*list.values));
  out["slope"] = to_numpy(std::move(line.slope));
  out["power"] = line.power;
  out["size"] = line.size;
  return out;
}

nb::tuple read_arrays(nb::handle values, nb::handle talk) {
  LayerHolder held(values);
  LayerReadRequest request;
  request.directions = held.doubles("out");
  request.inputs = held.floats("inputs", 2);
  held.set_rest(
      {Field("names", request.names, ""), Field("form", request.form, ""), Field("k", request.strongest, "")});
  Call call(talk);
  LayerReading result = call.run([&] { return read_layer(call.engine(), held.layer(), request); });
  std::string text = json_text(to_json(result));
  nb::list units, figures;
  for (size_t u = 0; u < result.units.size(); u++) {
    UnitForm& unit = result.units[u];
    const Figure figure = spectrum_figure({.title = result.names[u] + ": " + name(result.form) + " form",
                                           .values = unit.spectrum.values,
                                           .groups = unit.spectrum.groups,
                                           .size = {},
                                           .positive = {},
                                           .negative = {}});
    figures.append(figure_tuple("spectrum", figure));
    nb::dict d;
    d["name"] = result.names[u];
    d["constant"] = unit.constant;
    d["values"] = to_numpy(std::move(unit.spectrum.values));
    d["vectors"] = to_numpy(std::move(unit.spectrum.vectors));
    d["groups"] = to_numpy(std::move(unit.spectrum.groups));
    d["linear"] = to_numpy(std::move(unit.linear));
    units.append(d);
  }
  return nb::make_tuple(std::move(text), units, figures, line_dict(std::move(result.line)));
}

nb::object layer_outputs_of(nb::handle values, nb::handle talk) {
  LayerHolder held(values);
  const ConstMatrixView<float> inputs = held.samples("inputs");
  held.set_rest({});
  Call call(talk);
  return to_numpy(call.run([&] { return layer_values(call.engine(), held.layer(), inputs); }));
}

nb::object form_outputs_of(nb::handle values, nb::handle talk) {
  LayerHolder held(values);
  const ConstMatrixView<float> inputs = held.samples("inputs");
  const ConstMatrixView<double> directions = held.doubles("out");
  GateTerms line;
  const size_t h = held.layer().left.rows();
  const auto reals = [&](const char* name, std::vector<double>& numbers, bool needed) {
    numbers = held.reals(name);
    if ((needed || !numbers.empty()) && numbers.size() != h) refuse(name, "another number of units", std::to_string(h));
  };
  for (const TermList& list : kTermLists) reals(list.name, line.*list.values, list.values == &GateTerms::gain);
  reals("slope", line.slope, false);
  held.set_rest({Field("power", line.power, ""), Field("size", line.size, "")});
  Call call(talk);
  return to_numpy(call.run([&] { return form_values(call.engine(), held.layer(), directions, line, inputs); }));
}

}  // namespace

void bind_layer(nb::module_& m) {
  m.def(
      "check_layer",
      [](nb::handle values) {
        LayerHolder held(values);
        held.set_rest({});
        check_shapes(held.layer());
      },
      nb::arg("fields"));
  m.def("read_layer", &read_arrays, nb::arg("fields"), nb::arg("talk").none());
  m.def("layer_values", &layer_outputs_of, nb::arg("fields"), nb::arg("talk").none());
  m.def("form_values", &form_outputs_of, nb::arg("fields"), nb::arg("talk").none());
}

}  // namespace glint::python

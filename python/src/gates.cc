// Gates over arrays: glint.gate(...).
#include "glint/kernels/gates.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <optional>

#include "arrays.h"
#include "bind.h"
#include "engines.h"
#include "errors.h"
#include "glint/nn/gate_arrays.h"

namespace glint::python {
namespace {

// Below this many elements the work takes less time than letting other Python threads run.
constexpr size_t kWorthReleasing = 2048;

// Calls work(workers) without the GIL; there is no pool for short arrays, nor for a single thread. `threads`
// is the most that may work, 0: glint.threads.
template <class Work>
void run_gate(size_t elements, size_t threads, const Work& work) {
  if (elements < kWorthReleasing) return work(Workers{});
  if (elements < kLongArray || threads == 1) {
    nb::gil_scoped_release release;
    return work(Workers{});
  }
  const EngineLease lease;
  nb::gil_scoped_release release;
  work(Workers{&lease.box().engine->pool(), threads});
}

size_t elements_of(const AnyArray& array) {
  size_t count = 1;
  for (size_t i = 0; i < array.ndim(); i++) count *= array.shape(i);
  return count;
}

// An array of float32 or float64 whose elements lie in rows: as it is where it is one, otherwise a copy that
// NumPy makes. Integers and half floats become float64.
struct Input {
  AnyArray array;
  Rows rows;
  bool single = false;  // float32
  template <class T>
  ConstMatrixView<T> view() const {
    return view_of<T>(array, rows);
  }
};

// work<float>(kernels), or work<double>(), whose loops need none.
template <class Work>
void with_numbers(bool single, const Work& work) {
  if (single)
    work.template operator()<float>(best_kernels());
  else
    work.template operator()<double>();
}

bool take(nb::handle object, Input& input) {
  if (!nb::try_cast<AnyArray>(object, input.array)) return false;
  input.single = holds<float>(input.array);
  if (!input.single && !holds<double>(input.array)) return false;
  input.rows = rows_of(input.array);
  return input.rows.good;
}

Input input_of(nb::handle object, const char* name) {
  Input input;
  if (take(object, input)) return input;
  const nb::object copy = nb::module_::import_("glint._arrays").attr("floats")(object, name);
  if (!take(copy, input)) refuse(name, "not an array of numbers", "float32 or float64");
  return input;
}

void check_same(const Input& a, const char* a_name, const Input& b, const char* b_name) {
  if (shape_of(a.array) != shape_of(b.array))
    refuse(
        b_name,
        std::string(a_name) + " has shape " + shape_text(a.array) + ", " + b_name + " has shape " + shape_text(b.array),
        "arrays of one shape");
  if (a.single != b.single)
    refuse(b_name, std::string(a_name) + " and " + b_name + " have different types", "arrays of one type");
}

// Where a result goes: into `out`, or into a new array.
struct Output {
  nb::object object;
  void* data = nullptr;
  Rows rows;
  AnyArray given = {};  // `out`; each cast of an array of PyTorch costs more than a short loop
  template <class T>
  MatrixView<T> view() const {
    return {static_cast<T*>(data), rows.rows, rows.cols, rows.stride};
  }
};

Output output_for(const Input& like, nb::handle out, const char* name) {
  if (out.is_none()) {
    const std::vector<size_t> shape = shape_of(like.array);
    const Rows rows{like.rows.rows, like.rows.cols, like.rows.cols, true};
    if (like.single) {
      NewArray<float> fresh = new_array<float>(shape);
      return {std::move(fresh.array), fresh.data, rows};
    }
    NewArray<double> fresh = new_array<double>(shape);
    return {std::move(fresh.array), fresh.data, rows};
  }
  OutArray array;
  if (!nb::try_cast<OutArray>(out, array)) refuse(name, "not an array that can be written to", "an array");
  const AnyArray seen(array);
  if (shape_of(seen) != shape_of(like.array) || (like.single ? !holds<float>(seen) : !holds<double>(seen)))
    refuse(name, "another shape or type than the input", "shape " + shape_text(like.array));
  const Rows rows = rows_of(seen);
  if (!rows.good) refuse(name, "its elements do not lie side by side", "a contiguous last axis");
  return {nb::borrow(out), array.data(), rows, seen};
}

void check_apart(const Output& out, const char* name, const Input& input) {
  if (out.given.is_valid() && overlap(out.given, input.array))
    refuse(name, "it overlaps an input", "memory of its own");
}

template <class T>
std::span<const T> elements(const Input& input) {
  return {static_cast<const T*>(input.array.data()), input.rows.rows * input.rows.cols};
}
template <class T>
std::span<T> elements(const Output& output) {
  return {static_cast<T*>(output.data), output.rows.rows * output.rows.cols};
}

// The loops over single elements take plain arrays: elements with gaps between their rows are copied.
bool has_gaps(const Rows& rows) { return rows.rows > 1 && rows.stride != rows.cols; }
Input gapless_input(nb::handle object, const char* name) {
  Input input = input_of(object, name);
  if (has_gaps(input.rows)) {
    const nb::object copy = nb::module_::import_("numpy").attr("ascontiguousarray")(object);
    take(copy, input);
  }
  return input;
}
Output gapless_output(const Input& like, nb::handle out) {
  const Output result = output_for(like, out, "out");
  check_apart(result, "out", like);
  if (has_gaps(result.rows)) refuse("out", "there are gaps between its rows", "a contiguous array");
  return result;
}

// gate(x) or gate'(x).
nb::object gate_apply(const Gate& gate, nb::handle x, nb::handle out, size_t threads, bool slope) {
  if (PyFloat_Check(x.ptr()) && out.is_none()) {
    const GateInfo& info = gate_info(gate.kind);
    const double h = PyFloat_AsDouble(x.ptr());
    return nb::float_(slope ? info.slope(h, gate.params) : info.value(h, gate.params));
  }
  const Input input = gapless_input(x, "x");
  const Output result = gapless_output(input, out);
  with_numbers(input.single, [&]<class T>(const auto&... kernels) {
    const std::span<T> y = elements<T>(result), none;
    run_gate(y.size(), threads, [&](const Workers& workers) {
      gate_array(kernels..., workers, gate, elements<T>(input), slope ? none : y, slope ? y : none);
    });
  });
  return result.object;
}

// dy gate'(x).
nb::object gate_backward(const Gate& gate, nb::handle x, nb::handle dy, nb::handle out, size_t threads) {
  const Input input = gapless_input(x, "x"), grad = gapless_input(dy, "dy");
  check_same(input, "x", grad, "dy");
  const Output result = gapless_output(input, out);
  check_apart(result, "out", grad);
  with_numbers(input.single, [&]<class T>(const auto&... kernels) {
    const std::span<T> y = elements<T>(result);
    run_gate(y.size(), threads, [&](const Workers& workers) {
      gate_array_backward(kernels..., workers, gate, elements<T>(input), elements<T>(grad), y);
    });
  });
  return result.object;
}

nb::object glu(const Gate& gate, nb::handle l, nb::handle r, nb::handle out, size_t threads) {
  const Input left = input_of(l, "l"), right = input_of(r, "r");
  check_same(left, "l", right, "r");
  const Output result = output_for(left, out, "out");
  check_apart(result, "out", left);
  check_apart(result, "out", right);
  with_numbers(left.single, [&]<class T>(const auto&... kernels) {
    run_gate(elements_of(left.array), threads, [&](const Workers& workers) {
      glu_array(kernels..., workers, gate, left.view<T>(), right.view<T>(), result.view<T>());
    });
  });
  return result.object;
}

nb::object glu_backward(const Gate& gate, nb::handle l, nb::handle r, nb::handle dy, nb::handle dl, nb::handle dr,
                        size_t threads) {
  const Input left = input_of(l, "l"), right = input_of(r, "r"), grad = input_of(dy, "dy");
  check_same(left, "l", right, "r");
  check_same(left, "l", grad, "dy");
  const Output to_l = output_for(left, dl, "dl"), to_r = output_for(left, dr, "dr");
  for (const Input* input : {&left, &right, &grad}) {
    check_apart(to_l, "dl", *input);
    check_apart(to_r, "dr", *input);
  }
  if (to_l.given.is_valid() && to_r.given.is_valid() && overlap(to_l.given, to_r.given) &&
      elements_of(left.array) > 0) {
    // Two halves of one array may interleave; equal places may not.
    const auto* a = static_cast<const char*>(to_l.data);
    const auto* b = static_cast<const char*>(to_r.data);
    const size_t row = to_l.rows.cols * (left.single ? 4 : 8), apart = a < b ? size_t(b - a) : size_t(a - b);
    const size_t step = to_l.rows.stride * (left.single ? 4 : 8);
    if (to_l.rows.stride != to_r.rows.stride || apart < row || apart + row > step)
      refuse("dr", "it overlaps dl", "memory of its own");
  }
  with_numbers(left.single, [&]<class T>(const auto&... kernels) {
    run_gate(elements_of(left.array), threads, [&](const Workers& workers) {
      glu_array_backward(kernels..., workers, gate, left.view<T>(), right.view<T>(), grad.view<T>(), to_l.view<T>(),
                         to_r.view<T>());
    });
  });
  return nb::make_tuple(to_l.object, to_r.object);
}

// Rows of floats in memory that glint.torch has looked at itself, by address: [rows, cols] with a distance
// from row to row.
struct Place {
  uintptr_t address;
  size_t stride;
};
// The loops of PyTorch's tensors: GELU in float.
Gate of_torch(const Gate& g) { return {g.kind == GateKind::Gelu ? kGeluFloat : g.kind, g.params}; }
MatrixView<float> at(const Place& place, size_t rows, size_t cols) {
  return {reinterpret_cast<float*>(place.address), rows, cols, place.stride};
}

void bind_places(nb::class_<Gate>& gates) {
  gates.def("_gate_at", [](const Gate& g, uintptr_t h, uintptr_t y, size_t n, size_t threads) {
    run_gate(n, threads, [&](const Workers& workers) {
      gate_array(best_kernels(), workers, of_torch(g), at({h, n}, 1, n).row(0), at({y, n}, 1, n).row(0), {});
    });
  });
  gates.def("_gate_backward_at", [](const Gate& g, uintptr_t h, uintptr_t dy, uintptr_t dh, size_t n, size_t threads) {
    run_gate(n, threads, [&](const Workers& workers) {
      gate_array_backward(best_kernels(), workers, of_torch(g), at({h, n}, 1, n).row(0), at({dy, n}, 1, n).row(0),
                          at({dh, n}, 1, n).row(0));
    });
  });
  gates.def("_glu_at", [](const Gate& g, uintptr_t l, size_t l_row, uintptr_t r, size_t r_row, uintptr_t y,
                          size_t y_row, size_t rows, size_t cols, size_t threads) {
    run_gate(rows * cols, threads, [&](const Workers& workers) {
      glu_array(best_kernels(), workers, of_torch(g), at({l, l_row}, rows, cols), at({r, r_row}, rows, cols),
                at({y, y_row}, rows, cols));
    });
  });
  gates.def("_glu_backward_at", [](const Gate& g, uintptr_t l, size_t l_row, uintptr_t r, size_t r_row, uintptr_t dy,
                                   size_t dy_row, uintptr_t dl, size_t dl_row, uintptr_t dr, size_t dr_row, size_t rows,
                                   size_t cols, size_t threads) {
    run_gate(rows * cols, threads, [&](const Workers& workers) {
      glu_array_backward(best_kernels(), workers, of_torch(g), at({l, l_row}, rows, cols), at({r, r_row}, rows, cols),
                         at({dy, dy_row}, rows, cols), at({dl, dl_row}, rows, cols), at({dr, dr_row}, rows, cols));
    });
  });
}

// What a gate is made from again.
nb::tuple parts_of(const Gate& g) {
  return nb::make_tuple(gate_info(g.kind).text.name, g.params.c, g.params.lambda, g.params.p);
}

}  // namespace

void bind_gates(nb::module_& m) {
  nb::class_<Gate> gates(m, "Gate", "A gate with its options: what `glint.gate()` gives.");
  bind_places(gates);
  gates
      .def(
          "__init__",
          [](Gate* self, const std::string& name, double c, double lam, double p) {
            const Gate gate{parse_gate(name), {c, lam, p}};
            check(gate.params);
            new (self) Gate(gate);
          },
          nb::arg("name") = "sqs", nb::arg("c") = 0.01, nb::arg("lam") = 0.5, nb::arg("p") = 1.0)
      .def(
          "__call__",
          [](const Gate& g, nb::handle x, nb::handle out, size_t threads) {
            return gate_apply(g, x, out, threads, false);
          },
          nb::arg("x").none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
          nb::sig("def __call__(self, x: typing.Any, out: typing.Any = None, threads: int = 0) -> typing.Any"),
          "The gate of every element; `out` is an array for the result, `threads` the most that work (0: "
          "all).")
      .def(
          "grad",
          [](const Gate& g, nb::handle x, nb::handle out, size_t threads) {
            return gate_apply(g, x, out, threads, true);
          },
          nb::arg("x").none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
          nb::sig("def grad(self, x: typing.Any, out: typing.Any = None, threads: int = 0) -> typing.Any"),
          "The slope of the gate at every element.")
      .def("backward", &gate_backward, nb::arg("x").none(), nb::arg("dy").none(), nb::arg("out") = nb::none(),
           nb::arg("threads") = 0,
           nb::sig("def backward(self, x: typing.Any, dy: typing.Any, out: typing.Any = None, threads: int = 0) "
                   "-> typing.Any"),
           "The gradient of x: dy * grad(x) in one pass.")
      .def("glu", &glu, nb::arg("l").none(), nb::arg("r").none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::sig("def glu(self, l: typing.Any, r: typing.Any, out: typing.Any = None, threads: int = 0) -> "
                   "typing.Any"),
           "gate(l) * r in one pass.")
      .def("glu_backward", &glu_backward, nb::arg("l").none(), nb::arg("r").none(), nb::arg("dy").none(),
           nb::arg("dl") = nb::none(), nb::arg("dr") = nb::none(), nb::arg("threads") = 0,
           nb::sig("def glu_backward(self, l: typing.Any, r: typing.Any, dy: typing.Any, dl: typing.Any = "
                   "None, dr: typing.Any = None, threads: int = 0) -> tuple[typing.Any, typing.Any]"),
           "The gradients of l and r: dy * r * grad(l), and dy * gate(l).")
      .def(
          "__eq__", [](const Gate& a, const Gate& b) { return parts_of(a).equal(parts_of(b)); }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Gate& g) { return nb::hash(parts_of(g)); })
      .def(
          "__reduce__", [](const Gate& g) { return nb::make_tuple(nb::type<Gate>(), parts_of(g)); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def_prop_ro("name", [](const Gate& g) { return gate_info(g.kind).text.name; })
      .def_prop_ro("title", [](const Gate& g) { return gate_info(g.kind).text.title; })
      .def_prop_ro("formula", [](const Gate& g) { return gate_info(g.kind).text.value; })
      .def_prop_ro("code", [](const Gate& g) { return gate_info(g.kind).code; })
      .def_prop_ro("slope_code", [](const Gate& g) { return gate_info(g.kind).text.slope_code; })
      .def_prop_ro("word", [](const Gate& g) { return gate_word(g); })
      .def_prop_ro("derivative", [](const Gate& g) { return gate_info(g.kind).text.derivative; })
      .def_prop_ro("has_options", [](const Gate& g) { return gate_info(g.kind).text.has_params; })
      .def_prop_ro("odd", [](const Gate& g) { return gate_info(g.kind).text.parity == Parity::odd; })
      .def_prop_ro("c", [](const Gate& g) { return g.params.c; })
      .def_prop_ro("lam", [](const Gate& g) { return g.params.lambda; })
      .def_prop_ro("p", [](const Gate& g) { return g.params.p; });
  m.def("gate_of_word", [](const std::string& word) { return parse_gate_word(word); });
  m.def("gate_names", [] {
    nb::list names;
    for (const std::string& name : gate_names()) names.append(name);
    return names;
  });
}

}  // namespace glint::python

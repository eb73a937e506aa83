// What run.NAME(fields, data, talk) does: a request of one kind from a dict, the work on an open run, and its
// result for Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "open_run.h"
#include "requests.h"

namespace glint::python {

// The fields of every request, which the options of calls, their help and their types are made from.
inline OrderedJson& described() {
  static OrderedJson all;
  return all;
}
template <class Request>
void describe(const char* name) {
  Request usual;
  described()[name] = describe_fields(fields_of(usual));
}

// `work(engine, run, request)` gives a result, `shape(result)` makes a Python object of it. `own_precision`:
// computed as the run was trained, not in f32.
template <class Request, class Work, class Shape>
void answer(nb::class_<OpenRun>& runs, const char* name, const Work& work, const Shape& shape,
            bool own_precision = false) {
  describe<Request>(name);
  runs.def(
      name,
      [=](OpenRun& run, nb::handle values, nb::handle data, nb::handle talk) {
        const Request request = request_of<Request>(values, run.source(), data);
        return shape(run.call(
            talk, request.source, [&](const Engine& engine, Run& of) { return work(engine, of, request); },
            own_precision));
      },
      nb::arg("fields"), nb::arg("data").none(), nb::arg("talk").none());
}

// The result as the JSON of the program.
template <class Request, class Work>
void answer(nb::class_<OpenRun>& runs, const char* name, const Work& work, bool own_precision = false) {
  answer<Request>(
      runs, name, work, [](const auto& result) { return json_text(to_json(result)); }, own_precision);
}

}  // namespace glint::python

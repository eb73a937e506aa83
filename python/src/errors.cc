#include "errors.h"

#include <nanobind/stl/string.h>

#include <exception>

namespace glint::python {

namespace nb = nanobind;

void refuse(const std::string& argument, const std::string& what, const std::string& expected,
            const std::string& hint) {
  throw Error({.code = ErrorCode::usage, .what = what, .where = argument, .expected = expected, .hint = hint});
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      const ErrorParts& parts = e.parts();
      try {
        nb::object error =
            nb::module_::import_("glint.errors")
                .attr("_make")(static_cast<int>(parts.code), parts.what, parts.where, parts.expected, parts.hint);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
      } catch (nb::python_error& problem) {
        problem.restore();
      }
    }
  });
}

}  // namespace glint::python

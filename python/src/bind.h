// One function per part of the module.
#pragma once

#include <nanobind/nanobind.h>

namespace glint::python {

void bind_gates(nanobind::module_& m);

}  // namespace glint::python

// glint::Error as the exceptions of glint/errors.py.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "glint/base/error.h"

namespace glint::python {

void bind_errors(nanobind::module_& m);

// Error (usage) about an argument.
[[noreturn]] void refuse(const std::string& argument, const std::string& what, const std::string& expected,
                         const std::string& hint = {});

}  // namespace glint::python

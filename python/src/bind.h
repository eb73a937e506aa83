// One function per part of the module.
#pragma once

#include <nanobind/nanobind.h>

namespace glint::python {

class OpenRun;

void bind_gates(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_train(nanobind::module_& m);
void bind_layer(nanobind::module_& m);
void bind_runs(nanobind::module_& m, nanobind::class_<OpenRun>& run);
void bind_read(nanobind::module_& m, nanobind::class_<OpenRun>& run);
void bind_models(nanobind::module_& m, nanobind::class_<OpenRun>& run);

}  // namespace glint::python

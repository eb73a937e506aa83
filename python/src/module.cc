// glint._core: the library for Python. Nothing here computes; python/glint has what people call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "engines.h"
#include "errors.h"
#include "glint/base/version.h"
#include "open_run.h"

NB_MODULE(_core, m) {
  using namespace glint::python;
  m.doc() = "glint's library; use the package glint, which is built on it";
  m.attr("version") = glint::kVersion;
  nanobind::set_leak_warnings(false);  // PyTorch keeps what it has compiled with until after the end
  bind_errors(m);
  m.def("thread_count", &thread_count);
  m.def("set_thread_count", &set_thread_count, nanobind::arg("threads"));
  m.def("after_fork_in_child", &after_fork_in_child);
  bind_gates(m);
  bind_data(m);
  bind_train(m);
  bind_layer(m);
  nanobind::class_<OpenRun> run(m, "OpenRun", "A run that is open: what glint.Run holds.");
  bind_runs(m, run);
  bind_read(m, run);
  bind_models(m, run);
}

// A data set of the library as a Python object.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "glint/data/dataset.h"

namespace glint::python {

struct DataBox {
  std::shared_ptr<const Dataset> data;
};

// The set of a DataBox; null for None.
std::shared_ptr<const Dataset> images_of(nanobind::handle object);

}  // namespace glint::python

// Results as JSON text, which Python's own reader turns into dicts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "glint/io/json_fwd.h"

namespace glint::python {

inline std::string json_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace glint::python

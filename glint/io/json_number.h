// A number in a result for programs: null where it may be infinite or unknown, as docs/formats.md lists.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace glint {

inline nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace glint

// The name of a JSON value, for headers: glint/io/json.h takes a second to compile and this does not.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace glint {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keys in the order they were added: results that people read

}  // namespace glint

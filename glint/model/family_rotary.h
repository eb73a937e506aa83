// How the queries and keys of a model turn with their position: what a configuration says of it.
#pragma once

#include <string>

#include "glint/model/config_file.h"
#include "glint/model/family_config.h"

namespace glint {

// From config.json, in both spellings: `rope_theta` with `rope_scaling`, and `rope_parameters`, by kind of
// layer where they differ. `c` has its family, widths and context already.
void read_rotary_hf(const ConfigKeys& keys, const std::string& title, const std::string& where, FamilyConfig& c);
// From the metadata of a GGUF file, whose lists of divisors are tensors.
void read_rotary_gguf(const ConfigKeys& keys, const WeightFile& file, const std::string& architecture, FamilyConfig& c);

}  // namespace glint

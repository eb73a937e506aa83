// How well a form stands for a model, as JSON: the same keys in every result.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>

#include "glint/model/fidelity.h"

namespace glint {

// Adds the members of these names; intervals, [low, high], where they are known.
void add_trust(nlohmann::ordered_json& json, const Trust& trust, std::initializer_list<const char*> names);

// correlation, r2, r2_scaled, even_share; of language models r2_interval, [low, high]; for decisions also
// r2_centred and agreement. Where it was measured, mirrored: r2 and agreement at -x.
nlohmann::ordered_json fidelity_json(const Trust& trust, bool decisions);
// linear and untrained, the second by form; each correlation, r2 and r2_scaled, for decisions also
// r2_centred, agreement and, of the linear map, accuracy.
nlohmann::ordered_json controls_json(const Controls& controls, bool decisions);

}  // namespace glint

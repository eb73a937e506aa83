// How well a form stands for a model, as JSON: the same keys in every result.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "glint/model/fidelity.h"

namespace glint {

// correlation, r2, r2_scaled, even_share; for decisions also r2_centred and agreement.
nlohmann::ordered_json fidelity_json(const Fidelity& fidelity, bool decisions);

}  // namespace glint

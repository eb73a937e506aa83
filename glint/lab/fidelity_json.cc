#include "glint/lab/fidelity_json.h"

#include <nlohmann/json.hpp>

namespace glint {

nlohmann::ordered_json fidelity_json(const Fidelity& f, bool decisions) {
  nlohmann::ordered_json j = {{"correlation", f.correlation}, {"r2", f.r2}, {"r2_scaled", f.r2_scaled}};
  if (decisions) j["r2_centred"] = f.r2_centred, j["agreement"] = f.agreement;
  j["even_share"] = f.even_share;
  return j;
}

}  // namespace glint

#include "glint/lab/fidelity_json.h"

#include <nlohmann/json.hpp>

namespace glint {

nlohmann::ordered_json fidelity_json(const Fidelity& f, bool decisions) {
  nlohmann::ordered_json j = {{"correlation", f.correlation}, {"r2", f.r2}, {"r2_scaled", f.r2_scaled}};
  if (decisions) j["centred_r2"] = f.centred_r2, j["agreement"] = f.agreement;
  j["even_share"] = f.even_share;
  return j;
}

nlohmann::ordered_json controls_json(const Controls& controls, bool decisions) {
  const auto control = [&](const Fidelity& f) {
    nlohmann::ordered_json j = fidelity_json(f, decisions);
    j.erase("even_share");  // that of the layer stands with its forms
    return j;
  };
  nlohmann::ordered_json j = {{"linear", control(controls.linear)}};
  if (decisions) j["linear"]["accuracy"] = controls.linear.accuracy_form;
  for (const auto& [form, f] : controls.untrained) j["untrained"][form] = control(f);
  return j;
}

}  // namespace glint

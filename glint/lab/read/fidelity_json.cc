#include "glint/lab/read/fidelity_json.h"

#include <nlohmann/json.hpp>

namespace glint {

nlohmann::ordered_json fidelity_json(const Fidelity& f, bool decisions) {
  nlohmann::ordered_json j = {{"correlation", f.correlation}, {"r2", f.r2}, {"r2_scaled", f.r2_scaled}};
  if (f.r2_interval) j["r2_interval"] = {f.r2_interval->low, f.r2_interval->high};
  if (decisions) j["r2_centred"] = f.r2_centred, j["agreement"] = f.agreement;
  j["even_share"] = f.even_share;
  if (f.mirrored) {
    j["mirrored"] = {{"r2", f.mirrored->r2}};
    if (decisions) j["mirrored"]["agreement"] = f.mirrored->agreement;
  }
  return j;
}

nlohmann::ordered_json controls_json(const Controls& controls, bool decisions) {
  const auto control = [&](const Fidelity& f) {
    nlohmann::ordered_json j = fidelity_json(f, decisions);
    j.erase("even_share"), j.erase("mirrored");  // they stand with the forms of the run itself
    return j;
  };
  nlohmann::ordered_json j = {{"linear", control(controls.linear)}};
  if (decisions) j["linear"]["accuracy"] = controls.linear.accuracy_form;
  for (const auto& [form, f] : controls.untrained) j["untrained"][name(form)] = control(f);
  return j;
}

}  // namespace glint

#include "glint/lab/read/fidelity_json.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace glint {
namespace {

constexpr struct {
  std::string_view name;
  double Trust::*value;
} kNumbers[] = {{"correlation", &Trust::correlation},
                {"r2", &Trust::r2},
                {"r2_scaled", &Trust::r2_scaled},
                {"r2_centred", &Trust::r2_centred},
                {"agreement", &Trust::agreement},
                {"even_share", &Trust::even_share},
                {"eigenvectors_r2", &Trust::eigenvectors_r2},
                {"linear_share", &Trust::linear_share},
                {"quadratic_share", &Trust::quadratic_share}};

constexpr struct {
  std::string_view name;
  std::optional<Interval> Trust::*value;
} kIntervals[] = {{"r2_interval", &Trust::r2_interval}, {"eigenvectors_r2_interval", &Trust::eigenvectors_r2_interval}};

}  // namespace

void add_trust(nlohmann::ordered_json& j, const Trust& t, std::initializer_list<const char*> names) {
  for (const std::string_view wanted : names) {
    for (const auto& [name, value] : kNumbers)
      if (name == wanted) j[std::string(name)] = t.*value;
    for (const auto& [name, value] : kIntervals)
      if (const auto& i = t.*value; i && name == wanted) j[std::string(name)] = {i->low, i->high};
  }
}

nlohmann::ordered_json fidelity_json(const Trust& t, bool decisions) {
  nlohmann::ordered_json j;
  add_trust(j, t, {"correlation", "r2", "r2_scaled", "r2_interval"});
  if (decisions) add_trust(j, t, {"r2_centred", "agreement"});
  add_trust(j, t, {"even_share"});
  if (t.mirrored) {
    j["mirrored"] = {{"r2", t.mirrored->r2}};
    if (decisions) j["mirrored"]["agreement"] = t.mirrored->agreement;
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

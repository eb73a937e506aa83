#include "glint/report/language_page.h"

#include <nlohmann/json.hpp>

#include "glint/base/file.h"
#include "glint/model/language_file.h"
#include "glint/report/gate_table.h"
#include "glint/report/page_pack.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

ordered_json halves(const std::vector<double>& values) {
  return packed_json(pack_f16(std::vector<float>(values.begin(), values.end()), {values.size()}));
}

ordered_json form_json(const LanguagePageForm& form) {
  ordered_json j;
  j["name"] = form.name;
  j["lines"] = ordered_json::array();
  for (const LanguagePageLine& line : form.lines) {
    ordered_json l;
    l["gain"] = packed_floats(line.gain, {line.gain.size()});
    if (!line.shift.empty()) l["shift"] = packed_floats(line.shift, {line.shift.size()});
    const Fidelity& f = line.fidelity;
    l["fidelity"] = {{"correlation", f.correlation},
                     {"r2", f.r2},
                     {"r2Scaled", f.r2_scaled},
                     {"evenShare", f.even_share},
                     {"eigenvectorsR2", f.eigenvectors_r2},
                     {"linearShare", f.linear_share},
                     {"inputs", f.inputs}};
    l["tokenR2"] = halves(f.each(&Trust::r2));
    if (!line.shift.empty()) {
      l["tokenEigenvectorsR2"] = halves(f.each(&Trust::eigenvectors_r2));
      l["tokenLinearShare"] = halves(f.each(&Trust::linear_share));
    }
    j["lines"].push_back(std::move(l));
  }
  return j;
}

std::string data_json(const LanguagePageData& data, bool half) {
  const TransformerParams params = transformer_params(data.config);
  const std::span<const std::byte> model = as_bytes(data.tokenizer_model);
  ordered_json run;
  run["name"] = data.name;
  run["data"] = data.data;
  run["config"] = ordered_json(config_to_json(data.config));
  run["gate"] = gate_json(gate_info(data.config.gate.kind));
  run["parameters"] = params.table.parameters();
  if (half) run["halfDeviation"] = data.half_deviation;
  run["tensors"] = tensors_json(params.table, data.weights, half);
  run["tokenizer"] =
      packed_json(pack_u8({reinterpret_cast<const uint8_t*>(model.data()), model.size()}, {model.size()}));
  run["sample"] = data.sample;
  run["forms"] = ordered_json::array();
  for (const LanguagePageForm& form : data.forms) run["forms"].push_back(form_json(form));
  run["controls"] = ordered_json::array();
  for (const Controls& layer : data.controls) run["controls"].push_back(page_controls(layer, false));
  if (!data.form.empty()) run["form"] = data.form;
  run["run"] = ordered_json(data.run);
  run["metrics"] = ordered_json(data.metrics);
  ordered_json j;
  j["kind"] = "language";
  j["version"] = data.version;
  j["linalg"] = data.linalg;
  j["runs"] = ordered_json::array({std::move(run)});
  return j.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

}  // namespace

Page make_language_page(const LanguagePageData& data, size_t max_bytes) {
  return page_within(max_bytes, data.name, "a larger `limit`", [&](bool half) { return data_json(data, half); });
}

}  // namespace glint

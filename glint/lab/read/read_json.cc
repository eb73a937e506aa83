#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/lab/read/read_result.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/lab/read/read.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

// What samples of the model are called.
const char* samples_word(const ReadResult& r) { return r.kind == ModelKind::image ? "images" : "tokens"; }

ordered_json form_json(const ReadResult& r, const ReadForm& form) {
  const Fidelity& f = form.fidelity;
  ordered_json j = fidelity_json(f, r.whole_model());
  add_trust(j, f, {"eigenvectors_r2", "eigenvectors_r2_interval"});
  if (r.whole_model()) j["accuracy"] = f.accuracy_form;
  j["unit_r2"] = f.each(&Trust::r2);
  j[samples_word(r)] = f.inputs;
  return j;
}

ordered_json all_fidelity_json(const ReadResult& r) {
  ordered_json j = ordered_json::object();
  for (const ReadForm& form : r.forms) j[name(form.form)] = form_json(r, form);
  if (!r.image || r.inputs == 0) return j;
  const LocalError& local = r.image->local;
  j["local"] = {{"largest_error", local.largest}, {"largest_value", local.scale}};
  if (r.whole_model()) j["local"]["agreement"] = local.agreement;
  j["local"]["images"] = local.inputs;
  return j;
}

// Element k is with k eigenvectors; element 0 is what the form has without any.
ordered_json truncation_json(const ReadResult& r) {
  ordered_json j = {{"first_k", 0}};
  for (const ReadForm& form : r.forms) j[name(form.form)] = form.truncation;
  for (const ReadForm& form : r.forms) j["linear_part"][name(form.form)] = form.linear_part;
  for (const ReadForm& form : r.forms)
    if (form.linear_part) j["linear_part_alone"][name(form.form)] = form.truncation.front();
  j["residual"] = r.image->residual;
  return j;
}

ordered_json fit_json(const LatentFit& fit) {
  // What does not change has no correlation.
  const auto known = [](double v) { return std::isfinite(v) ? ordered_json(v) : ordered_json(); };
  return {{"active", fit.active},
          {"one_correlation", known(fit.one)},
          {"two_correlation", known(fit.two)},
          {"one_correlation_active", known(fit.one_active)},
          {"two_correlation_active", known(fit.two_active)}};
}

ordered_json autoencoder_json(const std::string& text, const std::string& unmeasured) {
  ordered_json j = {{"text", text}};
  if (!unmeasured.empty()) j["unmeasured"] = unmeasured;
  return j;
}

ordered_json direction_json(const ReadResult& r, const ReadDirection& d) {
  ordered_json j = {{"name", d.name}};
  if (d.trust)
    add_trust(j, *d.trust,
              {"r2", "eigenvectors_r2", "quadratic_share", "linear_share", "even_share", "r2_interval",
               "eigenvectors_r2_interval"});
  if (d.rank) {
    j["entropy_rank"] = d.rank->entropy, j["participation_rank"] = d.rank->participation;
    j["energy"] = d.energy;
  }
  j["eigenvalues"] = d.form.spectrum.values;
  j["groups"] = d.form.spectrum.groups;
  if (r.kind == ModelKind::image) return j;
  for (const auto* side : {&d.positive, &d.negative})
    for (const ShownVector& v : *side)
      j["vectors"].push_back(
          {{"value", v.value}, {"along", near_json(v.near.along)}, {"against", near_json(v.near.against)}});
  if (d.latent) j["activation"] = fit_json(*d.latent);
  for (const LatentPair& p : d.pairs)
    j["pairs"].push_back({{"first", p.first}, {"second", p.second}, {"weight", p.weight}});
  if (d.has_linear())
    j["linear"] = {{"vector", d.form.linear},
                   {"along", near_json(d.linear_near.along)},
                   {"against", near_json(d.linear_near.against)}};
  for (const Responses& one : d.responses) j["responses"].push_back(to_json(one));
  return j;
}

void add_parts(ordered_json& j, const TokenParts& text) {
  if (text.passage_text) j["passages"] = {{"text", text_json(*text.passage_text)}, {"page", text.passages_page}};
  if (!text.autoencoder.empty()) j["autoencoder"] = autoencoder_json(text.autoencoder, text.unmeasured);
  if (text.input_autoencoder.empty()) return;
  ordered_json latents = ordered_json::array();
  for (const auto& [latent, near] : text.input_latents)
    latents.push_back({{"latent", latent}, {"along", near_json(near.along)}, {"against", near_json(near.against)}});
  j["input_autoencoder"] = {{"text", text.input_autoencoder}, {"latents", std::move(latents)}};
}

}  // namespace

ordered_json to_json(const ReadResult& r) {
  ordered_json j;
  j["schema"] = "glint-read/1";
  j["run"] = r.run;
  j["model"] = ordered_json(r.model);
  j["weights_sha256"] = r.weights_sha256;
  j["linalg"] = r.linalg;
  j["data"] = {{"name", r.data}, {"checksum", r.data_checksum}, {samples_word(r), r.inputs}};
  if (r.kind == ModelKind::language) j["data"]["samples"] = r.samples;
  j["calibration"] = {{"kind", r.calibration}, {samples_word(r), r.calibration_inputs}};
  j["layer"] = r.layer + 1;
  j["layers"] = r.layers;
  if (!r.expert.empty()) j["expert"] = r.expert;
  j["form"] = name(r.form);
  j["trust"] = trust_sentence(r);
  if (!r.alone.empty()) j["unmeasured"] = r.alone;
  if (r.drawn)
    j["size"] = {{"drawn_at", r.drawn->size},
                 {"low", r.drawn->low},
                 {"high", r.drawn->high},
                 {"low_alike", r.drawn->low_alike},
                 {"high_alike", r.drawn->high_alike}};
  j["fidelity"] = all_fidelity_json(r);
  if (r.inputs > 0) j["controls"] = controls_json(r.controls, r.whole_model());
  if (r.text) j["warnings"] = r.text->warnings;
  if (r.whole_model()) {
    j["accuracy_model"] = r.forms[0].fidelity.accuracy_model;
    j["truncation"] = truncation_json(r);
  }
  j["units"] = ordered_json::array();
  for (const ReadDirection& d : r.directions) j["units"].push_back(direction_json(r, d));
  if (r.image) {
    const ImageParts& parts = *r.image;
    j["shared"] = ordered_json::array();
    for (size_t k = 0; k < parts.shared_pictures.size(); k++) {
      std::vector<double> share(r.directions.size());
      for (size_t u = 0; u < share.size(); u++) share[u] = parts.shared.signed_share(u, k);
      j["shared"].push_back({{"singular_value", parts.shared.values[k]}, {"signed_share", share}});
    }
  }
  if (r.text) add_parts(j, *r.text);
  if (!r.spectra.empty()) j["spectra"] = r.spectra;
  j["figures"] = r.figures;
  return j;
}

ordered_json to_json(const ScanResult& r) {
  ordered_json fidelity = fidelity_json(r.fidelity, false);
  add_trust(fidelity, r.fidelity, {"eigenvectors_r2", "linear_share"});
  fidelity["tokens"] = r.fidelity.inputs;
  const bool latents = !r.autoencoder.empty();
  ordered_json found = ordered_json::array();
  for (const ScannedToken& t : r.tokens) {
    ordered_json one = latents ? ordered_json{{"latent", t.id}} : ordered_json{{"token", t.piece}, {"id", t.id}};
    one["participation_rank"] = t.rank.participation, one["entropy_rank"] = t.rank.entropy;
    one["energy"] = t.energy, one["largest"] = t.largest, one["smallest"] = t.smallest;
    add_trust(one, t.trust, {"r2", "eigenvectors_r2", "linear_share"});
    if (t.latent) one["activation"] = fit_json(*t.latent);
    found.push_back(std::move(one));
  }
  ordered_json j = {{"schema", "glint-scan/1"},
                    {"run", r.run},
                    {"linalg", r.linalg},
                    {"layer", r.layer + 1},
                    {"form", name(r.form)},
                    {"samples", r.samples},
                    {"strongest", r.strongest},
                    {"fidelity", std::move(fidelity)},
                    {"controls", controls_json(r.controls, false)},
                    {"warnings", r.warnings}};
  if (latents) j["autoencoder"] = autoencoder_json(r.autoencoder, r.unmeasured);
  j[latents ? "latents" : "tokens"] = std::move(found);
  j["csv"] = r.csv;
  return j;
}

}  // namespace glint

// An explained token as a figure and as JSON.
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/lab/read/explain_token.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

// The last words of a text.
std::string end_of(const std::string& text, size_t width) {
  std::string_view end = text;
  while (display_width(end) > width) {
    end.remove_prefix(1);
    while (!end.empty() && (static_cast<unsigned char>(end[0]) & 0xc0) == 0x80) end.remove_prefix(1);
  }
  return printable((end.size() < text.size() ? "\u2026" : "") + std::string(end));
}

std::string share_title(const ExplainTokenResult& r, const ExplainedLayer& e) {
  const GluShare& s = e.share;
  const auto part = [](const char* name, double value) {
    return value != 0 ? std::string(", ") + name + " " + signed_text(value) : "";
  };
  return "layer " + std::to_string(s.layer + 1) + ": GLU " + signed_text(s.share) + " = eigenvectors " +
         signed_text(s.quadratic) + part("linear part", s.linear) + part("bias", s.constant) + ", rest " +
         signed_text(s.rest) + " (" + name(r.form) + " form)";
}

LogitShare drawn_share(const ExplainTokenResult& r, const ExplainedLayer& e) {
  LogitShare out{.title = share_title(r, e), .terms = {}};
  double others = e.share.quadratic;
  for (const auto* side : {&e.forward, &e.against})
    for (const ExplainedVector& v : *side) {
      out.terms.push_back({"\u03bb " + signed_text(v.eigenvalue), v.contribution, token_list(v.words())});
      others -= v.contribution;
    }
  out.terms.push_back({"other eigenvectors", others});
  if (e.share.linear != 0)
    out.terms.push_back(
        {"linear part", e.share.linear, token_list(e.share.linear < 0 ? e.linear_near.against : e.linear_near.along)});
  if (e.share.constant != 0) out.terms.push_back({"bias", e.share.constant});
  out.terms.push_back({"rest", e.share.rest});
  return out;
}

ordered_json token_json(const ReadToken& t) { return {{"token", t.piece}, {"id", t.id}}; }

ordered_json expected_json(const ExpectedToken& t) {
  ordered_json j = token_json(t);
  j["logit"] = t.logit, j["probability"] = t.probability, j["place"] = t.place;
  return j;
}

ordered_json vector_json(const ExplainedVector& v) {
  return {{"rank", v.rank},
          {"eigenvalue", v.eigenvalue},
          {"projection", v.projection},
          {"contribution", v.contribution},
          {"along", near_json(v.near.along)},
          {"against", near_json(v.near.against)}};
}

ordered_json layer_json(const ExplainTokenResult& r, const ExplainedLayer& e) {
  const GluShare& s = e.share;
  ordered_json j = {{"layer", s.layer + 1},
                    {"share", s.share},
                    {"eigenvectors", s.quadratic},
                    {"linear", s.linear},
                    {"constant", s.constant},
                    {"rest", s.rest},
                    {"scale", s.scale},
                    {"normed_after", e.normed_after}};
  ordered_json& fidelity = j["fidelity"][name(r.trusted)];
  fidelity = {{"r2", e.trust.r2}, {"eigenvectors_r2", e.trust.eigenvectors_r2}, {"tokens", r.inputs}};
  j["controls"] = {{"linear", {{"r2", e.linear_map_r2}}}};
  j["terms"] = ordered_json::array();
  for (const auto* side : {&e.forward, &e.against})
    for (const ExplainedVector& v : *side) j["terms"].push_back(vector_json(v));
  if (s.linear != 0)
    j["linear_tokens"] = {{"along", near_json(e.linear_near.along)}, {"against", near_json(e.linear_near.against)}};
  return j;
}

}  // namespace

LogitFigure explanation_figure(const ExplainTokenResult& r) {
  LogitFigure f{.title = asked_text(r) + ": " + (r.against ? "difference of logits " : "logit ") +
                         signed_text(r.parts.logit) + " after \u201c" + end_of(r.text, 60) + "\u201d",
                .notes = {},
                .parts = {{"embedding", r.parts.embedding}},
                .shares = {}};
  for (size_t i = 0; i < r.parts.glu.size(); i++) {
    const std::string layer = "layer " + std::to_string(i + 1);
    f.parts.push_back({layer + " attention", r.parts.attention[i]});
    f.parts.push_back({layer + " GLU", r.parts.glu[i]});
  }
  if (r.parts.constant != 0) f.parts.push_back({"biases", r.parts.constant});
  for (const ExplainedLayer& e : r.layers) f.shares.push_back(drawn_share(r, e));
  f.notes.push_back("The model " + verdict_text(r) + ". " + check_text(r) + ".");
  for (const ExplainedLayer& e : r.layers) f.notes.push_back(trust_text(r, e));
  f.notes.push_back(path_text(r));
  return f;
}

ordered_json to_json(const ExplainTokenResult& r) {
  ordered_json j = {{"schema", "glint-explain-token/1"}, {"run", r.run}, {"linalg", r.linalg}, {"text", r.text}};
  j["position"] = r.position;
  j["marks"] = r.marks;
  j["tokens"] = ordered_json::array();
  for (const ReadToken& t : r.tokens) j["tokens"].push_back(token_json(t));
  j["token"] = expected_json(r.token);
  j["against"] = r.against ? expected_json(*r.against) : ordered_json();
  j["expected"] = ordered_json::array();
  for (const ExpectedToken& t : r.expected) j["expected"].push_back(expected_json(t));
  j["logit_cap"] = r.cap > 0 ? ordered_json(r.cap) : ordered_json();
  j["parts"] = {{"embedding", r.parts.embedding}, {"attention", r.parts.attention}, {"glu", r.parts.glu},
                {"constant", r.parts.constant},   {"sum", r.parts.sum()},           {"logit", r.parts.logit},
                {"difference", r.parts.error()}};
  j["form"] = name(r.form);
  j["data"] = {{"name", r.samples}, {"tokens", r.inputs}};
  j["layers"] = ordered_json::array();
  for (const ExplainedLayer& e : r.layers) j["layers"].push_back(layer_json(r, e));
  if (!r.figure.empty()) j["figure"] = r.figure;
  return j;
}

}  // namespace glint

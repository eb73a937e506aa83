#include "glint/cli/explain_token_view.h"

#include <algorithm>
#include <cmath>

#include "glint/base/utf8.h"
#include "glint/cli/output.h"
#include "glint/cli/spectrum_view.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

constexpr size_t kPartBar = 14, kTermBar = 8;

std::string expected_text(const ExplainTokenResult& r, size_t columns) {
  Table table(headers({"token"}, {"logit", "probability %", "place"}, {""}));
  const auto add = [&](const ExpectedToken& t) {
    table.add({t.text, fixed_text(t.logit, 3), percent_text(t.probability, 2), std::to_string(t.place),
               bar(t.probability, 1, 20)});
  };
  for (const ExpectedToken& t : r.expected) add(t);
  for (const ExpectedToken* t : {&r.token, r.against ? &*r.against : nullptr})
    if (t && t->place > r.expected.size()) add(*t);
  return table.terminal(columns);
}

std::string parts_text(const ExplainTokenResult& r, size_t columns) {
  const LogitParts& p = r.parts;
  double largest = std::max(std::fabs(p.embedding), std::fabs(p.constant));
  for (const std::vector<double>* of : {&p.attention, &p.glu})
    for (const double v : *of) largest = std::max(largest, std::fabs(v));
  Table table({{.header = "part"},
               {.header = "attention", .align = Align::right},
               {.header = ""},
               {.header = "GLU", .align = Align::right},
               {.header = ""}});
  const auto number = [](double v) { return fixed_text(v, 4); };
  table.add({"embedding", number(p.embedding), signed_bar(p.embedding, largest, kPartBar)});
  for (size_t i = 0; i < p.glu.size(); i++)
    table.add({"layer " + std::to_string(i + 1), number(p.attention[i]), signed_bar(p.attention[i], largest, kPartBar),
               number(p.glu[i]), signed_bar(p.glu[i], largest, kPartBar)});
  if (p.constant != 0) table.add({"biases", number(p.constant), signed_bar(p.constant, largest, kPartBar)});
  return table.terminal(columns);
}

std::string layer_text(const ExplainTokenResult& r, const ExplainedLayer& e, size_t columns) {
  const GluShare& s = e.share;
  const auto part = [](const char* name, double value) {
    return value != 0 ? std::string(", ") + name + " " + typed_number(value) : "";
  };
  std::string out = "\nGLU of layer " + std::to_string(s.layer + 1) + ", " + name(r.form) +
                    " form: " + typed_number(s.share) + " = eigenvectors " + typed_number(s.quadratic) +
                    part("linear part", s.linear) + part("bias", s.constant) + ", rest " + typed_number(s.rest) + "\n";
  double largest = 0, others = s.quadratic;
  for (const auto* side : {&e.forward, &e.against})
    for (const ExplainedVector& v : *side)
      largest = std::max(largest, std::fabs(v.contribution)), others -= v.contribution;
  largest = std::max({largest, std::fabs(others), std::fabs(s.linear), std::fabs(s.rest)});
  Table table({{.header = "adds", .align = Align::right},
               {.header = ""},
               {.header = "eigenvalue", .align = Align::right},
               {.header = "v.x", .align = Align::right},
               {.header = "tokens on the side of the text"}});
  const auto add = [&](double value, const std::string& eigenvalue, const std::string& projection,
                       const std::string& words) {
    table.add({typed_number(value), signed_bar(value, largest, kTermBar), eigenvalue, projection, words});
  };
  for (const auto* side : {&e.forward, &e.against})
    for (const ExplainedVector& v : *side)
      add(v.contribution, typed_number(v.eigenvalue), typed_number(v.projection), token_list(v.words()));
  add(others, "", "", "(all other eigenvectors)");
  if (s.linear != 0)
    add(s.linear, "", "", "(linear part) " + token_list(s.linear < 0 ? e.linear_near.against : e.linear_near.along));
  if (s.constant != 0) add(s.constant, "", "", "(bias)");
  add(s.rest, "", "", "(rest: what the form leaves out)");
  return out + table.terminal(columns) + trust_text(r, e) + "\n";
}

}  // namespace

std::string explain_token_text(const ExplainTokenResult& r, size_t columns) {
  std::string out = "run:   " + r.run + " (" + r.model + ")\n";
  out += "text:  " + printable(r.text) + "\n";
  const size_t all = r.tokens.size() - r.marks;
  out += "after: token " + std::to_string(r.position) + " of " + std::to_string(all) + ", " +
         r.tokens[r.marks + r.position - (r.marks + r.position > 0 ? 1 : 0)].text + "\n";
  out += "model: " + verdict_text(r) + "\n\n" + expected_text(r, columns);
  out += "\n" + std::string(r.against ? "Difference of the logits, " : "Logit of ") + asked_text(r) + ": " +
         fixed_text(r.parts.logit, 4) + ", the sum of\n" + parts_text(r, columns);
  out += check_text(r) + "\n" + path_text(r) + "\n";
  for (const ExplainedLayer& e : r.layers) out += layer_text(r, e, columns);
  out += "\nAn eigenvector adds eigenvalue (v.x)^2 times the size of the last norm, here " +
         (r.layers.empty() ? std::string("-") : fixed_text(r.layers[0].share.scale, 4)) +
         ". Full bars speak for the token, light ones against it.\n";
  if (!r.figure.empty()) out += "figure: " + r.figure + " (.png, .csv)\n";
  return out;
}

}  // namespace glint::cli

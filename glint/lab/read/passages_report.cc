// Passages as JSON and as HTML.
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/lab/read/passages.h"
#include "glint/report/report_page.h"
#include "glint/report/signed_picture.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

constexpr const char* kColours =
    "Red words are on the side of the tokens along the eigenvector, blue words on the side of those against "
    "it; the stronger the colour, the stronger the eigenvector there. It acts through its square: both sides "
    "speak for the output, or both against it. The strongest word is underlined.";
constexpr const char* kUnitColours =
    "Red words are those at which the hidden unit is above 0, blue words those below. The strongest word is "
    "underlined.";

std::string heading(const Responses& r) {
  return r.eigenvector ? r.name + ", eigenvalue " + signed_text(r.value) : r.name;
}

bool any_eigenvector(const PassagesResult& r) {
  for (const Responses& one : r.responses)
    if (one.eigenvector) return true;
  return false;
}

std::string explained(const PassagesResult& r) { return any_eigenvector(r) ? kColours : kUnitColours; }

}  // namespace

std::string passages_html(const PassagesResult& r) {
  std::string out = "<div>\n<p><small>" + xml_escape(searched_text(r.text)) + ". " + explained(r) + "</small></p>\n";
  for (const Responses& one : r.responses) {
    out += "<p style=\"margin:14px 0 2px\"><b>" + xml_escape(heading(one)) + "</b>";
    if (one.eigenvector)
      out += "<br><small>along: " + xml_escape(token_list(one.near.along)) +
             "<br>against: " + xml_escape(token_list(one.near.against)) + "</small>";
    out += "</p>\n";
    for (const ShownPassage& p : one.passages) out += marked_html(marked(one, p));
    if (one.passages.empty()) out += "<p>It is 0 everywhere in this text.</p>\n";
  }
  return out + "</div>\n";
}

std::string passages_page(const PassagesResult& r, const std::string& title, const std::vector<std::string>& facts) {
  Report page{
      .title = title,
      .lead = "What the eigenvectors of a layer respond to: the passages in which each is strongest.",
      .facts = {"model: " + r.run, r.model, "layer " + std::to_string(r.layer + 1) + " of " + std::to_string(r.layers),
                "text: " + searched_text(r.text)},
      .sections = {}};
  page.facts.insert(page.facts.end(), facts.begin(), facts.end());
  page.notices.push_back(explained(r));
  for (size_t i = 0; i < r.responses.size(); i++) {
    const Responses& one = r.responses[i];
    ReportSection section{.id = "r" + std::to_string(i + 1), .title = heading(one), .nav = one.name, .blocks = {}};
    if (one.eigenvector)
      section.blocks.push_back(Paragraph{"Tokens along it: " + token_list(one.near.along) +
                                         "; against it: " + token_list(one.near.against)});
    for (const ShownPassage& p : one.passages) section.blocks.push_back(marked(one, p));
    if (one.passages.empty()) section.blocks.push_back(Paragraph{"It is 0 everywhere in this text."});
    page.sections.push_back(std::move(section));
  }
  return report_html(page);
}

ordered_json to_json(const Responses& r) {
  ordered_json j = {{"name", r.name}};
  if (r.eigenvector) {
    j["value"] = r.value;
    j["along"] = near_json(r.near.along), j["against"] = near_json(r.near.against);
  }
  j["mean"] = r.mean;
  j["passages"] = ordered_json::array();
  for (const ShownPassage& p : r.passages) {
    ordered_json one = {{"story", p.story}, {"first", p.first}, {"value", p.value}, {"strongest", p.strongest}};
    std::string text;
    for (const PassageToken& t : p.tokens) text += t.text;
    one["text"] = text;
    one["tokens"] = ordered_json::array();
    for (const PassageToken& t : p.tokens)
      one["tokens"].push_back(
          {{"token", t.piece}, {"id", t.id}, {"text", t.text}, {"shown", t.shown}, {"strength", t.strength}});
    j["passages"].push_back(std::move(one));
  }
  return j;
}

ordered_json text_json(const PassageText& t) {
  return {{"name", t.name}, {"stories", t.stories}, {"tokens", t.tokens}, {"whole", t.whole}};
}

ordered_json to_json(const PassagesResult& r) {
  ordered_json j = {{"schema", "glint-passages/1"}, {"run", r.run},       {"linalg", r.linalg},
                    {"layer", r.layer + 1},         {"layers", r.layers}, {"text", text_json(r.text)}};
  j["responses"] = ordered_json::array();
  for (const Responses& one : r.responses) j["responses"].push_back(to_json(one));
  return j;
}

}  // namespace glint

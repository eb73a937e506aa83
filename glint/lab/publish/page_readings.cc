// The explorer of language models that are too large to be packed in, or of two of them: chosen layers read
// along chosen tokens, with the words and the passages of every eigenvector.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/publish/page_run.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/page.h"
#include "glint/report/page_pack.h"

namespace glint {
namespace {

constexpr size_t kPageLayers = 6, kPageTokens = 12, kPageVectors = 4, kPagePassages = 3;

// "1,3,6", or layers evenly spaced from the first to the last.
std::vector<size_t> page_layers(const std::string& text, size_t layers) {
  if (!text.empty()) return parse_numbers(text, "layers", "layer", 1, layers);
  std::vector<size_t> out;
  const size_t count = std::min(layers, kPageLayers);
  for (size_t i = 0; i < count; i++) out.push_back(count == 1 ? layers : 1 + i * (layers - 1) / (count - 1));
  return out;
}

OrderedJson words_json(const std::vector<NearToken>& side) {
  OrderedJson j = OrderedJson::array();
  for (const NearToken& t : side) j.push_back({t.text, t.cosine});
  return j;
}

OrderedJson interval_json(const std::optional<Interval>& i) {
  return i ? OrderedJson({i->low, i->high}) : OrderedJson();
}

// An eigenvector that is shown: where it stands, and its place among the drawn values.
struct Shown {
  size_t rank = 0;
  const ShownVector* vector = nullptr;
};

std::vector<Shown> shown_vectors(const ReadDirection& d) {
  std::vector<Shown> out;
  const size_t n = d.form.spectrum.values.size();
  for (size_t k = 0; k < d.positive.size(); k++) out.push_back({k, &d.positive[k]});
  for (size_t k = 0; k < d.negative.size(); k++) out.push_back({n - 1 - k, &d.negative[k]});
  return out;
}

OrderedJson passages_json(const Responses& r) {
  OrderedJson list = OrderedJson::array();
  for (const ShownPassage& p : r.passages) {
    OrderedJson tokens = OrderedJson::array();
    for (const PassageToken& t : p.tokens) tokens.push_back({t.text, std::round(1000 * t.strength) / 1000});
    list.push_back({{"story", p.story}, {"value", p.value}, {"strongest", p.strongest}, {"tokens", tokens}});
  }
  return list;
}

OrderedJson unit_json(const ReadDirection& d, std::span<const Responses> responses) {
  const std::vector<double>& values = d.form.spectrum.values;
  OrderedJson j = {{"name", d.name},
                   {"r2", d.trust->r2},
                   {"interval", interval_json(d.trust->r2_interval)},
                   {"eigenvectorsR2", d.trust->eigenvectors_r2},
                   {"linearShare", d.trust->linear_share},
                   {"whole", values.size()},
                   {"values", packed_floats(values, {values.size()})},
                   {"vectors", OrderedJson::array()}};
  if (j["interval"].is_null()) j.erase("interval");
  const std::vector<Shown> shown = shown_vectors(d);
  for (size_t k = 0; k < shown.size(); k++) {
    const Responses& r = responses[k];
    j["vectors"].push_back({{"rank", shown[k].rank},
                            {"value", shown[k].vector->value},
                            {"along", words_json(shown[k].vector->near.along)},
                            {"against", words_json(shown[k].vector->near.against)},
                            {"mean", r.mean},
                            {"passages", passages_json(r)}});
  }
  if (d.has_linear())
    j["linear"] = {{"along", words_json(d.linear_near.along)}, {"against", words_json(d.linear_near.against)}};
  return j;
}

struct PageReading {
  OrderedJson json;
  PageRunResult result;
};

// Shorter ones, "·the" and ".", are near to much and tell nothing.
constexpr size_t kTellingBytes = std::string_view("·four").size();

// How much an eigenvector tells: how near its words are to it, the better side, and how much more of the layer the
// eigenvectors explain than a linear map does. The page opens on the one that tells most.
double telling(const ReadDirection& d, const ShownVector& v, double linear) {
  double best = 0;
  for (const auto* side : {&v.near.along, &v.near.against}) {
    double sum = 0;
    for (const NearToken& t : *side)
      if (t.text.size() >= kTellingBytes) sum += t.cosine;
    best = std::max(best, side->empty() ? 0 : sum / static_cast<double>(side->size()));
  }
  return best * std::max(0.0, d.trust->eigenvectors_r2 - std::max(0.0, linear));
}

// One model: every layer read and looked for in its text.
PageReading read_for_page(const Engine& engine, const PageRequest& q, const RunSource& source, LanguageRun& run,
                          const Along& along) {
  const std::vector<size_t> layers = page_layers(q.layers, run.reading().layers());
  PageReading out;
  out.result.name =
      run.foreign() ? std::filesystem::path(source.run).filename().string() : short_run_name(run.directory());
  OrderedJson readings = OrderedJson::array();
  std::string looked_in;
  OrderedJson opens;
  double most_telling = -1;
  const size_t vectors = std::min(q.show.value_or(kPageVectors), kPageVectors);
  for (size_t i = 0; i < layers.size(); i++) {
    engine.progress({.label = "layers", .done = i, .total = layers.size(), .unit = "layers"});
    ReadRequest request;
    request.layer = layers[i], request.along = along, request.show = vectors;
    request.spectra = request.figures = false;
    const ReadResult r = read(engine, run, request);
    PassagesRequest look;
    look.layer = layers[i], look.count = kPagePassages, look.near = 1;
    size_t rows = 0;
    for (const ReadDirection& d : r.directions) rows += shown_vectors(d).size();
    look.vectors = Matrix<double>(rows, r.directions[0].form.spectrum.width());
    for (const ReadDirection& d : r.directions)
      for (const Shown& s : shown_vectors(d)) {
        if (const double t = telling(d, *s.vector, r.controls.linear.r2); t > most_telling)
          most_telling = t, opens = {{"layer", layers[i]}, {"unit", d.name}, {"rank", s.rank}};
        std::ranges::copy(d.form.spectrum.vectors.view().row(s.rank), look.vectors.view().row_ptr(look.values.size()));
        look.values.push_back(s.vector->value);
      }
    const PassagesResult found = passages(engine, run, look);
    looked_in = searched_text(found.text);
    const Fidelity& f = r.chosen().fidelity;
    OrderedJson reading = {{"layer", layers[i]},           {"form", name(r.form)},
                           {"fidelity", {{"r2", f.r2}}},   {"linear", r.controls.linear.r2},
                           {"warnings", r.text->warnings}, {"units", OrderedJson::array()}};
    if (f.r2_interval) reading["fidelity"]["interval"] = interval_json(f.r2_interval);
    if (const auto twin = r.controls.untrained.find(r.form); twin != r.controls.untrained.end())
      reading["untrained"] = twin->second.r2;
    size_t at = 0;
    for (const ReadDirection& d : r.directions) {
      const size_t count = shown_vectors(d).size();
      reading["units"].push_back(unit_json(d, std::span(found.responses).subspan(at, count)));
      at += count;
    }
    readings.push_back(std::move(reading));
    out.result.forms.resize(1);
    out.result.forms[0].name = name(r.form);
    Trust trust = f;
    trust.linear_share = 0;
    for (const ReadDirection& d : r.directions)
      trust.linear_share += d.trust->linear_share / static_cast<double>(r.directions.size());
    out.result.forms[0].layers.push_back({layers[i], name(r.form), trust});
    out.result.controls.push_back(r.controls);
  }
  const size_t all = run.reading().layers(), units = readings[0]["units"].size();
  const std::string left_out =
      "Packed in: " + std::to_string(layers.size()) + " of " + std::to_string(all) + " layers, " +
      std::to_string(units) + " of " + std::to_string(run.reading().vocab()) + " tokens, the " +
      std::to_string(vectors) + " strongest eigenvectors of each sign, and " + std::to_string(kPagePassages) +
      " passages of each. Left out: the other layers and tokens, all other eigenvectors, and the weights, so "
      "that no text can be typed in. A page can be made of any other layers, tokens and sentences.";
  out.json = {{"name", out.result.name},
              {"text", run.text()},
              {"layers", all},
              {"samples", run.samples()},
              {"passages", looked_in},
              {"readings", readings},
              {"leftOut", left_out},
              {"opens", opens},
              {"sentences", run.has_tokenizer() ? page_sentences(engine, run, q) : OrderedJson::array()}};
  return out;
}

// What the page is read along: what was asked for, or the most frequent tokens of the first model's text that the
// second has too.
Along page_directions(const PageRequest& q, LanguageRun& run, const LanguageRun* other) {
  if (!q.along.none()) return q.along;
  std::string list;
  size_t count = 0;
  for (const TokenId t : frequent_tokens(run, 8 * kPageTokens)) {
    const std::string piece = run.piece(t);
    // A word that people would choose, and one that the list can hold.
    if (piece.find(',') != piece.npos || !piece.starts_with("·")) continue;
    if (other) {
      try {
        find_token(token_space(*other), piece, "token");
      } catch (const Error&) {
        continue;
      }
    }
    list += (list.empty() ? "" : ",") + piece;
    if (++count == kPageTokens) break;
  }
  if (list.empty()) bad_argument(run.directory(), "no word of the text is a token", "tokens to read along, in `token`");
  Along along;
  along.directions.push_back("token:" + list);
  return along;
}

}  // namespace

PageResult write_readings_page(const Engine& engine, LanguageRun& run, const PageRequest& q) {
  RunSource second = q.source;
  second.run = q.second;
  const bool two = !q.second.empty();
  if (two && !is_foreign(second.run)) second.tokenizer.clear();
  if (two && run_kind(second.run) != ModelKind::language)
    bad_argument(q.second, "an image model cannot stand beside a language model", "a language model");
  const std::unique_ptr<LanguageRun> other = two ? open_language_run(engine, second) : nullptr;
  const Along along = page_directions(q, run, other.get());
  std::vector<PageReading> read = {};
  read.push_back(read_for_page(engine, q, q.source, run, along));
  if (two) read.push_back(read_for_page(engine, q, second, *other, along));
  if (two && read[0].json["readings"].size() != read[1].json["readings"].size())
    bad_argument(q.second, "the two models have different layers", "layers that both have, in `layers`");
  OrderedJson data = {{"kind", "readings"},
                      {"version", kVersion},
                      {"linalg", engine.linalg().description()},
                      {"runs", OrderedJson::array()}};
  PageResult result{.page = {}, .linalg = engine.linalg().description(), .language = true, .runs = {}};
  for (PageReading& r : read) {
    data["runs"].push_back(std::move(r.json));
    result.runs.push_back(std::move(r.result));
  }
  const Page page = page_within(SIZE_MAX, result.runs[0].name, "",
                                [&](bool) { return data.dump(-1, ' ', true, OrderedJson::error_handler_t::replace); });
  if (page.html.size() > q.limit)
    bad_argument(result.runs[0].name, "the page would have " + std::to_string(page.html.size()) + " bytes",
                 "at most " + std::to_string(q.limit) + " bytes",
                 "fewer `layers`, `token` or `show`, or a larger `limit`");
  if (q.out.empty())
    result.page = result_folder("", run.results()) + "/explorer.html";
  else
    result.page = q.out;
  result.bytes = page.html.size();
  write_atomic(engine.files(), result.page, page.html);
  return result;
}

}  // namespace glint

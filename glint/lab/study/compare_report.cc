// The comparison as JSON and as figures.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/lab/study/compare.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/comparison_figure.h"
#include "glint/report/panels.h"

namespace glint {
namespace {

// "sqs", or "sqs and relu"; one word for the models of a side.
std::string gates_of(const std::vector<ComparedModel>& side) {
  std::vector<std::string> gates;
  for (const ComparedModel& m : side)
    if (std::ranges::count(gates, m.gate) == 0) gates.push_back(m.gate);
  return joined(gates, " and ");
}

OrderedJson curves_json(const std::vector<PairComparison>& pairs, std::optional<size_t> unit = {}) {
  OrderedJson j;
  for (const Side side : kSides)
    for (const Measure m : kMeasures) {
      OrderedJson list = OrderedJson::array();
      for (const Spread& s : by_rank(pairs, m, side, unit))
        list.push_back({{"mean", s.mean}, {"sd", s.sd}, {"min", s.min}, {"pair_sd", s.pair_sd}, {"n", s.n}});
      j[std::string(name(side))][std::string(name(m))] = list;
    }
  return j;
}

OrderedJson model_json(const ComparedModel& m, bool language) {
  OrderedJson j = {{"run", m.directory}, {"gate", m.gate}, {"data", m.data}};
  j["seed"] = m.seed ? OrderedJson(*m.seed) : OrderedJson();
  j["form"] = name(m.form);
  if (language) j["layer"] = m.layer + 1, j["layers"] = m.layers;
  j.update(fidelity_json(m.fidelity, !language));
  if (m.controls) j["controls"] = controls_json(*m.controls, !language);
  return j;
}

}  // namespace

std::vector<FigureFile> draw_comparison(const Comparison& c, const std::string& folder) {
  std::vector<SimilarityLine> lines;
  const bool several = c.results.size() > 1;
  for (const Measure m : kMeasures) {
    SimilarityLine line{.name = std::string(title(m)), .mean = {}, .spread = {}, .control = {}};
    for (const Spread& s : by_rank(c.results, m, Side::both)) {
      line.mean.push_back(s.mean);
      line.spread.push_back(several ? s.pair_sd : s.sd);
    }
    for (const Spread& s : by_rank(c.control, m, Side::both)) line.control.push_back(s.mean);
    lines.push_back(line);
  }
  const std::string models = c.gates();
  const Chart chart = similarity_figure(models + ", " + c.a[0].data + ", form " + c.form +
                                            (several ? ", " + std::to_string(c.results.size()) + " pairs" : ""),
                                        lines,
                                        several      ? "pairs"
                                        : c.language ? "tokens and signs"
                                                     : "classes and signs");
  PanelGrid grid{.title = "|cos| between eigenvectors, " + models,
                 .notes = {"Rows: " + c.a[0].directory + ", columns: " + c.b[0].directory,
                           "In each: the top " + std::to_string(c.positive_rows) +
                               " above 0, then the top below 0, the strongest first; form " + c.form},
                 .panels = {},
                 .columns = 5,
                 .panel_width = 150,
                 .scale_bar = true};
  for (size_t u = 0; u < c.units.size(); u++)
    grid.panels.push_back({.values = c.matrices[u], .caption = {c.unit_names[u]}, .tone = PanelTone::share});
  return {{folder + "/compare", figure_of(chart)}, {folder + "/compare-matrix", {to_svg(grid), to_csv(grid)}}};
}

std::string_view title(Measure m) {
  return m == Measure::rank_matched ? "rank-matched" : m == Measure::best_matched ? "best-matched" : "top-k subspace";
}

std::string Comparison::gates() const { return gates_of(a) + " with " + gates_of(b); }

std::vector<SimilarityClaim> Comparison::claims() const {
  std::vector<SimilarityClaim> out;
  for (const Measure m : kMeasures) {
    SimilarityClaim claim{.measure = m};
    const std::vector<Spread> ranks = by_rank(results, m, Side::both);
    for (size_t r = 0; r < ranks.size(); r++) {
      if (r == 0 || (m == Measure::subspace && ranks[r].mean > claim.top))
        claim.top = ranks[r].mean, claim.top_rank = r + 1;
      if (ranks[r].mean < claim.lowest_mean) claim.lowest_mean = ranks[r].mean, claim.lowest_rank = r + 1;
      claim.lowest = std::min(claim.lowest, ranks[r].min);
    }
    if (!ranks.empty()) out.push_back(claim);
  }
  return out;
}

Comparison compare(const Engine& engine, const CompareRequest& request) {
  Comparison c = compare_runs(engine, request);
  for (const std::string& note : c.notes) engine.note(note);
  if (!request.figures) return c;
  const std::string& first = request.runs[0];
  c.figures = figures_directory(!request.out.empty() ? request.out
                                : is_foreign(first)  ? result_folder(reading_folder(first), "")
                                                     : first);
  write_figures(engine, draw_comparison(c, c.figures));
  return c;
}

OrderedJson to_json(const Comparison& c) {
  OrderedJson j = {{"schema", "glint-compare/1"}, {"linalg", c.linalg}};
  j["form"] = c.form;
  j["space"] = c.space;
  if (c.language) j["space_text"] = c.space_text;
  j["top"] = c.top;
  j["pairs"] = OrderedJson::array();
  for (size_t i = 0; i < c.results.size(); i++)
    j["pairs"].push_back({{"a", model_json(c.a[i], c.language)},
                          {"b", model_json(c.b[i], c.language)},
                          {"by_rank", curves_json({c.results[i]})}});
  j["by_rank"] = curves_json(c.results);
  j["control"] = {{"kind", c.random_control ? "random" : "runs"},
                  {"text", c.control_text},
                  {"pairs", c.control.size()},
                  {"by_rank", curves_json(c.control)}};
  const char* units = c.language ? "tokens" : "classes";
  j[units] = OrderedJson::array();
  for (size_t u = 0; u < c.units.size(); u++)
    j[units].push_back({{c.language ? "token" : "class", c.units[u]},
                        {"name", c.unit_names[u]},
                        {"by_rank", curves_json(c.results, u)},
                        {"control", curves_json(c.control, u)}});
  j["claim"] = {{"top", kClaimTop}, {"never_below", kClaimFloor}, {"measured", OrderedJson::array()}};
  for (const SimilarityClaim& k : c.claims())
    j["claim"]["measured"].push_back({{"measure", name(k.measure)},
                                      {"top", k.top},
                                      {"top_rank", k.top_rank},
                                      {"lowest_mean", k.lowest_mean},
                                      {"lowest", k.lowest},
                                      {"top_holds", k.top_holds()},
                                      {"never_below_holds", k.floor_holds()}});
  const char* inputs = c.space == "pixels"   ? "pixels ~ N(0, I)"
                       : c.space == "tokens" ? "embeddings of the common tokens, with weights ~ N(0, I)"
                       : c.language          ? "input of the layer ~ N(0, I)"
                                             : "input of the last layer ~ N(0, I)";
  j["functional"] = {{"inputs", inputs}, {"pairs", OrderedJson::array()}, {"control", OrderedJson::array()}};
  const auto add_functional = [&](const char* key, const std::vector<FunctionalSimilarity>& pairs) {
    for (const FunctionalSimilarity& f : pairs) j["functional"][key].push_back({{"all", f.all}, {units, f.unit}});
  };
  add_functional("pairs", c.functional);
  add_functional("control", c.functional_control);
  if (!c.figures.empty()) j["figures"] = c.figures;
  return j;
}

}  // namespace glint

#include "glint/lab/study/attack.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/report/chart.h"
#include "glint/report/panels.h"

namespace glint {
namespace {

Matrix<double> as_picture(std::span<const float> pixels, size_t height, size_t width) {
  Matrix<double> m(height, width);
  std::copy(pixels.begin(), pixels.end(), m.data());
  return m;
}

Chart curve_chart(const Attack& a) {
  Chart chart{.title = "Accuracy of " + a.run + " under masks from its weights",
              .x = Axis{.label = "strength (Euclidean length of the mask)"},
              .y = Axis{.label = "accuracy, mean over classes", .min = 0.0, .max = 1.0},
              .series = {},
              .legend = Legend::outside,
              .width = 760};
  constexpr Stroke kStrokes[] = {Stroke::solid, Stroke::dashed, Stroke::dotted};
  for (const AttackGoal goal : kGoals)
    for (const MaskKind kind : kMaskKinds) {
      const bool away = goal == AttackGoal::away, eigen = kind == MaskKind::eigen;
      Series line{
          .name = std::string(away ? "away, " : "towards, ") + (eigen ? "eigenvectors" : std::string(name(kind))),
          .points = {},
          .color = away ? colors::kVermilion : colors::kBlue,
          .stroke = kStrokes[static_cast<size_t>(kind)],
          .marker = eigen ? Marker::circle : Marker::none,
          .width = eigen ? 2.0 : 1.5};
      for (size_t s = 0; s < a.strengths.size(); s++) {
        const AttackSummary m = summary(a, goal, kind, s);
        Point p{.x = a.strengths[s], .y = m.accuracy};
        if (eigen && a.units.size() > 1)
          p.lower = std::max(0.0, m.accuracy - m.accuracy_sd), p.upper = std::min(1.0, m.accuracy + m.accuracy_sd);
        line.points.push_back(p);
      }
      chart.series.push_back(std::move(line));
    }
  return chart;
}

}  // namespace

std::vector<FigureFile> draw_attack(const Attack& a, const std::string& folder) {
  const size_t columns = std::min<size_t>(a.units.size(), 10);
  const std::string strength = number_text(a.shown_strength());
  PanelGrid masks{.title = "Masks from the weights of " + a.run,
                  .notes = {"Red is added, blue taken away; each has its own scale. Form " + name(a.form) + ", " +
                            std::to_string(a.terms) + " terms."},
                  .panels = {},
                  .columns = columns,
                  .panel_width = 96};
  PanelGrid examples{.title = "Images before and after the mask away from their class",
                     .notes = {"Strength " + strength + "; an image has " + fixed_text(a.image_length, 2) +
                               " on average. Below: what the model says."},
                     .panels = {},
                     .columns = columns,
                     .panel_width = 96};
  for (size_t first = 0; first < a.units.size(); first += columns) {
    const size_t last = std::min(first + columns, a.units.size());
    for (size_t g = 0; g < 2; g++)
      for (size_t u = first; u < first + columns; u++) {
        if (u >= last) {
          masks.panels.emplace_back(), examples.panels.emplace_back();
          continue;
        }
        masks.panels.push_back({.values = as_picture(a.results[u][g].masks[0], a.height, a.width),
                                .caption = {std::string(name(kGoals[g])), a.unit_names[u]},
                                .tone = PanelTone::diverging});
        const AttackExample& e = a.examples[u];
        Panel shown{.values = Matrix<double>(a.height, a.width), .caption = {"none", ""}};
        if (e.found) {
          shown.values = as_picture(g == 0 ? e.pixels : e.masked_pixels, a.height, a.width);
          shown.caption = {g == 0 ? "#" + std::to_string(e.index) : "masked", g == 0 ? e.plain_text : e.masked_text};
        }
        examples.panels.push_back(std::move(shown));
      }
  }
  return {{folder + "/attack-curve", figure_of(curve_chart(a))},
          {folder + "/attack-masks", {to_svg(masks), to_csv(masks)}},
          {folder + "/attack-examples", {to_svg(examples), to_csv(examples)}}};
}

OrderedJson to_json(const Attack& a) {
  OrderedJson j = {{"schema", "glint-attack/1"}, {"run", a.run},     {"linalg", a.linalg},      {"data", a.data},
                   {"form", name(a.form)},       {"terms", a.terms}, {"strengths", a.strengths}};
  j["fidelity"] = fidelity_json(a.fidelity, true);
  j["controls"] = controls_json(a.controls, true);
  j["image_length"] = a.image_length;
  for (const AttackGoal goal : kGoals)
    for (const MaskKind kind : kMaskKinds) {
      OrderedJson list = OrderedJson::array();
      for (size_t s = 0; s < a.strengths.size(); s++) {
        const AttackSummary m = summary(a, goal, kind, s);
        list.push_back({{"success", m.success},
                        {"success_sd", m.success_sd},
                        {"accuracy", m.accuracy},
                        {"accuracy_sd", m.accuracy_sd}});
      }
      j["all"][std::string(name(goal))][std::string(name(kind))] = list;
    }
  j["shown_strength"] = a.shown_strength();
  j["classes"] = OrderedJson::array();
  for (size_t u = 0; u < a.units.size(); u++) {
    OrderedJson unit = {{"class", a.units[u]}, {"name", a.unit_names[u]}};
    for (size_t g = 0; g < 2; g++)
      for (size_t k = 0; k < 3; k++) {
        OrderedJson list = OrderedJson::array();
        for (const AttackPoint& p : a.results[u][g].curve[k])
          list.push_back(
              {{"success", p.success}, {"accuracy", p.accuracy}, {"images", p.images}, {"eligible", p.eligible}});
        unit[std::string(name(kGoals[g]))][std::string(name(kMaskKinds[k]))] = list;
      }
    j["classes"].push_back(unit);
  }
  if (!a.figures.empty()) j["figures"] = a.figures;
  return j;
}

}  // namespace glint

// glint attack: masks read from the weights that change what a model decides, beside controls.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/attack_measure.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/figure_files.h"
#include "glint/cli/picture.h"
#include "glint/cli/verbs.h"
#include "glint/report/chart.h"
#include "glint/report/panels.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options : AttackOptions {
  ReadingOptions reading;
  std::string draw = "auto";
  bool no_figures = false;
};

std::string percent(double part) { return fixed_text(100 * part, 1); }

// A row a strength: over all classes, what is left of the accuracy and how many images go into the class.
std::string summary_table(const Options& o, const Attack& a) {
  Table table({{.header = "strength", .align = Align::right},
               {.header = "of an image", .align = Align::right},
               {.header = "away: accuracy %", .align = Align::right},
               {.header = "shuffled", .align = Align::right},
               {.header = "random", .align = Align::right},
               {.header = "towards: success %", .align = Align::right},
               {.header = "shuffled", .align = Align::right},
               {.header = "random", .align = Align::right}});
  for (size_t s = 0; s < o.strengths.size(); s++) {
    std::vector<std::string> cells = {number_text(o.strengths[s]),
                                      fixed_text(o.strengths[s] / a.image_length, 2)};
    for (const AttackGoal goal : kGoals)
      for (const MaskKind kind : kMaskKinds) {
        const AttackSummary m = summary(a, goal, kind, s);
        const bool away = goal == AttackGoal::away;
        std::string cell = percent(away ? m.accuracy : m.success);
        if (kind == MaskKind::eigen) cell += " ± " + percent(away ? m.accuracy_sd : m.success_sd);
        cells.push_back(cell);
      }
    table.add(cells);
  }
  return table.terminal();
}

std::string class_table(const Attack& a) {
  Table table({{.header = "class"},
               {.header = "away %", .align = Align::right},
               {.header = "shuffled", .align = Align::right},
               {.header = "random", .align = Align::right},
               {.header = "images", .align = Align::right},
               {.header = "towards %", .align = Align::right},
               {.header = "shuffled", .align = Align::right},
               {.header = "random", .align = Align::right},
               {.header = "images", .align = Align::right}});
  for (size_t u = 0; u < a.units.size(); u++) {
    std::vector<std::string> cells = {a.unit_names[u]};
    for (const AttackResult& result : a.results[u]) {
      for (size_t k = 0; k < 3; k++) cells.push_back(percent(result.curve[k][a.shown].success));
      cells.push_back(std::to_string(result.curve[0][a.shown].eligible));
    }
    table.add(cells);
  }
  return table.terminal();
}

Matrix<double> as_picture(std::span<const float> pixels, size_t height, size_t width) {
  Matrix<double> m(height, width);
  std::copy(pixels.begin(), pixels.end(), m.data());
  return m;
}

// An example image, plain (strength 0) or under the mask.
std::vector<float> example_pixels(const ImageSet& test, const AttackExample& e, std::span<const float> mask,
                                  double strength) {
  std::vector<float> out(test.pixels.cols());
  for (size_t i = 0; i < out.size(); i++)
    out[i] = std::clamp(
        static_cast<float>(test.pixels(e.index, i)) / 255.0f + static_cast<float>(strength) * mask[i], 0.0f,
        1.0f);
  return out;
}

std::string drawn(const Options& o, const OpenedRun& run, const Attack& a, const Drawing& drawing) {
  if (drawing.form == Drawing::Form::none) return "";
  const ImageSet& test = run.data().test;
  std::vector<Picture> masks, examples;
  for (size_t u = 0; u < a.units.size(); u++) {
    for (size_t g = 0; g < 2; g++) {
      Matrix<float> values(test.height, test.width);
      std::ranges::copy(a.results[u][g].masks[0], values.data());
      masks.push_back(signed_picture(values, {std::string(name(kGoals[g])), a.unit_names[u]}));
    }
    const AttackExample& e = a.examples[u];
    if (!e.found) continue;
    for (const double strength : {0.0, o.strengths[a.shown]}) {
      const std::vector<float> pixels = example_pixels(test, e, a.results[u][0].masks[0], strength);
      Picture p{.values = Matrix<float>(test.height, test.width)};
      std::ranges::copy(pixels, p.values.data());
      p.caption = {strength == 0 ? "#" + std::to_string(e.index) : "with the mask",
                   "said " + run.class_text(strength == 0 ? e.plain : e.masked)};
      examples.push_back(std::move(p));
    }
  }
  return "\nThe masks, away from and towards each class.\n\n" + draw(masks, drawing) +
         "\nImages before and after the mask away from their class, strength " +
         number_text(o.strengths[a.shown]) + ".\n\n" + draw(examples, drawing);
}

void report_text(Context& context, const Options& o, const OpenedRun& run, const Attack& a,
                 const std::string& figures) {
  std::ostream& out = context.out;
  out << "run:      " << run.run().directory << ", " << run.data().name << ", form " << o.form << ", "
      << o.terms << (o.terms == 1 ? " term" : " terms") << "\n"
      << "fidelity: the form gives " << fixed_text(a.fidelity.agreement, 3) << " of the decisions, R² "
      << fixed_text(a.fidelity.r2, 3) << "\n"
      << "strength: the Euclidean length of what is added; an image has " << fixed_text(a.image_length, 2)
      << " on average\n\n"
      << "All classes, mean ± sd over them. Away: accuracy on the images of a class under its mask.\n"
      << "Towards: share of the other images that the mask brings into the class.\n"
      << summary_table(o, a) << "\n"
      << "By class at strength " << number_text(o.strengths[a.shown])
      << ": success, of the images that the plain model puts in (away) or out (towards).\n"
      << class_table(a) << drawn(o, run, a, detect_drawing(detect_terminal(1), o.draw));
  if (!figures.empty())
    out << "\nfigures:  " << figures
        << "/attack-curve.svg, attack-masks.svg, attack-examples.svg (.png, .csv)\n";
}

void report_json(Context& context, const Options& o, const OpenedRun& run, const Attack& a,
                 const std::string& figures) {
  ordered_json j = {{"run", run.run().directory},
                    {"data", run.data().name},
                    {"form", o.form},
                    {"terms", o.terms},
                    {"strengths", o.strengths}};
  j["fidelity"] = {{"agreement", a.fidelity.agreement}, {"r2", a.fidelity.r2}};
  j["image_length"] = a.image_length;
  for (const AttackGoal goal : kGoals)
    for (const MaskKind kind : kMaskKinds) {
      ordered_json list = ordered_json::array();
      for (size_t s = 0; s < o.strengths.size(); s++) {
        const AttackSummary m = summary(a, goal, kind, s);
        list.push_back({{"success", m.success},
                        {"success_sd", m.success_sd},
                        {"accuracy", m.accuracy},
                        {"accuracy_sd", m.accuracy_sd}});
      }
      j["all"][std::string(name(goal))][std::string(name(kind))] = list;
    }
  j["shown_strength"] = o.strengths[a.shown];
  j["classes"] = ordered_json::array();
  for (size_t u = 0; u < a.units.size(); u++) {
    ordered_json unit = {{"class", a.units[u]}, {"name", a.unit_names[u]}};
    for (size_t g = 0; g < 2; g++)
      for (size_t k = 0; k < 3; k++) {
        ordered_json list = ordered_json::array();
        for (const AttackPoint& p : a.results[u][g].curve[k])
          list.push_back({{"success", p.success},
                          {"accuracy", p.accuracy},
                          {"images", p.images},
                          {"eligible", p.eligible}});
        unit[std::string(name(kGoals[g]))][std::string(name(kMaskKinds[k]))] = list;
      }
    j["classes"].push_back(unit);
  }
  if (!figures.empty()) j["figures"] = figures;
  context.print_json(j);
}

Chart curve_chart(const Options& o, const OpenedRun& run, const Attack& a) {
  Chart chart{.title = "Accuracy of " + run.run().directory + " under masks from its weights",
              .x = {.label = "strength (Euclidean length of the mask)"},
              .y = {.label = "accuracy, mean over classes", .min = 0.0, .max = 1.0},
              .series = {},
              .legend = Legend::outside,
              .width = 760};
  constexpr Stroke kStrokes[] = {Stroke::solid, Stroke::dashed, Stroke::dotted};
  for (const AttackGoal goal : kGoals)
    for (const MaskKind kind : kMaskKinds) {
      const bool away = goal == AttackGoal::away, eigen = kind == MaskKind::eigen;
      Series line{.name = std::string(away ? "away, " : "towards, ") +
                          (eigen ? "eigenvectors" : std::string(name(kind))),
                  .points = {},
                  .color = away ? colors::kVermilion : colors::kBlue,
                  .stroke = kStrokes[static_cast<size_t>(kind)],
                  .marker = eigen ? Marker::circle : Marker::none,
                  .width = eigen ? 2.0 : 1.5};
      for (size_t s = 0; s < o.strengths.size(); s++) {
        const AttackSummary m = summary(a, goal, kind, s);
        Point p{.x = o.strengths[s], .y = m.accuracy};
        if (eigen && a.units.size() > 1)
          p.lower = std::max(0.0, m.accuracy - m.accuracy_sd),
          p.upper = std::min(1.0, m.accuracy + m.accuracy_sd);
        line.points.push_back(p);
      }
      chart.series.push_back(std::move(line));
    }
  return chart;
}

std::vector<FigureFile> draw_figures(const Options& o, const OpenedRun& run, const Attack& a,
                                     const std::string& folder) {
  const ImageSet& test = run.data().test;
  const size_t columns = std::min<size_t>(a.units.size(), 10);
  const std::string strength = number_text(o.strengths[a.shown]);
  PanelGrid masks{.title = "Masks from the weights of " + run.run().directory,
                  .notes = {"Red is added, blue taken away; each has its own scale. Form " + o.form + ", " +
                            std::to_string(o.terms) + " terms."},
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
        masks.panels.push_back({.values = as_picture(a.results[u][g].masks[0], test.height, test.width),
                                .caption = {std::string(name(kGoals[g])), a.unit_names[u]},
                                .tone = PanelTone::diverging});
        const AttackExample& e = a.examples[u];
        Panel shown{.values = Matrix<double>(test.height, test.width), .caption = {"none", ""}};
        if (e.found) {
          shown.values =
              as_picture(example_pixels(test, e, a.results[u][0].masks[0], g == 0 ? 0 : o.strengths[a.shown]),
                         test.height, test.width);
          shown.caption = {g == 0 ? "#" + std::to_string(e.index) : "masked",
                           run.class_text(g == 0 ? e.plain : e.masked)};
        }
        examples.panels.push_back(std::move(shown));
      }
  }
  const Chart chart = curve_chart(o, run, a);
  return {{folder + "/attack-curve", to_svg(chart), to_csv(chart)},
          {folder + "/attack-masks", to_svg(masks), to_csv(masks)},
          {folder + "/attack-examples", to_svg(examples), to_csv(examples)}};
}

void attack(Context& context, const Options& o) {
  for (const double s : o.strengths)
    if (s < 0 || s > 1000)
      throw Error({.code = ErrorCode::usage,
                   .what = number_text(s) + " is no strength",
                   .where = "--strengths",
                   .expected = "numbers from 0 to 1000",
                   .hint = "--strengths 0,1,2,4,8"});
  const Engine engine = engine_of(context);
  OpenedRun run(context, engine, o.reading);
  const Attack a = measure_attack(run, o, context.shared.seed);
  std::string folder;
  if (!o.no_figures) {
    folder =
        figures_directory(context, context.shared.out.empty() ? run.run().directory : context.shared.out);
    write_figures(context, engine.pool(), draw_figures(o, run, a, folder));
  }
  context.shared.json ? report_json(context, o, run, a, folder) : report_text(context, o, run, a, folder);
}

}  // namespace

void add_attack(Program& program) {
  Verb& verb = program.add(
      {.name = "attack",
       .group = Group::read,
       .summary = "masks from the weights that change what a model decides",
       .details =
           "A mask is one picture that is added to every image alike, cut to the range of pixels. It comes "
           "from the weights and the mean image alone: the gradient of a class's quadratic form, kept to its "
           "strongest eigenvectors. Away from a class it grows what speaks against it, towards a class what "
           "speaks for it. Deeper models: the gradient walks down through the layers, kept to as many "
           "eigenvectors in each.\n\n"
           "Accuracy and success against the strength of the mask stand beside two controls of equal length: "
           "the same pixels shuffled, and random numbers. Where those do as much, the mask says nothing.",
       .examples = {
           {"glint attack runs/first", "all classes: tables, masks, curve"},
           {"glint attack runs/first --unit 3 --terms 1 --strengths 0,1,2,4,8 --draw blocks",
            "one class, one eigenvector, drawn in the terminal"},
           {"glint attack runs/first --form weights --json --no-figures", "numbers for a program"}}});
  const auto o = std::make_shared<Options>();
  add_reading_options(verb, o->reading);
  verb.text("--unit", o->unit, "Classes: all, 3, 3..5, or 0,2,7..9", {.placeholder = "LIST"});
  verb.size("--terms", o->terms, 1, 64, "Eigenvectors in a mask");
  verb.reals("--strengths", o->strengths, "Euclidean lengths of the mask, with commas between them");
  verb.choice("--form", o->form, {"weights", "calibrated"},
              "How gates are read: as the identity (the paper), or by lines measured on data");
  verb.size("--images", o->images, 1, 1000000, "Test images for each mask, at most");
  verb.choice("--draw", o->draw, drawing_words(), "How to draw in the terminal");
  verb.flag("--no-figures", o->no_figures, "Write no figures");
  verb.share_seed();
  verb.share_out("Where the folder figures goes; default: the run");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { attack(context, *o); });
}

}  // namespace glint::cli

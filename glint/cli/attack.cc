// glint attack: masks read from the weights that change what a model decides, beside controls.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/verbs.h"
#include "glint/lab/study/attack.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct AttackFlags : AttackRequest {
  std::string draw = "auto";
};

std::string percent(double part) { return fixed_text(100 * part, 1); }

std::string fidelity_words(const Fidelity& f) {
  return "decides as the model on " + percent(f.agreement) + " %, R² " + fixed_text(f.r2, 3) + " (rescaled " +
         fixed_text(f.r2_scaled, 3) + ")";
}

// A row per strength: over all classes, what is left of the accuracy and how many images go into the class.
std::string summary_table(const Attack& a) {
  Table table(headers({}, {"strength", "of an image", "away: accuracy %", "shuffled", "random", "towards: success %",
                           "shuffled", "random"}));
  for (size_t s = 0; s < a.strengths.size(); s++) {
    std::vector<std::string> cells = {number_text(a.strengths[s]), fixed_text(a.strengths[s] / a.image_length, 2)};
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
  return table.terminal(result_columns());
}

std::string class_table(const Attack& a) {
  Table table(
      headers({"class"}, {"away %", "shuffled", "random", "images", "towards %", "shuffled", "random", "images"}));
  for (size_t u = 0; u < a.units.size(); u++) {
    std::vector<std::string> cells = {a.unit_names[u]};
    for (const AttackResult& result : a.results[u]) {
      for (size_t k = 0; k < 3; k++) cells.push_back(percent(result.curve[k][a.shown].success));
      cells.push_back(std::to_string(result.curve[0][a.shown].eligible));
    }
    table.add(cells);
  }
  return table.terminal(result_columns());
}

std::string drawn(const Attack& a, const Drawing& drawing) {
  if (drawing.form == Drawing::Form::none) return "";
  std::vector<Picture> masks, examples;
  for (size_t u = 0; u < a.units.size(); u++) {
    for (size_t g = 0; g < 2; g++) {
      Matrix<float> values(a.height, a.width);
      std::ranges::copy(a.results[u][g].masks[0], values.data());
      masks.push_back(signed_picture(values, {std::string(name(kGoals[g])), a.unit_names[u]}));
    }
    const AttackExample& e = a.examples[u];
    if (!e.found) continue;
    for (const bool masked : {false, true}) {
      Picture p{.values = Matrix<float>(a.height, a.width)};
      std::ranges::copy(masked ? e.masked_pixels : e.pixels, p.values.data());
      p.caption = {masked ? "with the mask" : "#" + std::to_string(e.index),
                   "said " + (masked ? e.masked_text : e.plain_text)};
      examples.push_back(std::move(p));
    }
  }
  return "\nThe masks, away from and towards each class.\n\n" + draw(masks, drawing) +
         "\nImages before and after the mask away from their class, strength " + number_text(a.shown_strength()) +
         ".\n\n" + draw(examples, drawing);
}

void report_text(Context& context, const AttackFlags& o, const Attack& a) {
  std::ostringstream out;
  out << "run:      " << a.run << ", " << a.data << ", form " << name(a.form)
      << (o.source.refine ? " (refined), " : ", ") << a.terms << (a.terms == 1 ? " term" : " terms") << "\n"
      << "fidelity: " << fidelity_words(a.fidelity) << "; even share of the layer " << percent(a.fidelity.even_share)
      << " %; on the mirror images, -x, it decides as the model on " << percent(a.fidelity.mirrored->agreement)
      << " %\n"
      << "controls: the best linear map " << fidelity_words(a.controls.linear)
      << "; the same form of an untrained model " << fidelity_words(a.controls.untrained.at(a.form)) << "\n"
      << "strength: the Euclidean length of what is added; an image has " << fixed_text(a.image_length, 2)
      << " on average\n\n"
      << "All classes, mean ± sd over them. Away: accuracy on the images of a class under its mask.\n"
      << "Towards: share of the other images that the mask brings into the class.\n"
      << summary_table(a) << "\n"
      << "By class at strength " << number_text(a.shown_strength())
      << ": success, of the images that the plain model puts in (away) or out (towards).\n"
      << class_table(a) << drawn(a, detect_drawing(detect_terminal(1), o.draw));
  if (!a.figures.empty())
    out << "\nfigures:  " << a.figures << "/attack-curve.svg, attack-masks.svg, attack-examples.svg (.png, .csv)\n";
  context.out << prose(out.str(), result_columns());
}

void run_attack(Context& context, const AttackFlags& o) {
  const Attack a = attack(engine_of(context), o);
  context.next = {"glint spectrum " + a.run, "glint page " + a.run};
  context.shared.json ? context.print_json(to_json(a)) : report_text(context, o, a);
}

}  // namespace

void add_attack(Program& program) {
  Verb& verb = program.add(
      {.name = "attack",
       .group = Group::read,
       .summary = "masks from the weights that change what a model decides",
       .details = "A mask is one picture that is added to every image alike, cut to the range of pixels. It comes "
                  "from the weights and the mean image alone: the gradient of a class's quadratic form, kept to its "
                  "strongest eigenvectors. Away from a class it grows what speaks against it, towards a class what "
                  "speaks for it. Deeper models: the gradient walks down through the layers, kept to as many "
                  "eigenvectors in each.\n\n"
                  "Accuracy and success against the strength of the mask stand beside two controls of equal length: "
                  "the same pixels shuffled, and random numbers. Where those do as much, the mask says nothing.",
       .examples = {{"glint attack runs/first", "all classes: tables, masks, curve"},
                    {"glint attack runs/first --unit 3 --show 1 --strengths 0,1,2,4,8 --draw blocks",
                     "one class, one eigenvector, drawn in the terminal"},
                    {"glint attack runs/first --form weights --json --no-figures", "numbers for a program"}}});
  const auto o = std::make_shared<AttackFlags>();
  verb.add(fields_of(*o));
  verb.add(draw_field(o->draw));
  verb.share_engine();
  verb.run([o](Context& context) { run_attack(context, *o); });
}

}  // namespace glint::cli

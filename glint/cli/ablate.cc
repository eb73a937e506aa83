// glint ablate: takes eigenvectors out of what a layer reads, and shows what the model does then.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/lab/study/ablate.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

std::string share_percent(double part) { return std::isfinite(part) ? fixed_text(100 * part, 1) : "-"; }
std::string three_decimals(double v) { return fixed_text(v, 3); }
std::string two(double v) { return fixed_text(v, 2); }
std::string change_text(const std::string& before, const std::string& after) { return before + " → " + after; }

std::string count_text(size_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// What the classes of an image model, or the tokens of a language model, are scored by.
std::string score(const Ablation& r, const Score& s) {
  if (s.inputs == 0) return "-";
  return r.kind == ModelKind::image ? share_percent(s.accuracy) : three_decimals(s.loss);
}

std::string values_text(const std::vector<RemovedVector>& removed) {
  std::string text;
  for (size_t i = 0; i < removed.size() && i < 3; i++) text += (i ? " " : "") + typed_number(removed[i].value);
  return removed.size() > 3 ? text + " …" : text;
}

std::string each_table(const Ablation& r) {
  const bool image = r.kind == ModelKind::image;
  Table table(headers({"direction"}, {"eigenvalues", image ? "accuracy %" : "loss",
                                      image ? "of the class %" : "of the token", "r", "slope"}));
  for (const AblationEffect& e : r.each) {
    std::string own = "-";
    if (e.own_class) {
      const ClassEffect& c = e.classes[*e.own_class];
      own = change_text(score(r, c.before), score(r, c.after));
    }
    table.add(
        {e.direction, values_text(e.removed), score(r, e.after), own, two(e.change.correlation), two(e.change.slope)});
  }
  return table.terminal(result_columns());
}

std::string class_table(const Ablation& r) {
  const bool image = r.kind == ModelKind::image;
  Table table(headers({image ? "class" : "token"}, {image ? "images" : "times", image ? "accuracy %" : "loss",
                                                    image ? "its logit" : "layer's output", "r", "slope"}));
  for (const ClassEffect& c : r.all.classes)
    table.add({c.name, std::to_string(c.before.inputs), change_text(score(r, c.before), score(r, c.after)),
               c.before.inputs ? change_text(two(c.output_before), two(c.output_after)) : "-",
               c.change ? two(c.change->correlation) : "-", c.change ? two(c.change->slope) : "-"});
  return table.terminal(result_columns());
}

std::string removed_text(const Ablation& r) {
  const size_t directions = r.each.empty() ? 1 : r.each.size(), vectors = r.all.removed.size() / directions;
  std::string text = count_text(vectors, "eigenvector of ", "eigenvectors of ");
  text += directions == 1 ? r.all.direction : "each of " + std::to_string(directions) + " directions";
  text += ": " + count_text(r.all.dimensions, "dimension", "dimensions") + " of " + std::to_string(r.width);
  if (r.scale != 0) text += ", scaled by " + number_text(r.scale);
  return text;
}

void report_text(Context& context, const Ablation& r) {
  std::ostringstream out;
  const bool image = r.kind == ModelKind::image;
  out << "run:      " << r.run << " (" << r.model_text << ")\n"
      << "data:     " << r.data << ", " << r.before.inputs << (image ? " test images" : " tokens") << "\n"
      << "reading:  form " << name(r.form) << ", layer " << r.layer + 1 << " of " << r.layers << "\n"
      << (r.scale == 0 ? "removed:  " : "changed:  ") << removed_text(r) << "\n"
      << "loss:     " << change_text(fixed_text(r.before.loss, 4), fixed_text(r.all.after.loss, 4)) << "\n"
      << "accuracy: " << change_text(share_percent(r.before.accuracy), share_percent(r.all.after.accuracy)) << " %\n"
      << "predicted: the change of the outputs with r " << three_decimals(r.all.change.correlation) << ", slope "
      << three_decimals(r.all.change.slope) << "\n";
  if (!r.each.empty())
    out << "\nEach direction by itself: the model without its eigenvectors alone.\n" << each_table(r);
  if (!r.all.classes.empty())
    out << "\n"
        << (r.each.empty() ? "" : "All of them together. ")
        << (image ? "Before → after, over the images of each class.\n"
                  : "Before → after, where the token comes next.\n")
        << class_table(r);
  out << "\nr, slope: the true change of an output against the one that the reading "
         "predicts. 1 and 1: the eigenvectors do what the reading says.\n";
  if (!r.saved.empty()) out << "\nsaved:    " << r.saved << "\n";
  context.out << prose(out.str(), result_columns());
}

void run_ablate(Context& context, const AblationRequest& request) {
  const Ablation r = ablate(engine_of(context), request);
  if (r.saved.empty()) {
    context.next = {"glint readability " + r.run};
  } else {
    context.next = {"glint eval " + r.saved};
    if (r.kind == ModelKind::image) context.next.push_back("glint page " + r.run + " " + r.saved);
  }
  context.shared.json ? context.print_json(to_json(r)) : report_text(context, r);
}

}  // namespace

void add_ablate(Program& program) {
  Verb& verb = program.add(
      {.name = "ablate",
       .group = Group::read,
       .summary = "a model without some of its eigenvectors: does it do what they say?",
       .details = "Removes the directions of chosen eigenvectors from what a layer reads, or scales them, and shows "
                  "accuracy, loss and outputs before and after: of all inputs and of each class (language models: "
                  "next-token loss, of all tokens and of each token asked for). The input is not brought back to "
                  "its old length. In a layer with biases the constant 1 stays.\n\n"
                  "A reading predicts what the change should be: reading(x) - reading(x'). r is the correlation of "
                  "the true change with that prediction over the data, slope how much of the predicted change "
                  "really comes. Both are 1 for a bilinear model. A form that decides as the model does but has a "
                  "low r or slope describes the model without being how it works. Language models: the output is "
                  "what the layer adds along the token.\n\n"
                  "--save writes the changed model as a run of its own, with the directions taken out of its "
                  "weights.",
       .examples = {{"glint ablate runs/first", "the strongest eigenvector of each class, one class at a time and all"},
                    {"glint ablate runs/first --unit 3 --remove 1..5", "the five strongest of class 3"},
                    {"glint ablate runs/first --unit 3 --remove 2 --scale 0.5", "its second strongest, halved"},
                    {"glint ablate runs/first --unit 3 --save runs/without-3", "keep the changed model"},
                    {"glint ablate runs/stories --token happy --layer 2", "a language model"},
                    {"glint ablate stories15M.bin --token happy --layer 2 --text stories.txt",
                     "a model of another program, on a text of your own"}}});
  const auto o = std::make_shared<AblationRequest>();
  verb.add(fields_of(*o));
  verb.share_engine();
  verb.run([o](Context& context) { run_ablate(context, *o); });
}

}  // namespace glint::cli

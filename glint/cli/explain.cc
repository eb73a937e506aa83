// glint explain: one image or the next token of a text, what the model makes of it, and which eigenvectors
// speak for and against.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/cli/engine_of.h"
#include "glint/cli/explain_token_view.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/read/explain.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct ExplainFlags {
  ExplainRequest request;
  std::string draw = "auto";
};

std::string logits_text(const ExplainResult& r) {
  Table table(headers({"class"}, {"logit", "probability %"}, {""}));
  for (size_t i = 0; i < std::min<size_t>(5, r.order.size()); i++) {
    const size_t c = r.order[i];
    table.add({r.class_texts[c], fixed_text(r.logits[c], 3), percent_text(r.probabilities[c], 2),
               bar(r.probabilities[c], 1, 20)});
  }
  return table.terminal(result_columns());
}

std::string sums_text(const ExplainResult& r) {
  Table table(headers({"class", "form"}, {"for", "against", "linear", "bias, residual", "rest", "logit"}));
  for (size_t i = 0; i < r.classes.size(); i++) {
    const ClassExplanation& a = r.classes[i];
    for (const FormInfo& info : kFormTable) {
      if (!a.sums[info.form]) continue;
      const FormSums& f = *a.sums[info.form];
      const double rest = a.logit - f.total();
      const bool tiny = std::fabs(rest) < 5e-4;
      table.add({r.shown[i].name, name(info.form), fixed_text(f.positive, 3), fixed_text(f.negative, 3),
                 fixed_text(f.linear, 3), fixed_text(f.constant + f.residual_logit, 3),
                 tiny ? typed_number(rest) : fixed_text(rest, 3), fixed_text(a.logit, 3)});
    }
  }
  return table.terminal(result_columns());
}

std::string terms_text(const ExplainResult& r, const Drawing& drawing) {
  double largest = 0;
  for (const ExplainedClass& c : r.shown)
    for (const auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side) largest = std::max(largest, std::fabs(t.contribution));
  for (const ExplainedClass& c : r.shown) largest = std::max(largest, std::fabs(c.linear));
  std::string out;
  for (const ExplainedClass& c : r.shown) {
    out += "\n" + c.name + ": logit " + fixed_text(c.logit, 3) + "\n";
    if (drawing.form == Drawing::Form::none) {
      Table table(headers({"side"}, {"rank", "eigenvalue", "v.x", "contribution"}, {""}));
      for (const auto* side : {&c.forward, &c.against})
        for (const ExplainedTerm& t : *side)
          table.add({side == &c.forward ? "for" : "against", std::to_string(t.rank), typed_number(t.eigenvalue),
                     fixed_text(t.projection, 3), fixed_text(t.contribution, 3), bar(t.contribution, largest, 20)});
      if (!c.linear_pixels.empty())
        table.add({"linear part", "", "", "", fixed_text(c.linear, 3), bar(c.linear, largest, 20)});
      out += table.terminal(result_columns());
      continue;
    }
    std::vector<Picture> pictures;
    const auto add = [&](const std::vector<double>& pixels, double contribution, std::vector<std::string> below) {
      Matrix<float> values(r.size.height, r.size.width);
      std::transform(pixels.begin(), pixels.end(), values.data(), [](double v) { return static_cast<float>(v); });
      const std::string b =
          drawing.form == Drawing::Form::ascii
              ? std::string(static_cast<size_t>(std::lround(14 * std::fabs(contribution) / largest)), '=')
              : bar(contribution, largest, 14);
      below.insert(below.begin(), {b, (contribution > 0 ? "for " : "against ") + typed_number(contribution)});
      pictures.push_back(signed_picture(values, below));
    };
    for (const auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side)
        add(t.pixels, t.contribution,
            {"eigen " + typed_number(t.eigenvalue), "v.x " + fixed_text(std::fabs(t.projection), 2)});
    if (!c.linear_pixels.empty()) add(c.linear_pixels, c.linear, {"linear part"});
    out += draw(pictures, drawing);
  }
  return out;
}

void report_text(Context& context, const std::string& draw_word, const ExplainResult& r) {
  Drawing drawing = detect_drawing(detect_terminal(1), draw_word);
  if (r.pixels.empty()) drawing.form = Drawing::Form::none;  // a vector
  std::ostringstream out;
  out << "run:   " << r.run << " (" << r.model << ")\n";
  out << "input: " << r.input << "\n";
  if (!r.prepared.empty()) out << "       " << r.prepared << "\n";
  out << "model: " << verdict_text(r) << "\n\n";
  if (drawing.form != Drawing::Form::none)
    out << draw({gray_picture(r.pixels, r.size.height, r.size.width)}, drawing) << "\n";
  out << logits_text(r)
      << "\nEach logit split by each form: eigenvectors for and against, the form's linear part, what "
         "reaches the logit past the layer, and the rest, which the form leaves out (local is exact for this "
         "input):\n"
      << sums_text(r);
  out << trust_text(r) << "\n\nThe strongest eigenvectors, " << name(r.form)
      << " form; contribution = eigenvalue (v.x)^2:\n";
  if (r.layers > 1)
    out << "The eigenvectors are those of the last layer; a picture is the strongest eigenvector below, "
           "walked down to the pixels.\n";
  out << terms_text(r, drawing);
  if (!r.figure.empty()) out << "\nfigure: " << r.figure << " (.png, .csv)\n";
  context.out << prose(out.str(), result_columns());
}

void run_explain_token(Context& context, const Engine& engine, LanguageRun& run, const ExplainFlags& o) {
  refuse_drawing(o.draw, run.directory());
  const ExplainTokenResult result = explain_token(engine, run, o.request);
  context.next = {kHelpReading};
  if (context.shared.json) return context.print_json(to_json(result));
  context.out << prose(explain_token_text(result, result_columns()), result_columns());
}

void run_explain(Context& context, const ExplainFlags& o) {
  const Engine engine = engine_of(context);
  const std::unique_ptr<Run> run = open_run(engine, o.request.source);
  if (run->kind() == ModelKind::language) return run_explain_token(context, engine, run->language(), o);
  const ExplainResult result = explain(engine, run->image(), o.request);
  context.next = {"glint page " + result.run, kHelpReading};
  if (context.shared.json)
    context.print_json(to_json(result));
  else
    report_text(context, o.draw, result);
}

}  // namespace

void add_explain(Program& program) {
  Verb& verb = program.add(
      {.name = "explain",
       .group = Group::read,
       .summary = "why a model decides as it does on one input",
       .details = "Image models: the decision and its probabilities, and for the decided class, the runner-up and "
                  "the true class the eigenvectors that contribute most, for and against. Every form's account of "
                  "the logit stands beside the logit itself; the local form is exact for the image. A picture of "
                  "your own is brought to the size and place that the training images have, and it says how.\n\n"
                  "Language models, also those of other programs: why this next token after --prompt. Its logit, or "
                  "with --against the difference of two logits, is split into what the embedding, the attention "
                  "and the GLU of every layer add to it directly; then the GLU of a layer (--layer; default: the "
                  "one that adds most) into eigenvectors, each with the tokens nearest to it on the side on which "
                  "the text is. The sum of the parts is checked against the logit. A token is a word, a piece as "
                  "glint prints it, or #ID.",
       .examples = {{"glint explain runs/first", "the first test image"},
                    {"glint explain runs/first --index 7", "test image 7; figure in runs/first/figures"},
                    {"glint explain runs/first --image mine.png --form local", "a drawing, by the exact local form"},
                    {"glint explain runs/sqs --index 8 --unit trouser,coat --json", "two classes, for a program"},
                    {"glint explain runs/tales --prompt \"once upon a\"", "why the model goes on as it does"},
                    {"glint explain stories15M.bin --prompt \"Tim was sad. He\" --token cried --against smiled",
                     "why one word rather than another"}}});
  const auto o = std::make_shared<ExplainFlags>();
  verb.add(fields_of(o->request));
  verb.add(draw_field(o->draw));
  verb.share_engine();
  verb.run([o](Context& context) { run_explain(context, *o); });
}

}  // namespace glint::cli

// glint explain: one image or the next token of a text, what the model makes of it, and which eigenvectors
// speak for and against.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/utf8.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/spectrum_view.h"
#include "glint/cli/verbs.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/explain_token.h"
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

// An explained token as text for the terminal.
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

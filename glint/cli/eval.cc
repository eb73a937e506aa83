// glint eval: how good a trained model is, what it confuses, and where it is most wrong.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/data_words.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct EvalFlags : EvaluationRequest {
  std::string precision, draw = "auto";
};

std::string percent(double part, int decimals) { return std::isfinite(part) ? fixed_text(100 * part, decimals) : "-"; }

size_t widest_line(const std::string& text) {
  size_t widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, display_width(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

// Makes the word that has `after` words behind it in its line bold.
std::string bold_word(std::string line, size_t after) {
  size_t end = line.size();
  const auto before = [&](size_t from, bool space) {  // the end of the stretch before `from`
    while (from > 0 && (line[from - 1] == ' ') == space) from--;
    return from;
  };
  for (size_t i = 0; i < after; i++) end = before(before(end, false), true);
  const size_t start = before(end, false);
  return line.substr(0, start) + "\x1b[1m" + line.substr(start, end - start) + "\x1b[0m" + line.substr(end);
}

std::string confusion_text(const ImageEvaluation& r, bool bold) {
  std::vector<Column> columns = {{.header = "true"}};
  for (size_t c = 0; c < r.classes.size(); c++) columns.push_back({.header = std::to_string(c), .align = Align::right});
  columns.push_back({.header = "rec %", .align = Align::right});
  columns.push_back({.header = "prec %", .align = Align::right});
  Table table(columns);
  for (size_t c = 0; c < r.classes.size(); c++) {
    std::vector<std::string> cells = {r.class_text(c)};
    for (size_t d = 0; d < r.classes.size(); d++)
      cells.push_back(r.confusion(c, d) ? std::to_string(r.confusion(c, d)) : "·");
    cells.push_back(percent(r.classes[c].recall(), 1));
    cells.push_back(percent(r.classes[c].precision(), 1));
    table.add(cells);
  }
  const std::string plain = table.terminal(result_columns());
  const auto lines = static_cast<size_t>(std::count(plain.begin(), plain.end(), '\n'));
  if (!bold || lines != r.classes.size() + 2) return plain;  // a table that was broken to fit has other lines
  std::string out;
  size_t row = 0;
  for (size_t at = 0; at < plain.size(); row++) {
    const size_t end = plain.find('\n', at);
    const std::string line = plain.substr(at, end - at);
    constexpr size_t kHead = 2;  // headers and rule
    out += (row < kHead ? line : bold_word(line, r.classes.size() - (row - kHead) + 1)) + "\n";
    at = end + 1;
  }
  return out;
}

// For more classes than a screen can show as a matrix.
std::string class_tables(const ImageEvaluation& r) {
  Table table(headers({"class"}, {"images", "recall %", "precision %"}));
  struct Pair {
    size_t count, label, predicted;
  };
  std::vector<Pair> pairs;
  for (size_t c = 0; c < r.classes.size(); c++) {
    table.add({r.class_text(c), std::to_string(r.classes[c].images), percent(r.classes[c].recall(), 1),
               percent(r.classes[c].precision(), 1)});
    for (size_t d = 0; d < r.classes.size(); d++)
      if (d != c && r.confusion(c, d)) pairs.push_back({r.confusion(c, d), c, d});
  }
  std::string out = table.terminal(result_columns());
  if (pairs.empty()) return out;
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.count > b.count; });
  Table most(headers({"true", "predicted"}, {"images"}));
  for (size_t i = 0; i < std::min<size_t>(10, pairs.size()); i++)
    most.add({r.class_text(pairs[i].label), r.class_text(pairs[i].predicted), std::to_string(pairs[i].count)});
  return out + "\nThe most frequent confusions:\n" + most.terminal(result_columns());
}

std::string worst_text(const ImageEvaluation& r, const Drawing& drawing) {
  std::string out = "\nThe " + std::to_string(r.worst.size()) + " images with the highest loss:\n";
  if (drawing.form != Drawing::Form::none && r.height > 0) {
    std::vector<Picture> pictures;
    for (const WorstImage& w : r.worst)
      pictures.push_back(gray_picture(
          w.pixels, r.height, r.width,
          {"#" + std::to_string(w.index) + " loss " + fixed_text(w.loss, 1), "true " + r.classes[w.label].name,
           "said " + r.classes[w.predicted].name, "with " + percent(w.p_predicted, 0) + " %"}));
    return out + "\n" + draw(pictures, drawing);
  }
  Table table({{.header = "image", .align = Align::right},
               {.header = "true"},
               {.header = "predicted"},
               {.header = "p(predicted)", .align = Align::right},
               {.header = "p(true)", .align = Align::right},
               {.header = "loss", .align = Align::right}});
  for (const WorstImage& w : r.worst)
    table.add({std::to_string(w.index), r.class_text(w.label), r.class_text(w.predicted), fixed_text(w.p_predicted, 4),
               fixed_text(w.p_true, 4), fixed_text(w.loss, 3)});
  return out + table.terminal(result_columns());
}

void report_images(Context& context, const EvalFlags& o, const ImageEvaluation& r) {
  const Terminal terminal = detect_terminal(1);
  const Drawing drawing = detect_drawing(terminal, o.draw);
  std::ostream& out = context.out;
  out << "run:      " << r.run << " (" << r.model_text << ")\n";
  out << "data:     " << printable(r.data) << ", " << r.images << " " << r.split << " images";
  if (r.data != r.trained_on) out << "; trained on " << printable(r.trained_on);
  out << "\nloss:     " << fixed_text(r.loss, 4) << "\n";
  out << "accuracy: " << percent(r.accuracy, 2) << " ± " << percent(r.standard_error, 2) << " % (" << r.correct
      << " of " << r.images << ")\n\n";
  const std::string matrix = confusion_text(r, false);
  if (widest_line(matrix) <= (terminal.interactive ? terminal.width() : 120))
    out << "Rows: the true class, columns: the predicted one.\n" << (terminal.color ? confusion_text(r, true) : matrix);
  else
    out << class_tables(r);
  if (!r.worst.empty()) out << worst_text(r, drawing);
  if (!o.sheet.empty() || !o.logits.empty()) out << "\n";
  if (!o.sheet.empty()) out << "sheet:    " << o.sheet << "\n";
  if (!o.logits.empty()) out << "logits:   " << o.logits << "\n";
}

std::string range_text(const LossStretch& s) {
  const std::string first = std::to_string(s.first + 1);
  return s.first == s.last ? first : first + " - " + std::to_string(s.last + 1);
}

void report_text(Context& context, const TextEvaluation& r) {
  std::string text = "run:        " + r.run + "\ntext:       " + r.text + ", " + std::to_string(r.tokens) +
                     " tokens\nloss:       " + fixed_text(r.loss(), 4) +
                     " per token\nperplexity: " + fixed_text(r.perplexity(), 2) +
                     "\naccuracy:   " + fixed_text(100 * r.accuracy(), 2) + " % of the next tokens\n";
  if (r.bytes) text += "bits:       " + fixed_text(r.bits_per_byte(), 3) + " per byte of text\n";
  for (const std::string& note : r.notes()) text += "note:       " + note + "\n";
  context.out << prose(text, result_columns());
  Table table(headers({}, {"token of the story", "tokens", "loss", "perplexity"}));
  for (const LossStretch& s : r.positions)
    table.add({range_text(s), std::to_string(s.tokens), fixed_text(s.mean(), 4), fixed_text(std::exp(s.mean()), 2)});
  context.out << "\n" << table.terminal(result_columns());
}

void evaluate_language(Context& context, const EvalFlags& o) {
  refuse_drawing(o.draw, o.source.run);
  const TextEvaluation r = evaluate_text(engine_of(context), o);
  context.next = {"glint generate " + r.run, "glint spectrum " + r.run + " --token WORD"};
  context.shared.json ? context.print_json(to_json(r)) : report_text(context, r);
}

void evaluate(Context& context, const EvalFlags& o) {
  if (is_foreign(o.source.run)) return evaluate_language(context, o);
  const RunInfo info = run_info(o.source.run);
  context.shared.precision = o.precision.empty() ? info.precision : o.precision;
  if (model_kind(info.directory) == ModelKind::language) return evaluate_language(context, o);
  if (!o.sheet.empty()) check_target(o.sheet, ".png", "--sheet", "the sheet");
  if (!o.logits.empty()) check_target(o.logits, ".npy", "--logits", "the array of logits");
  const ImageEvaluation r = evaluate_images(engine_of(context), o);
  const std::string index = r.worst.empty() ? "0" : std::to_string(r.worst[0].index);
  context.next = {"glint explain " + r.run + " --index " + index, "glint spectrum " + r.run};
  context.shared.json ? context.print_json(to_json(r)) : report_images(context, o, r);
}

}  // namespace

void add_eval(Program& program) {
  Verb& verb = program.add(
      {.name = "eval",
       .group = Group::train,
       .summary = "how good a trained model is, and where it is wrong",
       .details = "Loss, accuracy with its standard error, the confusion matrix with recall and precision of each "
                  "class, and the images with the highest loss. On the data and in the precision of the run the "
                  "figures are those of its last evaluation. For a language model: loss per token, perplexity and "
                  "accuracy over the validation stories or over any text, and the loss by position in a story. "
                  "Stories of a corpus are cut at the model's context, as in training. Stories of --text go through "
                  "whole: beyond the context in pieces that overlap by half of it, so that every token is counted "
                  "once and has at least half a context before it.",
       .examples = {{"glint eval runs/first", "on the test images of the data it was trained on"},
                    {"glint eval runs/sqs --data fashion-mnist --json", "on other data, for a program"},
                    {"glint eval runs/stories --text letter.txt", "a language model on any text"},
                    {"glint eval runs/sqs --worst 50 --sheet worst.png --logits logits.npy",
                     "a picture of the worst 50, and all logits for use elsewhere"}}});
  const auto o = std::make_shared<EvalFlags>();
  verb.add(fields_of(*o));
  verb.add({draw_field(o->draw),
            Field("precision", o->precision, "Precision of the matrix products; when not given, that of the run")
                .one_of({"f32", "bf16"})});
  verb.share_kernels();
  verb.run([o](Context& context) { evaluate(context, *o); });
}

}  // namespace glint::cli

// glint eval: how good a trained model is, what it confuses, and where it is most wrong.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/eval_text.h"
#include "glint/cli/given.h"
#include "glint/lab/run.h"
#include "glint/cli/picture.h"
#include "glint/cli/sheet.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/io/npy.h"
#include "glint/report/table.h"
#include "glint/train/image_task.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

// That of the evaluations during training: sums in the same order give the same digits.
constexpr size_t kBatch = 1024;

struct Options {
  std::string run, data, data_dir, split = "test", logits, sheet, precision, draw = "auto", text;
  size_t worst = 10;
  std::vector<GivenOption> for_images, for_corpus;
};

struct ClassResult {
  std::string name;
  size_t images = 0, predicted = 0, correct = 0;
  // Of those of the class, how many were found; of those called so, how many are. NaN where there are none.
  double recall() const { return static_cast<double>(correct) / static_cast<double>(images); }
  double precision() const { return static_cast<double>(correct) / static_cast<double>(predicted); }
};

struct Worst {
  size_t index = 0, label = 0, predicted = 0;
  double loss = 0, p_predicted = 0, p_true = 0;
};

struct Result {
  SetResult set;
  size_t n = 0;
  double accuracy = 0, standard_error = 0;
  Matrix<uint32_t> confusion;  // [true, predicted]
  std::vector<ClassResult> classes;
  std::vector<Worst> worst;  // the highest loss first
};

double probability(std::span<const float> logits, size_t k) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float x : logits) total += std::exp(x - top);
  return std::exp(logits[k] - top) / total;
}

Result measure(const LoadedRun& run, const Engine& engine, const ImageSet& images,
               const std::vector<std::string>& names, size_t worst) {
  ClassifierEngine classifier(run.model.config, engine.compute(), kBatch, false);
  classifier.set_weights(run.model.weights.span());
  Result r;
  r.set = evaluate_set(classifier, engine.compute().kernels(), images);
  r.n = images.count();
  if (!std::isfinite(r.set.loss))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on these images",
                 .where = run.directory,
                 .expected = "finite logits"});
  const size_t classes = run.model.config.classes;
  r.confusion = Matrix<uint32_t>(classes, classes);
  std::vector<size_t> predicted(r.n);
  for (size_t i = 0; i < r.n; i++) {
    const std::span<const float> row = std::as_const(r.set.logits).view().row(i);
    predicted[i] = static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    r.confusion(images.labels[i], predicted[i])++;
  }
  for (size_t c = 0; c < classes; c++) {
    ClassResult k{.name = names[c]};
    for (size_t d = 0; d < classes; d++) k.images += r.confusion(c, d), k.predicted += r.confusion(d, c);
    k.correct = r.confusion(c, c);
    r.classes.push_back(k);
  }
  const double n = static_cast<double>(r.n);
  r.accuracy = static_cast<double>(r.set.correct) / n;
  r.standard_error = std::sqrt(r.accuracy * (1 - r.accuracy) / n);

  std::vector<size_t> order(r.n);
  std::iota(order.begin(), order.end(), size_t{0});
  worst = std::min(worst, r.n);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(worst), order.end(),
      [&](size_t a, size_t b) { return std::pair(-r.set.losses[a], a) < std::pair(-r.set.losses[b], b); });
  for (size_t k = 0; k < worst; k++) {
    const size_t i = order[k], label = images.labels[i];
    const std::span<const float> row = std::as_const(r.set.logits).view().row(i);
    r.worst.push_back(
        {i, label, predicted[i], r.set.losses[i], probability(row, predicted[i]), probability(row, label)});
  }
  return r;
}

std::string percent(double part, int decimals) {
  return std::isfinite(part) ? fixed_text(100 * part, decimals) : "-";
}

// "3 Dress", or "3" where that is the name.
std::string class_text(const std::vector<ClassResult>& classes, size_t c) {
  const std::string number = std::to_string(c);
  return classes[c].name == number ? number : number + " " + classes[c].name;
}

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

std::string confusion_text(const Result& r, bool bold) {
  std::vector<Column> columns = {{.header = "true"}};
  for (size_t c = 0; c < r.classes.size(); c++)
    columns.push_back({.header = std::to_string(c), .align = Align::right});
  columns.push_back({.header = "rec %", .align = Align::right});
  columns.push_back({.header = "prec %", .align = Align::right});
  Table table(columns);
  for (size_t c = 0; c < r.classes.size(); c++) {
    std::vector<std::string> cells = {class_text(r.classes, c)};
    for (size_t d = 0; d < r.classes.size(); d++)
      cells.push_back(r.confusion(c, d) ? std::to_string(r.confusion(c, d)) : "·");
    cells.push_back(percent(r.classes[c].recall(), 1));
    cells.push_back(percent(r.classes[c].precision(), 1));
    table.add(cells);
  }
  const std::string plain = table.terminal();
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
std::string class_tables(const Result& r) {
  Table table({{.header = "class"},
               {.header = "images", .align = Align::right},
               {.header = "recall %", .align = Align::right},
               {.header = "precision %", .align = Align::right}});
  struct Pair {
    size_t count, label, predicted;
  };
  std::vector<Pair> pairs;
  for (size_t c = 0; c < r.classes.size(); c++) {
    table.add({class_text(r.classes, c), std::to_string(r.classes[c].images),
               percent(r.classes[c].recall(), 1), percent(r.classes[c].precision(), 1)});
    for (size_t d = 0; d < r.classes.size(); d++)
      if (d != c && r.confusion(c, d)) pairs.push_back({r.confusion(c, d), c, d});
  }
  std::string out = table.terminal();
  if (pairs.empty()) return out;
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.count > b.count; });
  Table most({{.header = "true"}, {.header = "predicted"}, {.header = "images", .align = Align::right}});
  for (size_t i = 0; i < std::min<size_t>(10, pairs.size()); i++)
    most.add({class_text(r.classes, pairs[i].label), class_text(r.classes, pairs[i].predicted),
              std::to_string(pairs[i].count)});
  return out + "\nThe most frequent confusions:\n" + most.terminal();
}

std::string worst_text(const Result& r, const ImageSet& images, const Drawing& drawing) {
  std::string out = "\nThe " + std::to_string(r.worst.size()) + " images with the highest loss:\n";
  if (drawing.form != Drawing::Form::none) {
    std::vector<Picture> pictures;
    for (const Worst& w : r.worst)
      pictures.push_back(
          gray_picture(images.pixels.view().row(w.index), images.height, images.width,
                       {"#" + std::to_string(w.index) + " loss " + fixed_text(w.loss, 1),
                        "true " + r.classes[w.label].name, "said " + r.classes[w.predicted].name,
                        "with " + percent(w.p_predicted, 0) + " %"}));
    return out + "\n" + draw(pictures, drawing);
  }
  Table table({{.header = "image", .align = Align::right},
               {.header = "true"},
               {.header = "predicted"},
               {.header = "p(predicted)", .align = Align::right},
               {.header = "p(true)", .align = Align::right},
               {.header = "loss", .align = Align::right}});
  for (const Worst& w : r.worst)
    table.add({std::to_string(w.index), class_text(r.classes, w.label), class_text(r.classes, w.predicted),
               fixed_text(w.p_predicted, 4), fixed_text(w.p_true, 4), fixed_text(w.loss, 3)});
  return out + table.terminal();
}

void report_text(Context& context, const Options& o, const LoadedRun& run, const Dataset& data,
                 const ImageSet& images, const Result& r) {
  const Terminal terminal = detect_terminal(1);
  const Drawing drawing = detect_drawing(terminal, o.draw);
  std::ostream& out = context.out;
  out << "run:      " << run.directory << " (" << model_text(run.model) << ")\n";
  out << "data:     " << printable(data.name) << ", " << r.n << " " << o.split << " images";
  if (data.name != run.model.data) out << "; trained on " << printable(run.model.data);
  out << "\nloss:     " << fixed_text(r.set.loss, 4) << "\n";
  out << "accuracy: " << percent(r.accuracy, 2) << " ± " << percent(r.standard_error, 2) << " % ("
      << r.set.correct << " of " << r.n << ")\n\n";
  const std::string matrix = confusion_text(r, false);
  if (widest_line(matrix) <= (terminal.interactive ? terminal.width() : 120))
    out << "Rows: the true class, columns: the predicted one.\n"
        << (terminal.color ? confusion_text(r, true) : matrix);
  else
    out << class_tables(r);
  if (!r.worst.empty()) out << worst_text(r, images, drawing);
  if (!o.sheet.empty() || !o.logits.empty()) out << "\n";
  if (!o.sheet.empty()) out << "sheet:    " << o.sheet << "\n";
  if (!o.logits.empty()) out << "logits:   " << o.logits << "\n";
}

void report_json(Context& context, const Options& o, const LoadedRun& run, const Engine& engine,
                 const Dataset& data, const Result& r) {
  const auto finite = [](double v) { return std::isfinite(v) ? ordered_json(v) : ordered_json(); };
  ordered_json j;
  j["run"] = run.directory;
  j["model"] = ordered_json(config_to_json(run.model.config));
  j["data"] = {{"name", data.name},
               {"origin", data.origin},
               {"checksum", data.checksum},
               {"split", o.split},
               {"trained_on", run.model.data}};
  j["precision"] = name(engine.precision());
  j["images"] = r.n;
  j["correct"] = r.set.correct;
  j["loss"] = r.set.loss;
  j["accuracy"] = r.accuracy;
  j["accuracy_standard_error"] = r.standard_error;
  j["classes"] = ordered_json::array();
  for (const ClassResult& c : r.classes)
    j["classes"].push_back({{"name", c.name},
                            {"images", c.images},
                            {"predicted", c.predicted},
                            {"correct", c.correct},
                            {"recall", finite(c.recall())},
                            {"precision", finite(c.precision())}});
  j["confusion"] = ordered_json::array();  // [true][predicted]
  for (size_t c = 0; c < r.classes.size(); c++) {
    const std::span<const uint32_t> row = r.confusion.view().row(c);
    j["confusion"].push_back(std::vector<uint32_t>(row.begin(), row.end()));
  }
  j["worst"] = ordered_json::array();
  for (const Worst& w : r.worst)
    j["worst"].push_back({{"index", w.index},
                          {"label", w.label},
                          {"predicted", w.predicted},
                          {"probability", w.p_predicted},
                          {"probability_true", w.p_true},
                          {"loss", w.loss}});
  if (!o.sheet.empty()) j["sheet"] = o.sheet;
  if (!o.logits.empty()) j["logits"] = o.logits;
  context.print_json(j);
}

void write_worst_sheet(Context& context, const std::string& path, const Result& r, const ImageSet& images) {
  constexpr size_t kColumns = 10;
  Sheet sheet{.height = images.height, .width = images.width};
  for (size_t k = 0; k < r.worst.size(); k++) {
    const Worst& w = r.worst[k];
    if (k % kColumns == 0) sheet.rows.emplace_back();
    sheet.rows.back().push_back({.pixels = images.pixels.view().row(w.index),
                                 .label = std::to_string(w.label) + " > " + std::to_string(w.predicted)});
  }
  write_sheet(context.files, path, sheet);
}

void evaluate(Context& context, const Options& o) {
  if (model_kind(open_run(o.run).directory) == ModelKind::language) {
    refuse_given(o.for_images, "is for image models", o.run, "an image run");
    if (!o.text.empty())
      refuse_given(o.for_corpus, "has no effect beside --text", "--text " + o.text,
                   "--text, or the stories of a corpus");
    return evaluate_text(context, {o.run, o.data, o.split, o.text, o.precision});
  }
  if (!o.text.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "--text is for language models",
                 .where = o.run,
                 .expected = "a language run"});
  if (!o.sheet.empty()) check_target(o.sheet, ".png", "--sheet", "the sheet");
  if (!o.logits.empty()) check_target(o.logits, ".npy", "--logits", "the array of logits");
  if (!o.sheet.empty() && o.worst == 0)
    throw Error({.code = ErrorCode::usage,
                 .what = "--sheet has nothing to show",
                 .where = "--worst 0",
                 .expected = "--worst from 1 on"});
  context.shared.precision = o.precision.empty() ? open_run(o.run).precision : o.precision;
  const Engine engine = engine_of(context);
  const LoadedRun run = load_run(engine, o.run);
  DataOptions options;
  options.paths = data_paths_from_environment(o.data_dir);
  options.pool = &engine.pool();
  const Dataset data = load_run_data(engine, run, o.data, options);
  const ImageSet& images = o.split == "train" ? data.train : data.test;

  // The labels are those of the data; where the data have fewer classes the model names the rest.
  std::vector<std::string> names = data.class_names;
  for (size_t c = names.size(); c < run.model.config.classes; c++) names.push_back(run.model.class_names[c]);
  for (std::string& n : names) n = printable(n);

  const Result r = measure(run, engine, images, names, o.worst);
  if (!o.logits.empty()) write_npy(context.files, o.logits, r.set.logits.view());
  if (!o.sheet.empty()) write_worst_sheet(context, o.sheet, r, images);
  context.shared.json ? report_json(context, o, run, engine, data, r)
                      : report_text(context, o, run, data, images, r);
}

}  // namespace

void add_eval(Program& program) {
  Verb& verb = program.add(
      {.name = "eval",
       .group = Group::train,
       .summary = "how good a trained model is, and where it is wrong",
       .details =
           "Loss, accuracy with its standard error, the confusion matrix with recall and precision of "
           "each class, and the images with the highest loss. On the data and in the precision of the "
           "run the figures are those of its last evaluation. For a language model: loss per token, "
           "perplexity and "
           "accuracy over the validation stories or over any text, and the loss by position in a story. "
           "Stories of a corpus are cut at the model's context, as in training. Stories of --text go "
           "through whole: beyond the context in pieces that overlap by half of it, so that every token is "
           "counted once and has at least half a context before it.",
       .examples = {{"glint eval runs/first", "on the test images of the data it was trained on"},
                    {"glint eval runs/sqs --data fashion-mnist --json", "on other data, for a program"},
                    {"glint eval runs/stories --text letter.txt", "a language model on any text"},
                    {"glint eval runs/sqs --worst 50 --sheet worst.png --logits logits.npy",
                     "a picture of the worst 50, and all logits for use elsewhere"}}});
  const auto o = std::make_shared<Options>();
  verb.positional("RUN", o->run, "A run directory", {.kind = Value::Kind::directory})->required();
  const auto images = [&](const char* flag, Option* option) { o->for_images.push_back({flag, option}); };
  const auto corpus = [&](const char* flag, Option* option) { o->for_corpus.push_back({flag, option}); };
  corpus("--data", verb.text("--data", o->data,
                             "Data set, folder of IDX files or folder that glint tokenize made; when not "
                             "given, the one that the run was trained on",
                             {.placeholder = "NAME|DIR", .words = dataset_names()}));
  images("--data-dir", verb.directory("--data-dir", o->data_dir, "Look for image data here first"));
  corpus("--split", verb.choice("--split", o->split, {"test", "train"}, "Which images or stories"));
  verb.file("--text", o->text, "A text for a language model; stories are separated by <|endoftext|>");
  images("--worst",
         verb.size("--worst", o->worst, 0, 1000, "How many of the images with the highest loss to show"));
  images("--sheet", verb.file("--sheet", o->sheet,
                              "Write a .png picture of these images, with TRUE > PREDICTED below each"));
  images("--logits", verb.file("--logits", o->logits,
                               "Write the logits of all images to this .npy file, f32 [images, classes]"));
  images("--draw", verb.choice("--draw", o->draw, drawing_words(), "How to draw images in the terminal"));
  verb.choice("--precision", o->precision, {"f32", "bf16"},
              "Precision of the matrix products; when not given, that of the run");
  verb.share_threads();
  verb.share_isa();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { evaluate(context, *o); });
}

}  // namespace glint::cli

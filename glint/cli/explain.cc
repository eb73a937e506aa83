// glint explain: one image, what the model makes of it, and which eigenvectors speak for and against.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/reading_options.h"
#include "glint/lab/figures.h"
#include "glint/lab/opened_run.h"
#include "glint/cli/picture.h"
#include "glint/lab/run_checks.h"
#include "glint/cli/spectrum_view.h"
#include "glint/lab/unit_words.h"
#include "glint/cli/verbs.h"
#include "glint/data/prepare_image.h"
#include "glint/io/png.h"
#include "glint/nn/softmax.h"
#include "glint/report/explain_figure.h"
#include "glint/report/table.h"
#include "glint/spectra/explanation.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  ReadingOptions reading;
  std::string image, split = "test", classes, form = "calibrated", draw = "auto";
  size_t index = 0, top = 4;
  Option* index_given = nullptr;
  bool as_is = false, no_figures = false;
};

// The image and what is known about it.
struct Input {
  Matrix<uint8_t> pixels;  // [1, height * width]
  std::string what = {};   // "test image 7"
  std::string stem = {};   // of the figure's name
  std::string done = {};   // to a picture of one's own
  std::optional<size_t> label = {};
};

Input load_input(OpenedRun& run, const Options& o) {
  const ImageModel& m = run.model();
  Input in{.pixels = Matrix<uint8_t>(1, m.height * m.width)};
  if (o.image.empty()) {
    const ImageSet& set = o.split == "train" ? run.data().train : run.data().test;
    if (o.index >= set.count())
      throw Error({.code = ErrorCode::usage,
                   .what = "there is no " + o.split + " image " + std::to_string(o.index),
                   .where = "--index",
                   .expected = "from 0 to " + std::to_string(set.count() - 1)});
    std::ranges::copy(set.pixels.view().row(o.index), in.pixels.data());
    in.label = set.labels[o.index];
    in.what = o.split + " image " + std::to_string(o.index) + " of " + printable(run.data().name);
    in.stem = "explain-" + std::string(o.split == "train" ? "train-" : "") + std::to_string(o.index);
    return in;
  }
  Matrix<uint8_t> picture = read_png(o.image);
  PreparedImage prepared;
  if (o.as_is) {
    prepared.pixels = resized(picture, m.height, m.width);
    prepared.done = "resized from " + std::to_string(picture.rows()) + " x " + std::to_string(picture.cols());
  } else {
    prepared = prepare_image(picture, measure_style(run.data().train), o.image);
  }
  std::copy_n(prepared.pixels.data(), prepared.pixels.size(), in.pixels.data());
  in.done = prepared.done;
  std::string name = o.image.substr(o.image.find_last_of('/') + 1);
  if (name.size() > 4 && name.ends_with(".png")) name.resize(name.size() - 4);
  in.what = printable(name);
  in.stem = "explain-" + in.what;
  return in;
}

// For tables: with the minus that the other numbers beside it have.
std::string typed(double value) {
  std::string text = signed_text(value);
  if (value < 0 && text.starts_with("\u2212")) text.replace(0, std::string("\u2212").size(), "-");
  return text;
}

// Asked for; else the decision, the runner-up and the truth.
std::vector<size_t> explained_classes(OpenedRun& run, const Options& o, std::span<const size_t> order,
                                      std::optional<size_t> label) {
  std::vector<size_t> classes;
  const auto add = [&](size_t c) {
    if (std::find(classes.begin(), classes.end(), c) == classes.end()) classes.push_back(c);
  };
  if (o.classes.empty()) {
    for (size_t i = 0; i < std::min<size_t>(2, order.size()); i++) add(order[i]);
    if (label && *label < order.size()) add(*label);
    return classes;
  }
  for (const UnitWord& word : parse_units(o.classes, run.class_names(), "--class")) {
    if (word.minus)
      throw Error({.code = ErrorCode::usage,
                   .what = "a difference of classes has no logit to explain",
                   .where = "--class " + o.classes,
                   .expected = "classes, such as 3 or 3,5"});
    add(word.plus);
  }
  return classes;
}

struct Result {
  Input input;
  std::string form;
  std::vector<double> logits, probability;
  std::vector<size_t> order;  // classes by logit
  std::vector<ClassAccount> accounts;
  std::vector<ExplainedClass> explained;  // with pictures
  Fidelity fidelity;                      // of the calibrated form over the test images
};

// The strongest terms of each sign, with pictures whose sign makes the projection positive.
std::vector<ExplainedClass> with_pictures(OpenedRun& run, const Options& o,
                                          const std::vector<ClassAccount>& accounts) {
  const ImageReading& reading = run.reading();
  std::vector<ExplainedClass> out;
  for (const ClassAccount& a : accounts) {
    const FormAccount& sums = o.form == "weights" ? a.weights : o.form == "local" ? a.local : a.calibrated;
    ExplainedClass c{.name = run.class_text(a.index),
                     .logit = a.logit,
                     .positive = sums.positive,
                     .negative = sums.negative,
                     .rest = sums.linear + sums.constant + sums.around,
                     .forward = {},
                     .against = {},
                     .rest_name = sums.constant + sums.around == 0 ? "linear part" : "rest"};
    std::vector<size_t> order(a.terms.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t x, size_t y) { return std::fabs(a.terms[x]) > std::fabs(a.terms[y]); });
    const auto add = [&](size_t k) {
      std::vector<ExplainedTerm>& side = a.terms[k] > 0 ? c.forward : c.against;
      if (a.terms[k] != 0 && side.size() < o.top)
        side.push_back({.rank = k + 1,
                        .eigenvalue = a.form.spectrum.values[k],
                        .projection = a.projections[k],
                        .contribution = a.terms[k]});
    };
    for (const size_t k : order) add(k);
    const size_t n = c.forward.size() + c.against.size();
    Matrix<double> vectors(n, a.form.spectrum.width());
    size_t i = 0;
    for (auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side)
        std::ranges::copy(a.form.spectrum.vectors.view().row(t.rank - 1), vectors.view().row_ptr(i++));
    if (n > 0) {
      const Matrix<double> pictures = reading.pictures(
          reading.last(), vectors, run.lines(o.form == "weights" ? "weights" : "calibrated"));
      i = 0;
      for (auto* side : {&c.forward, &c.against})
        for (ExplainedTerm& t : *side) {
          const std::span<const double> row = pictures.view().row(i++);
          t.pixels.assign(row.begin(), row.end());
          // Above the first layer a picture stands for the vector but has no sign of its own.
          if (reading.layers() == 1 && t.projection < 0)
            for (double& p : t.pixels) p = -p;
        }
    }
    out.push_back(std::move(c));
  }
  return out;
}

std::string bar(double value, double largest, size_t width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double cells = largest > 0 ? std::fabs(value) / largest * static_cast<double>(width) : 0;
  const auto eighths = static_cast<size_t>(std::lround(8 * std::min(cells, static_cast<double>(width))));
  std::string out;
  for (size_t i = 0; i < eighths / 8; i++) out += "█";
  return out + kEighths[eighths % 8];
}

std::string logits_text(OpenedRun& run, const Result& r) {
  Table table({{.header = "class"},
               {.header = "logit", .align = Align::right},
               {.header = "probability %", .align = Align::right},
               {.header = ""}});
  for (size_t i = 0; i < std::min<size_t>(5, r.order.size()); i++) {
    const size_t c = r.order[i];
    table.add({run.class_text(c), fixed_text(r.logits[c], 3), percent_text(r.probability[c], 2),
               bar(r.probability[c], 1, 20)});
  }
  return table.terminal();
}

std::string account_text(const Result& r) {
  Table table({{.header = "class"},
               {.header = "form"},
               {.header = "for", .align = Align::right},
               {.header = "against", .align = Align::right},
               {.header = "linear", .align = Align::right},
               {.header = "rest", .align = Align::right},
               {.header = "total", .align = Align::right},
               {.header = "logit", .align = Align::right},
               {.header = "off by", .align = Align::right}});
  for (size_t i = 0; i < r.accounts.size(); i++) {
    const ClassAccount& a = r.accounts[i];
    const auto add = [&](const char* form, const FormAccount& f) {
      const double off = f.total() - a.logit;
      const bool tiny = std::fabs(off) < 5e-4;
      table.add({r.explained[i].name, form, fixed_text(f.positive, 3), fixed_text(f.negative, 3),
                 fixed_text(f.linear, 3), fixed_text(f.constant + f.around, 3), fixed_text(f.total(), 3),
                 fixed_text(a.logit, 3), tiny ? typed(off) : fixed_text(off, 3)});
    };
    add("weights", a.weights);
    add("calibrated", a.calibrated);
    add("local", a.local);
  }
  return table.terminal();
}

std::string terms_text(OpenedRun& run, const Result& r, const Drawing& drawing) {
  double largest = 0;
  for (const ExplainedClass& c : r.explained)
    for (const auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side) largest = std::max(largest, std::fabs(t.contribution));
  std::string out;
  for (const ExplainedClass& c : r.explained) {
    out += "\n" + c.name + ": logit " + fixed_text(c.logit, 3) + "\n";
    if (drawing.form == Drawing::Form::none) {
      Table table({{.header = "side"},
                   {.header = "rank", .align = Align::right},
                   {.header = "eigenvalue", .align = Align::right},
                   {.header = "v.x", .align = Align::right},
                   {.header = "contribution", .align = Align::right},
                   {.header = ""}});
      for (const auto* side : {&c.forward, &c.against})
        for (const ExplainedTerm& t : *side)
          table.add({side == &c.forward ? "for" : "against", std::to_string(t.rank), typed(t.eigenvalue),
                     fixed_text(t.projection, 3), fixed_text(t.contribution, 3),
                     bar(t.contribution, largest, 20)});
      out += table.terminal();
      continue;
    }
    std::vector<Picture> pictures;
    for (const auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side) {
        Matrix<float> values(run.model().height, run.model().width);
        std::transform(t.pixels.begin(), t.pixels.end(), values.data(),
                       [](double v) { return static_cast<float>(v); });
        const std::string b =
            drawing.form == Drawing::Form::ascii
                ? std::string(static_cast<size_t>(std::lround(14 * std::fabs(t.contribution) / largest)), '=')
                : bar(t.contribution, largest, 14);
        pictures.push_back(signed_picture(
            values, {b, (t.contribution > 0 ? "for " : "against ") + signed_text(t.contribution),
                     "eigen " + signed_text(t.eigenvalue), "v.x " + fixed_text(std::fabs(t.projection), 2)}));
      }
    out += draw(pictures, drawing);
  }
  return out;
}

std::string verdict(OpenedRun& run, const Result& r) {
  const size_t said = r.order[0];
  std::string text = "says " + run.class_text(said) + " with " + percent_text(r.probability[said], 1) + " %";
  if (r.input.label)
    text += *r.input.label == said ? ", right" : ", wrong: it is " + run.class_text(*r.input.label);
  return text;
}

std::string trust_text(const Result& r) {
  return "Over all test images the calibrated form has R2 " + fixed_text(r.fidelity.r2, 3) +
         " and decides as the model on " + percent_text(r.fidelity.agreement, 1) + " %.";
}

std::string walk_text(OpenedRun& run) {
  if (run.reading().layers() == 1) return "";
  return "The eigenvectors are those of the last layer; a picture is the strongest eigenvector below, walked "
         "down to "
         "the pixels.\n";
}

void report_text(Context& context, OpenedRun& run, const Options& o, const Result& r) {
  const Drawing drawing = detect_drawing(detect_terminal(1), o.draw);
  std::ostream& out = context.out;
  out << "run:   " << run.run().directory << " (" << model_text(run.model()) << ")\n";
  out << "input: " << r.input.what << "\n";
  if (!r.input.done.empty()) out << "       " << r.input.done << "\n";
  out << "model: " << verdict(run, r) << "\n\n";
  if (drawing.form != Drawing::Form::none)
    out << draw({gray_picture(r.input.pixels.span(), run.model().height, run.model().width)}, drawing)
        << "\n";
  out << logits_text(run, r) << "\nWhat each form makes of the logits (local is exact for this input):\n"
      << account_text(r);
  out << trust_text(r) << "\n\nThe strongest eigenvectors, " << r.form
      << " form; contribution = eigenvalue (v.x)^2:\n";
  out << walk_text(run) << terms_text(run, r, drawing);
}

ordered_json account_json(const FormAccount& f, double logit) {
  return {{"positive", f.positive},     {"negative", f.negative}, {"linear", f.linear},
          {"constant", f.constant},     {"around", f.around},     {"total", f.total()},
          {"off_by", f.total() - logit}};
}

ordered_json to_json(OpenedRun& run, const Result& r) {
  ordered_json j;
  j["run"] = run.run().directory;
  j["input"] = r.input.what;
  if (!r.input.done.empty()) j["prepared"] = r.input.done;
  j["label"] = r.input.label ? ordered_json(*r.input.label) : ordered_json();
  j["predicted"] = r.order[0];
  j["logits"] = r.logits;
  j["probabilities"] = r.probability;
  j["form"] = r.form;
  j["fidelity"] = {{"calibrated", {{"r2", r.fidelity.r2}, {"agreement", r.fidelity.agreement}}}};
  j["classes"] = ordered_json::array();
  for (size_t i = 0; i < r.accounts.size(); i++) {
    const ClassAccount& a = r.accounts[i];
    ordered_json c = {{"index", a.index},
                      {"name", run.class_names()[a.index]},
                      {"logit", a.logit},
                      {"weights", account_json(a.weights, a.logit)},
                      {"calibrated", account_json(a.calibrated, a.logit)},
                      {"local", account_json(a.local, a.logit)}};
    c["terms"] = ordered_json::array();
    for (const auto* side : {&r.explained[i].forward, &r.explained[i].against})
      for (const ExplainedTerm& t : *side)
        c["terms"].push_back({{"rank", t.rank},
                              {"eigenvalue", t.eigenvalue},
                              {"projection", t.projection},
                              {"contribution", t.contribution}});
    j["classes"].push_back(std::move(c));
  }
  return j;
}

Explanation figure_of(OpenedRun& run, const Result& r) {
  Explanation e{.title = r.input.what + ": " + verdict(run, r) + " (" + r.form + " form)",
                .note = trust_text(r),
                .size = {run.model().height, run.model().width},
                .input = {},
                .class_names = run.class_names(),
                .logits = r.logits,
                .probabilities = r.probability,
                .classes = r.explained};
  for (const uint8_t p : r.input.pixels.span()) e.input.push_back(p / 255.0);
  return e;
}

void explain(Context& context, const Options& o) {
  check_image_run(open_run(o.reading.run));
  const bool by_index = o.index_given->given();
  if (by_index == !o.image.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = by_index ? "both --index and --image" : "nothing to explain",
                 .where = "glint explain",
                 .expected = "--index N, an image of the data set, or --image FILE.png",
                 .hint = "glint explain " + o.reading.run + " --index 0"});
  const Engine engine = engine_of(context);
  OpenedRun run(engine, o.reading);
  const ImageReading& reading = run.reading();
  Result r;
  r.form = o.form;
  r.input = load_input(run, o);
  const ImagePass pass = reading.run(r.input.pixels, reading.last());
  for (const float l : pass.logits.span()) r.logits.push_back(l);
  for (const double l : r.logits)
    if (!std::isfinite(l))
      throw Error({.code = ErrorCode::numeric,
                   .what = "a logit is not a number: the weights overflow on this image",
                   .where = run.run().directory});
  r.probability = softmax<double>(r.logits);
  r.order.resize(r.logits.size());
  std::iota(r.order.begin(), r.order.end(), size_t{0});
  std::stable_sort(r.order.begin(), r.order.end(),
                   [&](size_t a, size_t b) { return r.logits[a] > r.logits[b]; });
  const std::vector<size_t> classes = explained_classes(run, o, r.order, r.input.label);
  const GateLine line = run.lines("calibrated")[reading.last()];
  r.accounts = account_for(reading, pass, 0, line, classes,
                           o.form == "weights" ? FormKind::weights
                           : o.form == "local" ? FormKind::local
                                               : FormKind::calibrated);
  r.explained = with_pictures(run, o, r.accounts);
  r.fidelity =
      reading.trust(line, reading.run(run.data().test.pixels, reading.last()), labels_of(run.data().test));

  std::string stem;
  if (!o.no_figures) {
    const std::string directory = context.shared.out.empty() ? run.run().directory : context.shared.out;
    stem = figures_directory(directory) + "/" + r.input.stem;
    const Figure figure = explain_figure(figure_of(run, r));
    write_figure(engine, stem, figure.svg, figure.csv);
  }
  if (context.shared.json) {
    ordered_json j = to_json(run, r);
    if (!stem.empty()) j["figure"] = stem + ".svg";
    context.print_json(j);
    return;
  }
  report_text(context, run, o, r);
  if (!stem.empty()) context.out << "\nfigure: " << stem << ".svg (.png, .csv)\n";
}

}  // namespace

void add_explain(Program& program) {
  Verb& verb = program.add(
      {.name = "explain",
       .group = Group::read,
       .summary = "why a model decides as it does on one image",
       .details =
           "The decision and its probabilities, and for the decided class, the runner-up and the true class "
           "the "
           "eigenvectors that contribute most, for and against. Every form's account of the logit stands "
           "beside "
           "the logit itself; the local form is exact for the image. A picture of your own is brought to the "
           "size and place that the training images have, and it says how. For a language model use glint "
           "spectrum --token or glint page.",
       .examples = {
           {"glint explain runs/first --index 7", "test image 7; figure in runs/first/figures"},
           {"glint explain runs/first --image mine.png --form local", "a drawing, by the exact local form"},
           {"glint explain runs/sqs --index 8 --class trouser,coat --json", "two classes, for a program"}}});
  const auto o = std::make_shared<Options>();
  add_reading_options(verb, o->reading);
  o->index_given = verb.size("--index", o->index, 0, 100000000, "Which image of the data set, from 0 on");
  verb.file("--image", o->image, "A PNG picture instead");
  verb.choice("--split", o->split, {"test", "train"}, "Which images --index counts");
  verb.text("--class", o->classes, "Classes to explain; default: the decided, the runner-up and the true one",
            {.placeholder = "CLASSES"});
  verb.choice("--form", o->form, {"weights", "calibrated", "local"}, "The form whose eigenvectors are drawn");
  verb.size("--top", o->top, 1, 32, "How many eigenvectors for and against");
  verb.flag("--as-is", o->as_is, "Only resize the picture: neither invert nor centre it");
  verb.choice("--draw", o->draw, drawing_words(), "How to draw in the terminal");
  verb.flag("--no-figures", o->no_figures, "Write no figure");
  verb.share_out("Folder in which figures/ is written; default: the run itself");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { explain(context, *o); });
}

}  // namespace glint::cli

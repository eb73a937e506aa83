// glint page: one HTML file in which a person sees why a model decides as it does.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/version.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/reading_options.h"
#include "glint/lab/opened_run.h"
#include "glint/cli/page_language.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/io/half.h"
#include "glint/report/page.h"
#include "glint/report/page_pack.h"
#include "glint/base/text.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  ReadingOptions first;
  std::string second, out;
  size_t images = 1000, vectors = 8, limit = 5000000;
};

// Signed pictures on 255 levels, each on its own scale: 128 is 0.
Matrix<uint8_t> on_levels(ConstMatrixView<double> pictures) {
  Matrix<uint8_t> out(pictures.rows(), pictures.cols());
  for (size_t k = 0; k < pictures.rows(); k++) {
    double most = 0;
    for (const double x : pictures.row(k)) most = std::max(most, std::fabs(x));
    for (size_t i = 0; i < pictures.cols(); i++)
      out(k, i) = static_cast<uint8_t>(128 + (most > 0 ? std::lround(127 * pictures(k, i) / most) : 0));
  }
  return out;
}

PageForm read_form(OpenedRun& run, const std::string& name, const ImagePass& pass,
                   std::span<const uint32_t> labels, size_t strongest) {
  const std::vector<GateLine> lines = run.lines(name);
  const ImageReading& reading = run.reading();
  const FormReading read = reading.read(reading.classes(), lines.back(), pass, labels);
  const TruncationCurve curve = reading.truncation(read, pass, labels);

  PageForm form;
  form.name = name;
  form.gain = lines.back().gain;
  form.shift = lines.back().shift;
  for (size_t i = 0; i < reading.last(); i++) form.below.push_back(lines[i].gain);
  const size_t classes = read.units.size(), width = read.units[0].spectrum.width();
  form.values = Matrix<double>(classes, width);
  form.vectors = Matrix<float>(classes * 2 * strongest, width);
  for (size_t c = 0; c < classes; c++) {
    const Spectrum& s = read.units[c].spectrum;
    std::ranges::copy(s.values, form.values.view().row_ptr(c));
    for (size_t k = 0; k < 2 * strongest; k++) {
      const size_t rank = k < strongest ? k : width - 2 * strongest + k;
      const std::span<const double> v = s.vectors.view().row(rank);
      std::transform(v.begin(), v.end(), form.vectors.view().row_ptr(c * 2 * strongest + k),
                     [](double x) { return static_cast<float>(x); });
    }
  }
  if (reading.layers() > 1) {
    Matrix<double> vectors(form.vectors.rows(), width);
    std::ranges::copy(form.vectors.span(), vectors.data());
    form.pictures = on_levels(reading.pictures(reading.last(), vectors, lines));
  }
  form.accuracy = curve.accuracy;
  form.agreement = curve.agreement;
  const Fidelity& f = read.fidelity;
  form.fidelity = {.correlation = f.correlation,
                   .r2 = f.r2,
                   .agreement = f.agreement,
                   .accuracy_model = f.accuracy_model,
                   .accuracy_form = f.accuracy_form,
                   .unit_r2 = f.unit_r2,
                   .inputs = f.inputs};
  return form;
}

// How much the logits of the images change when the page holds the weights as f16.
double half_deviation(const ImageModel& model, const Engine& engine, ConstMatrixView<uint8_t> pixels,
                      ConstMatrixView<float> logits) {
  ImageModel rounded = model;
  for (float& w : rounded.weights.span()) w = from_half(to_half(w));
  if (!all_finite(rounded.weights)) return INFINITY;  // f16 cannot hold them
  const ImagePass pass =
      ImageReading(rounded, engine.compute(), engine.linalg()).run(pixels, model.config.layers - 1);
  double most = 0;
  for (size_t i = 0; i < pass.logits.rows(); i++)
    for (size_t c = 0; c < pass.logits.cols(); c++)
      most = std::max(most, std::fabs(static_cast<double>(pass.logits(i, c)) - logits(i, c)));
  return most;
}

PageRun read_run(OpenedRun& run, const Options& o, const Engine& engine, const ImageSet& test,
                 ConstMatrixView<uint8_t> shown) {
  const ImageModel& model = run.model();
  PageRun page;
  page.name = short_run_name(run.run().directory);
  page.config = model.config;
  page.data = model.data;
  page.height = model.height;
  page.width = model.width;
  page.class_names = model.class_names;
  page.weights.assign(model.weights.span().begin(), model.weights.span().end());

  const ImageReading& reading = run.reading();
  const ImagePass pass = reading.run(test.pixels, reading.last());
  const std::vector<uint32_t> labels = labels_of(test);
  page.strongest = std::min(o.vectors, reading.layer(reading.last()).width() / 2);
  page.forms.push_back(read_form(run, "weights", pass, labels, page.strongest));
  // A line through the identity is the identity.
  if (model.config.gate.kind != GateKind::Identity)
    page.forms.push_back(read_form(run, "calibrated", pass, labels, page.strongest));

  page.logits = Matrix<float>(shown.rows(), model.config.classes);
  std::copy_n(pass.logits.data(), page.logits.size(), page.logits.data());
  page.half_deviation = half_deviation(model, engine, shown, page.logits);

  page.run = page_run_info(run.run().directory);
  page.metrics = page_metrics(run.run().directory);
  return page;
}

void check_pair(const ImageModel& a, const ImageModel& b, const std::string& where) {
  if (a.height == b.height && a.width == b.width && a.config.classes == b.config.classes) return;
  const auto text = [](const ImageModel& m) {
    return std::to_string(m.height) + " x " + std::to_string(m.width) + " images and " +
           std::to_string(m.config.classes) + " classes";
  };
  throw Error({.code = ErrorCode::usage,
               .what = "the two runs cannot be compared: the second has " + text(b),
               .where = where,
               .expected = text(a) + ", as the first"});
}

void make(Context& context, const Options& o) {
  if (!o.out.empty()) check_target(o.out, ".html", "--out", "the page");
  if (model_kind(open_run(o.first.run).directory) == ModelKind::language) {
    if (!o.second.empty())
      throw Error({.code = ErrorCode::usage,
                   .what = "the page of a language run shows one run",
                   .where = o.second,
                   .expected = "no second run",
                   .hint = "make a page of each"});
    return language_page(context, {o.first.run, o.first.data, o.out, o.limit});
  }
  const Engine engine = engine_of(context);
  OpenedRun first(engine, o.first);
  const std::string out = o.out.empty() ? first.run().directory + "/explorer.html" : o.out;
  std::unique_ptr<OpenedRun> second;
  if (!o.second.empty()) {
    ReadingOptions other = o.first;
    other.run = o.second;
    second = std::make_unique<OpenedRun>(engine, other, first.share_data());
    check_pair(first.model(), second->model(), o.second);
  }

  const ImageSet& test = first.data().test;
  const size_t count = std::min(o.images, test.count());
  PageData data;
  data.version = kVersion;
  data.images.total = test.count();
  data.images.what = (count == test.count() ? "All " : "The first ") + std::to_string(count) +
                     " test images of " + first.data().name;
  data.images.pixels = Matrix<uint8_t>(count, test.pixels.cols());
  std::copy_n(test.pixels.data(), data.images.pixels.size(), data.images.pixels.data());
  data.images.labels.assign(test.labels.begin(), test.labels.begin() + static_cast<std::ptrdiff_t>(count));
  const ConstMatrixView<uint8_t> shown = std::as_const(data.images.pixels).view();
  data.runs.push_back(read_run(first, o, engine, test, shown));
  if (second) data.runs.push_back(read_run(*second, o, engine, test, shown));

  const Page page = make_page(data, o.limit);
  write_atomic(context.files, out, page.html);

  double deviation = 0;
  for (const PageRun& run : data.runs) deviation = std::max(deviation, run.half_deviation);
  if (context.shared.json) {
    ordered_json j;
    j["page"] = out;
    j["bytes"] = page.html.size();
    j["weights"] = page.half ? "f16" : "f32";
    if (page.half) j["logit_deviation"] = deviation;
    j["images"] = count;
    j["runs"] = ordered_json::array();
    for (const PageRun& run : data.runs) {
      ordered_json forms = ordered_json::object();
      for (const PageForm& f : run.forms)
        forms[f.name] = {{"r2", f.fidelity.r2}, {"agreement", f.fidelity.agreement}};
      j["runs"].push_back({{"name", run.name}, {"forms", forms}});
    }
    context.print_json(j);
    return;
  }
  context.out << "page:     " << out << " (" << fixed_text(static_cast<double>(page.html.size()) / 1e6, 1)
              << " MB; open it in a browser)\n";
  for (const PageRun& run : data.runs)
    for (const PageForm& f : run.forms)
      context.out << "reading:  " << printable(run.name) << ", " << f.name << ": decides as the model on "
                  << fixed_text(100 * f.fidelity.agreement, 1) << " % of the test images, R2 "
                  << fixed_text(f.fidelity.r2, 3) << "\n";
  if (page.half)
    context.out << "weights:  f16, so that the page is not too large; logits change by at most "
                << fixed_text(deviation, 4) << "\n";
}

}  // namespace

void add_page(Program& program) {
  Verb& verb = program.add(
      {.name = "page",
       .group = Group::read,
       .summary = "one HTML file in which a person sees why",
       .details = "Writes the explorer: draw a digit and see which eigenvectors of the weights speak for "
                  "which class, and how far to trust that; the spectra; the training. With a second run, "
                  "both side by side. Of a language run: choose a layer and a token and see the spectrum and "
                  "the tokens of its eigenvectors; type a sentence and see which of them fire at each "
                  "word. The file holds everything and needs no network.",
       .examples = {{"glint page runs/first", "writes runs/first/explorer.html"},
                    {"glint page runs/sqs runs/bilinear --out both.html", "two runs compared"},
                    {"glint page runs/tales --out tales.html", "a language run"}}});
  const auto o = std::make_shared<Options>();
  add_reading_options(verb, o->first);
  verb.positional("RUN_B", o->second, "a second run to compare with",
                  {.placeholder = "DIR", .kind = Value::Kind::directory});
  verb.file("--out", o->out, "Where to write the page; when not given, explorer.html in the run");
  verb.size("--images", o->images, 1, 60000, "How many test images the page of an image run holds");
  verb.size("--vectors", o->vectors, 1, 64,
            "How many eigenvectors of either sign that page holds for every class");
  verb.size("--limit", o->limit, 100000, 500000000, "Largest size of the page in bytes");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { make(context, *o); });
}

}  // namespace glint::cli

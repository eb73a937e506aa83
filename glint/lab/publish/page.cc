#include "glint/lab/publish/page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/text.h"
#include "glint/base/version.h"
#include "glint/io/tensor.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/publish/page_run.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_request.h"
#include "glint/report/page.h"
#include "glint/report/page_pack.h"
#include "glint/spectra/usual_inputs.h"
#include "glint/train/run_dir.h"

namespace glint {
namespace {

constexpr size_t kPageImages = 1000, kPageVectorsPerClass = 8;

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

PageForm page_form(ImageRun& run, const FormReading& of, size_t strongest) {
  const std::vector<GateTerms> lines = run.lines(of.form);
  const ImageReading& reading = run.reading();
  const Reading& read = *of.reading;
  PageForm form;
  form.name = name(of.form);
  form.gain = of.line.gain, form.shift = of.line.shift;
  form.slope = of.line.slope, form.power = of.line.power, form.size = of.line.size;
  for (size_t i = 0; i < reading.last(); i++) form.below.push_back(at_size(lines[i], lines[i].size).gain);
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
  if (!read.units[0].linear.empty()) {
    form.linear = Matrix<float>(classes, width);
    for (size_t c = 0; c < classes; c++)
      std::ranges::transform(read.units[c].linear, form.linear.view().row_ptr(c),
                             [](double x) { return static_cast<float>(x); });
  }
  const auto pictures_of = [&](const Matrix<float>& rows) {
    Matrix<double> vectors(rows.rows(), rows.cols());
    std::ranges::copy(rows.span(), vectors.data());
    return on_levels(reading.pictures(reading.last(), vectors, lines));
  };
  if (reading.layers() > 1) {
    form.pictures = pictures_of(form.vectors);
    if (form.linear.size()) form.linear_pictures = pictures_of(form.linear);
  }
  form.accuracy = of.cut->accuracy, form.agreement = of.cut->agreement;
  form.fidelity = read.fidelity;
  return form;
}

// How much the logits of the images change when the page holds the weights as f16.
double half_deviation(const ImageModel& model, const Engine& engine, ConstMatrixView<uint8_t> pixels,
                      ConstMatrixView<float> logits) {
  ImageModel rounded = model;
  for (float& w : rounded.weights.span()) w = from_half(to_half(w));
  if (!all_finite(rounded.weights)) return INFINITY;  // f16 cannot hold them
  const Activations pass =
      ImageReading(rounded, engine.compute(), engine.linalg()).run(pixels, model.config.layers - 1);
  double most = 0;
  for (size_t i = 0; i < pass.logits.rows(); i++)
    for (size_t c = 0; c < pass.logits.cols(); c++)
      most = std::max(most, std::fabs(static_cast<double>(pass.logits(i, c)) - logits(i, c)));
  return most;
}

// So many training images give the means of the classes.
constexpr size_t kUsualImages = 5000;

UsualInputs usual_inputs_of(ImageRun& run, const Activations& test) {
  const ImageReading& reading = run.reading();
  const ImageSet& train = run.images().train;
  std::vector<uint32_t> rows, labels;
  const size_t step = std::max<size_t>(1, train.count() / kUsualImages);
  for (size_t i = 0; i < train.count(); i += step) {
    rows.push_back(static_cast<uint32_t>(i));
    labels.push_back(train.labels[i]);
  }
  const Activations seen = reading.run(train, reading.last(), rows);
  return usual_inputs(seen.inputs, labels, reading.model().config.classes, test.inputs);
}

PageRun read_run(ImageRun& run, const PageRequest& q, const Engine& engine, const ImageSet& test,
                 ConstMatrixView<uint8_t> shown) {
  const ImageModel& model = run.model();
  PageRun page;
  page.name = short_run_name(run.directory());
  page.config = model.config;
  page.data = model.data;
  page.height = model.height;
  page.width = model.width;
  page.class_names = model.class_names;
  page.weights.assign(model.weights.span().begin(), model.weights.span().end());

  const ImageReading& reading = run.reading();
  const Activations pass = reading.run(test, reading.last());
  page.strongest = std::min(q.show.value_or(kPageVectorsPerClass), reading.layer(reading.last()).width() / 2);
  FormsReading all = read_forms(run, all_classes, pass, {.forms = distinct_forms(run)});
  for (const FormReading& form : all.forms) page.forms.push_back(page_form(run, form, page.strongest));
  page.controls = std::move(all.controls);
  page.form = name(page.forms.size() == 1 ? Form::weights : run.form("auto"));

  page.logits = Matrix<float>(shown.rows(), model.config.classes);
  std::copy_n(pass.logits.data(), page.logits.size(), page.logits.data());
  page.half_deviation = half_deviation(model, engine, shown, page.logits);
  UsualInputs usual = usual_inputs_of(run, pass);
  page.usual_means = std::move(usual.means);
  page.usual_limit = usual.limit;

  page.run = page_run_info(run.directory());
  page.metrics = read_metrics(run.directory());
  return page;
}

void check_pair(const ImageModel& a, const ImageModel& b, const std::string& where) {
  if (a.height == b.height && a.width == b.width && a.config.classes == b.config.classes) return;
  const auto text = [](const ImageModel& m) {
    return std::to_string(m.height) + " x " + std::to_string(m.width) + " images and " +
           std::to_string(m.config.classes) + " classes";
  };
  bad_argument(where, "the two runs cannot be compared: the second has " + text(b), text(a) + ", as the first");
}

PageImages page_images(const Dataset& data, size_t most) {
  const ImageSet& test = data.test;
  const size_t count = std::min(most, test.count());
  PageImages images;
  images.total = test.count();
  images.data = data.name;
  images.what = images_text(count, images.total, data.name);
  images.pixels = Matrix<uint8_t>(count, test.pixels.cols());
  std::copy_n(test.pixels.data(), images.pixels.size(), images.pixels.data());
  images.labels.assign(test.labels.begin(), test.labels.begin() + static_cast<std::ptrdiff_t>(count));
  return images;
}

PageResult write_image_page(const Engine& engine, ImageRun& first, const PageRequest& q) {
  check_pictures(first.images(), "the explorer page");
  std::unique_ptr<ImageRun> second;
  if (!q.second.empty()) {
    RunSource other = q.source;
    other.run = q.second;
    second = open_image_run(engine, other, first.share_images());
    check_pair(first.model(), second->model(), q.second);
  }
  const ImageSet& test = first.images().test;
  PageData data;
  data.version = kVersion;
  data.linalg = engine.linalg().description();
  data.images = page_images(first.images(), q.images.value_or(kPageImages));
  const ConstMatrixView<uint8_t> shown = std::as_const(data.images.pixels).view();
  data.runs.push_back(read_run(first, q, engine, test, shown));
  engine.check_stop();
  if (second) data.runs.push_back(read_run(*second, q, engine, test, shown));

  bool shrunk = false;
  const Page page = make_page(data, q.limit, [&] {
    const bool smaller = shrink_page(data, !q.images, !q.show);
    shrunk = shrunk || smaller;
    return smaller;
  });
  size_t vectors = 0;
  for (const PageRun& run : data.runs) vectors = std::max(vectors, run.strongest);
  if (shrunk)
    engine.note("so that the page has at most " + fixed_text(static_cast<double>(q.limit) / 1e6, 1) + " MB, it holds " +
                std::to_string(data.images.labels.size()) + " of " + std::to_string(data.images.total) +
                " test images and " + std::to_string(vectors) + " eigenvectors of either sign for every class");
  PageResult result{.page = q.out.empty() ? first.directory() + "/explorer.html" : q.out,
                    .bytes = page.html.size(),
                    .linalg = data.linalg,
                    .half = page.half,
                    .images = data.images.labels.size(),
                    .vectors = vectors,
                    .runs = {}};
  write_atomic(engine.files(), result.page, page.html);
  for (const PageRun& run : data.runs) {
    result.logit_deviation = std::max(result.logit_deviation, run.half_deviation);
    result.runs.push_back({.name = run.name, .forms = {}, .controls = {run.controls}});
    for (const PageForm& f : run.forms)
      result.runs.back().forms.push_back({.name = f.name, .fidelity = f.fidelity, .layers = {}});
  }
  return result;
}

OrderedJson to_json(const PageFormResult& form, bool language) {
  if (!language) return fidelity_json(form.fidelity, true);
  OrderedJson layers = OrderedJson::array();
  for (const LayerTrust& l : form.layers) {
    layers.push_back({{"layer", l.layer}});
    add_trust(layers.back(), l.trust,
              {"r2", "correlation", "eigenvectors_r2", "linear_share", "r2_scaled", "even_share"});
  }
  return layers;
}

}  // namespace

std::vector<Field> fields_of(PageRequest& q) {
  std::vector<Field> along = fields_of(q.along);
  std::erase_if(along, [](const Field& f) { return f.name == "unit" || f.name == "via"; });
  for (Field& f : along) f.language();  // the explorer of images shows every class
  return join(
      join(fields_of(q.source),
           {Field("second", q.second, "A second model to compare with").directory().argument("RUN_B"),
            Field("out", q.out, "Where to write the page; when not given, explorer.html in the run").file(),
            Field("images", q.images,
                  "Images: how many test images the page holds; when not given, 1000, and fewer where it would "
                  "be over the limit")
                .range(1, 60000),
            Field("show", q.show,
                  "How many eigenvectors of either sign; when not given, 8 for every class, and fewer where the "
                  "page would be over the limit")
                .range(1, 64),
            Field("layers", q.layers, "Language models: layers of a page of readings; default: six of them")
                .shown("N,N")
                .language(),
            Field("sentence", q.sentences,
                  "Language models: a sentence that can be looked at on a page of readings, token by token; may be "
                  "given several times, default: a few")
                .shown("TEXT")
                .language(),
            Field("limit", q.limit, "Largest size of the page in bytes").range(100000, 500000000)}),
      std::move(along));
}

PageResult write_page(const Engine& engine, const PageRequest& request) {
  return write_page(engine, *open_run(engine, request.source), request);
}

PageResult write_page(const Engine& engine, Run& run, const PageRequest& q) {
  check_request(q, run);
  if (run.kind() == ModelKind::image) return write_image_page(engine, run.image(), q);
  const bool chosen = !q.second.empty() || !q.layers.empty() || !q.along.none() || !q.sentences.empty();
  return chosen || run.language().foreign() ? write_readings_page(engine, run.language(), q)
                                            : write_language_page(engine, run.language(), q);
}

OrderedJson to_json(const PageResult& r) {
  OrderedJson j = {{"schema", "glint-page/1"},
                   {"page", r.page},
                   {"bytes", r.bytes},
                   {"linalg", r.linalg},
                   {"weights", r.half ? "f16" : "f32"}};
  if (r.half) j["logit_deviation"] = r.logit_deviation;
  if (!r.language) j["images"] = r.images, j["vectors"] = r.vectors;
  j["runs"] = OrderedJson::array();
  for (const PageRunResult& run : r.runs) {
    OrderedJson forms = OrderedJson::object();
    for (const PageFormResult& form : run.forms) forms[form.name] = to_json(form, r.language);
    OrderedJson controls = OrderedJson::array();
    for (const Controls& c : run.controls) controls.push_back(controls_json(c, !r.language));
    j["runs"].push_back({{"name", run.name}, {"forms", forms}});
    if (!controls.empty()) j["runs"].back()["controls"] = r.language ? controls : controls[0];
  }
  return j;
}

}  // namespace glint

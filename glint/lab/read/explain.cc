#include "glint/lab/read/explain.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/data/prepare_image.h"
#include "glint/io/png.h"
#include "glint/lab/models/run.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/read/direction.h"
#include "glint/lab/read/fidelity_json.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/work/result_files.h"
#include "glint/nn/softmax.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

bool has_picture(const ExplainRequest& q) { return !q.image.empty() || q.picture.size() > 0; }

void check_input(const ExplainRequest& q) {
  if (q.index && has_picture(q))
    bad_argument("index", "both an index and an image",
                 "`index`, the number of an image of the data, or `image`, a PNG file");
}

// The sample as the model reads it goes into `sample`, and what is known about it into `r`; returns the stem
// of the figure's name.
std::string load_input(const Kernels& kernels, ImageRun& run, const ExplainRequest& q, std::vector<float>& sample,
                       ExplainResult& r) {
  check_input(q);
  sample.resize(run.model().config.inputs);
  if (!has_picture(q)) {
    const ImageSet& set = q.split == "train" ? run.images().train : run.images().test;
    const size_t index = q.index.value_or(0);
    const std::string number = std::to_string(index);
    if (index >= set.count())
      bad_argument("index", "there is no " + q.split + " image " + number,
                   "from 0 to " + std::to_string(set.count() - 1));
    write_sample(kernels, set, index, sample.data());
    r.pixels = picture_bytes(set, index);
    r.label = set.labels[index];
    r.input = q.split + (set.pictures() ? " image " : " sample ") + number + " of " + printable(run.images().name);
    return "explain-" + std::string(q.split == "train" ? "train-" : "") + number;
  }
  check_pictures(run.images(), "`image`");
  const Matrix<uint8_t> picture = q.image.empty() ? q.picture : read_png(q.image);
  PreparedImage prepared;
  if (q.as_is) {
    prepared.pixels = resized(picture, r.size.height, r.size.width);
    prepared.done = "resized from " + std::to_string(picture.rows()) + " x " + std::to_string(picture.cols());
  } else {
    prepared = prepare_image(picture, measure_style(run.images().train), q.image);
  }
  r.pixels.assign(prepared.pixels.data(), prepared.pixels.data() + prepared.pixels.size());
  write_sample(kernels, r.pixels, sample.data());
  r.prepared = prepared.done;
  std::string name = q.image.empty() ? "image" : q.image.substr(q.image.find_last_of('/') + 1);
  if (name.size() > 4 && name.ends_with(".png")) name.resize(name.size() - 4);
  r.input = printable(name);
  return "explain-" + r.input;
}

// Asked for; else the decision, the runner-up and the truth.
std::vector<size_t> classes_of(const ExplainRequest& q, const ExplainResult& r) {
  std::vector<size_t> classes;
  const auto add = [&](size_t c) {
    if (std::find(classes.begin(), classes.end(), c) == classes.end()) classes.push_back(c);
  };
  if (q.unit.empty()) {
    for (size_t i = 0; i < std::min<size_t>(2, r.order.size()); i++) add(r.order[i]);
    if (r.label && *r.label < r.order.size()) add(*r.label);
    return classes;
  }
  for (const UnitWord& word : parse_units(q.unit, r.class_names, "unit")) {
    if (word.minus)
      bad_argument("unit", "a difference of classes has no logit to explain", "classes, such as 3 or 3,5");
    add(word.plus);
  }
  return classes;
}

// The strongest terms of each sign, with pictures whose sign makes the projection positive.
ExplainedClass with_pictures(const ImageReading& reading, const ClassExplanation& e, const std::string& name, Form form,
                             size_t top, std::span<const GateTerms> lines) {
  const FormSums& sums = e.sums[form].value();
  ExplainedClass c{.name = name,
                   .logit = e.logit,
                   .positive = sums.positive,
                   .negative = sums.negative,
                   .linear = sums.linear,
                   .beside = sums.constant + sums.residual_logit,
                   .rest = e.logit - sums.total(),
                   .forward = {},
                   .against = {}};
  const BothEnds ends = both_ends(e.terms, top);
  const auto terms = [&](const std::vector<uint32_t>& side) {
    std::vector<ExplainedTerm> out;
    if (side.empty()) return out;
    Matrix<double> vectors(side.size(), e.form.spectrum.width());
    for (size_t i = 0; i < side.size(); i++)
      std::ranges::copy(e.form.spectrum.vectors.view().row(side[i]), vectors.view().row_ptr(i));
    const Matrix<double> pictures = reading.pictures(reading.last(), vectors, lines);
    for (size_t i = 0; i < side.size(); i++) {
      const uint32_t k = side[i];
      const std::span<const double> row = pictures.view().row(i);
      out.push_back({.rank = size_t{k} + 1,
                     .eigenvalue = e.form.spectrum.values[k],
                     .projection = e.projections[k],
                     .contribution = e.terms[k],
                     .pixels = {row.begin(), row.end()}});
      // Above the first layer a picture stands for the vector but has no sign of its own.
      if (reading.layers() == 1 && e.projections[k] < 0)
        for (double& p : out.back().pixels) p = -p;
    }
    return out;
  };
  c.forward = terms(ends.positive);
  c.against = terms(ends.negative);
  if (std::any_of(e.form.linear.begin(), e.form.linear.end(), [](double v) { return v != 0; })) {
    const ConstMatrixView<double> one(e.form.linear.data(), 1, e.form.linear.size());
    const Matrix<double> picture = reading.pictures(reading.last(), one, lines);
    c.linear_pixels.assign(picture.data(), picture.data() + picture.size());
  }
  return c;
}

ordered_json sums_json(const FormSums& f, double logit) {
  return {{"positive", f.positive},
          {"negative", f.negative},
          {"linear", f.linear},
          {"constant", f.constant},
          {"residual_logit", f.residual_logit},
          {"total", f.total()},
          {"rest", logit - f.total()}};
}

}  // namespace

std::vector<Field> fields_of(ExplainRequest& q) {
  return join(
      fields_of(q.source),
      {Field("form", q.form, "The form whose eigenvectors are drawn").one_of(form_words(FormNeeds::input)),
       Field("index", q.index, "Images: which one of the data set, from 0 on; default: 0").range(0, 1e8).images(),
       Field("image", q.image, "Images: a PNG picture instead").file().images(),
       Field("split", q.split, "Images: which ones `index` counts").one_of({"test", "train"}).images(),
       Field("unit", q.unit, "Images: classes to explain; default: the decided, the runner-up and the true one")
           .shown("CLASSES")
           .images(),
       Field("as_is", q.as_is, "Images: only resize the picture, neither invert nor centre it").images(),
       Field("prompt", q.prompt, "Language models: what the model reads; it predicts what follows").language(),
       Field("position", q.position, "Language models: predict after so many tokens of the prompt; default: after all")
           .range(0, 1e6)
           .language(),
       Field("token", q.token, "Language models: the token to explain; default: the one that the model expects")
           .shown("WORD")
           .language(),
       Field("against", q.against, "Language models: rather than this token; explains the difference of the logits")
           .shown("WORD")
           .language(),
       Field("layer", q.layers,
             "Language models: layers whose GLU is taken apart, 6, 1,6 or all; default: the one that adds most")
           .shown("N[,N]")
           .suggest({"all"})
           .language(),
       Field("show", q.show, "How many eigenvectors for and against").range(1, 32),
       Field("near", q.near, "Language models: how many tokens stand for an eigenvector").range(1, 100).language(),
       figures_field(q.figures), out_field(q.out, "Folder in which figures/ is written; default: the run itself")});
}

ExplainResult explain(const Engine& engine, const ExplainRequest& request) {
  check_input(request);  // before the data are loaded
  return explain(engine, *open_image_run(engine, request.source), request);
}

ExplainResult explain(const Engine& engine, ImageRun& run, const ExplainRequest& q) {
  check_request(q, run);
  check_input(q);
  const ImageReading& reading = run.reading();
  const ImageModel& model = run.model();
  ExplainResult r{.run = run.directory(), .model = run.text(), .input = {}};
  r.form = run.form(q.form, FormNeeds::input);
  r.linalg = engine.linalg().description();
  r.size = {model.height, model.width};
  r.layers = reading.layers();
  r.class_names = run.class_names();
  for (size_t c = 0; c < r.class_names.size(); c++) r.class_texts.push_back(run.class_text(c));
  std::vector<float> sample;
  const std::string stem = load_input(engine.compute().kernels(), run, q, sample, r);

  const Activations one = reading.activations(reading.last(), ConstMatrixView<float>(sample.data(), 1, sample.size()));
  for (const float l : one.logits.span()) r.logits.push_back(l);
  for (const double l : r.logits)
    if (!std::isfinite(l))
      throw Error({.code = ErrorCode::numeric,
                   .what = "a logit is not a number: the weights overflow on this image",
                   .where = r.run});
  r.probabilities = softmax<double>(r.logits);
  r.order.resize(r.logits.size());
  std::iota(r.order.begin(), r.order.end(), size_t{0});
  std::stable_sort(r.order.begin(), r.order.end(), [&](size_t a, size_t b) { return r.logits[a] > r.logits[b]; });

  const std::vector<size_t> classes = classes_of(q, r);
  PerForm<std::optional<GateTerms>> terms;
  for (const Form form : run.forms()) terms[form] = run.line(form, reading.last());
  r.classes = explain_classes(reading, one, 0, std::move(terms), classes, r.form);
  r.trusted = r.form == Form::local ? run.form("auto") : r.form;
  const std::vector<GateTerms> lines = run.lines(r.trusted);
  for (const ClassExplanation& e : r.classes)
    r.shown.push_back(with_pictures(reading, e, r.class_texts[e.index], r.form, q.show, lines));
  engine.check_stop();
  const Activations all = run.measured(reading.last());
  r.fidelity = form_fidelity(reading, reading.classes(), lines.back(), all);
  r.controls = controls_of(run, all_classes, {r.trusted}, all);

  if (q.figures && !r.pixels.empty()) {
    const std::string path = figures_directory(q.out.empty() ? r.run : q.out) + "/" + stem;
    write_figure(engine, path, explain_figure(explanation_figure(r)));
    r.figure = path + ".svg";
  }
  return r;
}

size_t clear_image(ImageRun& run, Form form) {
  const ImageReading& reading = run.reading();
  const Directions classes = reading.classes();
  const GateTerms line = run.lines(form)[reading.last()];
  const Activations a = reading.run(run.images().test, reading.last());
  Matrix<double> values =
      form_outputs(reading.reader(reading.last()), line, classes.weights, a.inputs, classes.constants);
  for (size_t i = 0; i < a.residual_logits.size(); i++) values.data()[i] += a.residual_logits.data()[i];
  const std::vector<uint32_t> by_form = argmax_rows(values);
  for (size_t i = 0; i < by_form.size(); i++) {
    const std::span<const float> row = a.logits.view().row(i);
    const size_t label = run.images().test.labels[i];
    if (by_form[i] == label && static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()) == label)
      return i;
  }
  return 0;
}

std::string verdict_text(const ExplainResult& r) {
  const size_t said = r.order[0];
  std::string text = "says " + r.class_texts[said] + " with " + fixed_text(100 * r.probabilities[said], 1) + " %";
  if (r.label) text += *r.label == said ? ", right" : ", wrong: it is " + r.class_texts[*r.label];
  return text;
}

std::string trust_text(const ExplainResult& r) {
  const auto trust = [](const Fidelity& f) {
    return "R2 " + fixed_text(f.r2, 3) + " and decides as the model on " + fixed_text(100 * f.agreement, 1) + " %";
  };
  std::string text = "Over all test images the " + name(r.trusted) + " form has " + trust(r.fidelity) +
                     "; the best linear map of the layer's input has " + trust(r.controls.linear);
  for (const auto& [form, f] : r.controls.untrained) text += "; of an untrained model the same form has " + trust(f);
  text += "; even share of the layer " + fixed_text(100 * r.fidelity.even_share, 1) + " %";
  if (const auto& m = r.fidelity.mirrored)
    text += "; on the mirror images, -x, the form decides as the model on " + fixed_text(100 * m->agreement, 1) + " %";
  return text + ".";
}

Explanation explanation_figure(const ExplainResult& r) {
  Explanation e{.title = r.input + ": " + verdict_text(r) + " (" + name(r.form) + " form)",
                .note = trust_text(r),
                .size = r.size,
                .input = {},
                .class_names = r.class_names,
                .logits = r.logits,
                .probabilities = r.probabilities,
                .classes = r.shown};
  for (const uint8_t p : r.pixels) e.input.push_back(p / 255.0);
  return e;
}

ordered_json to_json(const ExplainResult& r) {
  ordered_json j;
  j["schema"] = "glint-explain/1";
  j["run"] = r.run;
  j["linalg"] = r.linalg;
  j["input"] = r.input;
  if (!r.prepared.empty()) j["prepared"] = r.prepared;
  j["label"] = r.label ? ordered_json(*r.label) : ordered_json();
  j["predicted"] = r.order[0];
  j["logits"] = r.logits;
  j["probabilities"] = r.probabilities;
  j["form"] = name(r.form);
  j["fidelity"] = {{name(r.trusted), fidelity_json(r.fidelity, true)}};
  j["controls"] = controls_json(r.controls, true);
  j["classes"] = ordered_json::array();
  for (size_t i = 0; i < r.classes.size(); i++) {
    const ClassExplanation& e = r.classes[i];
    ordered_json c = {{"index", e.index}, {"name", r.class_names[e.index]}, {"logit", e.logit}};
    for (const FormInfo& f : kFormTable)
      if (const auto& sums = e.sums[f.form]) c[std::string(f.name)] = sums_json(*sums, e.logit);
    c["terms"] = ordered_json::array();
    for (const auto* side : {&r.shown[i].forward, &r.shown[i].against})
      for (const ExplainedTerm& t : *side)
        c["terms"].push_back({{"rank", t.rank},
                              {"eigenvalue", t.eigenvalue},
                              {"projection", t.projection},
                              {"contribution", t.contribution}});
    j["classes"].push_back(std::move(c));
  }
  if (!r.figure.empty()) j["figure"] = r.figure;
  return j;
}

}  // namespace glint

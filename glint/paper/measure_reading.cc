// Fidelity, truncation and spectra: numbers over all models of section 4.1; and SQS with other options.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/statistics.h"
#include "glint/lab/read/read_forms.h"
#include "glint/paper/measure.h"
#include "glint/paper/measured.h"

namespace glint {
namespace {

// "The first few" of the paper: this many of 256.
constexpr size_t kFew = 5;

using Models = std::vector<const ModelReading*>;

const ModelReading& read_model(Measuring& m, const PlannedRun& planned, const std::string& data) {
  const std::string directory = m.directory(planned);
  if (const auto found = m.readings.find(directory); found != m.readings.end()) return *found->second;
  m.check_stop("reading the models");
  m.hooks.tell({.label = "read models", .done = m.readings.size(), .unit = "models", .detail = planned.path()});
  const std::unique_ptr<ImageRun> run = open_run_of(m, planned, data);
  FormsReading all =
      read_forms(*run, all_classes, run->measured(run->reading().last()), {.forms = distinct_forms(*run)});
  auto result = std::make_shared<ModelReading>();
  for (const FormReading& f : all.forms) result->forms[f.form] = {f.reading->fidelity, *f.cut};
  const std::vector<UnitForm>& units = all.of(Form::weights).reading->units;
  for (const UnitForm& unit : units) result->energy.push_back(energy_curve(unit.spectrum.values));
  result->likeness = class_likeness(top_pictures(run->reading(), units, run->lines(Form::weights)),
                                    class_deviations(run->images().train));
  result->controls = std::move(all.controls);
  return *m.readings.emplace(directory, std::move(result)).first->second;
}

Models all_models(Measuring& m, const std::string& data, std::string_view gate) {
  Models models;
  for (const PlannedRun* run : m.finished(group_41(data), gate)) models.push_back(&read_model(m, *run, data));
  return models;
}

// Mean over models of accuracy[k].
std::vector<double> mean_curve(const Models& models, Form form) {
  std::vector<double> mean(models.front()->forms.at(form).cut.accuracy.size());
  for (const ModelReading* model : models)
    for (size_t k = 0; k < mean.size(); k++)
      mean[k] += model->forms.at(form).cut.accuracy[k] / static_cast<double>(models.size());
  return mean;
}

void add_seed(FormTrust& t, const Fidelity& f) {
  t.agreement.push_back(f.agreement);
  t.r2.push_back(f.r2);
  t.correlation.push_back(f.correlation);
  t.r2_centred.push_back(f.r2_centred);
  t.r2_scaled.push_back(f.r2_scaled);
  t.accuracy_model_by_seed.push_back(f.accuracy_model);
  t.accuracy_form_by_seed.push_back(f.accuracy_form);
}

void set_means(FormTrust& t) {
  t.accuracy_model = mean_and_sd(t.accuracy_model_by_seed).mean;
  t.accuracy_form = mean_and_sd(t.accuracy_form_by_seed).mean;
}

FormTrust trust_of(const Models& models, const std::string& data, std::string_view gate, Form form) {
  FormTrust t{.data = data, .gate = std::string(gate), .form = name(form)};
  for (const ModelReading* model : models) {
    const Fidelity& f = model->forms.at(form).fidelity;
    add_seed(t, f);
    t.even_share.push_back(f.even_share);
    t.eigenvectors_agreement.push_back(f.eigenvectors_agreement);
    t.eigenvectors_r2.push_back(f.eigenvectors_r2);
    const Fidelity& untrained = model->controls.untrained.at(form);
    t.untrained_agreement.push_back(untrained.agreement);
    t.untrained_r2.push_back(untrained.r2);
  }
  set_means(t);
  t.truncation = mean_curve(models, form);
  return t;
}

FormTrust linear_trust(const Models& models, const std::string& data, std::string_view gate) {
  FormTrust t{.data = data, .gate = std::string(gate), .form = kLinearMap};
  for (const ModelReading* model : models) add_seed(t, model->controls.linear);
  set_means(t);
  return t;
}

void add_run(Measuring& m, const PlannedRun& planned, const std::string& data, GateChoice& choice) {
  m.check_stop("reading the models");
  m.hooks.tell({.label = "read choices", .done = choice.loss.size(), .unit = "models", .detail = planned.path()});
  const RunCurve curve = curve_of(m.directory(planned), planned.options);
  const std::unique_ptr<ImageRun> run = open_run_of(m, planned, data);
  const ImageReading& reading = run->reading();
  const std::vector<GateTerms> lines = run->lines(Form::weights);
  const Reading form = reading.read(reading.classes(), lines[reading.last()], run->measured(reading.last()));
  choice.loss.push_back(curve.points.back().loss);
  choice.accuracy.push_back(curve.points.back().metric);
  choice.agreement.push_back(form.fidelity.agreement);
  choice.r2.push_back(form.fidelity.r2);
  choice.matched.push_back(
      class_likeness(top_pictures(reading, form.units, lines), class_deviations(run->images().train)).matched);
}

double alike(std::span<const double> a, std::span<const double> b) {
  double product = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); i++) product += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return aa > 0 && bb > 0 ? std::fabs(product) / std::sqrt(aa * bb) : 0;
}

}  // namespace

Matrix<double> top_pictures(const ImageReading& reading, std::span<const UnitForm> units,
                            std::span<const GateTerms> lines) {
  Matrix<double> top(units.size(), units.front().spectrum.width());
  for (size_t u = 0; u < units.size(); u++)
    std::ranges::copy(units[u].spectrum.vectors.view().row(0), top.view().row_ptr(u));
  return reading.pictures(reading.last(), top, lines);
}

std::unique_ptr<ImageRun> open_run_of(const Measuring& m, const PlannedRun& run, const std::string& data) {
  return open_image_run(m.engine, {.run = m.directory(run)}, m.data.images(data));
}

std::unique_ptr<ImageRun> open_first_sqs(const Measuring& m, const std::string& data) {
  const std::vector<const PlannedRun*> runs = m.finished(group_41(data), "sqs");
  return runs.empty() ? nullptr : open_run_of(m, *runs.front(), data);
}

void measure_trust(Measuring& m) {
  if (!m.measured.trust.empty()) return;
  for (const std::string& data : m.plan.setup.images)
    for (const std::string_view gate : kPaperGates) {
      const Models models = all_models(m, data, gate);
      if (models.empty()) continue;
      for (const auto& [form, measured] : models.front()->forms)
        m.measured.trust.push_back(trust_of(models, data, gate, form));
      m.measured.trust.push_back(linear_trust(models, data, gate));
    }
}

void measure_matches(Measuring& m) {
  if (!m.measured.matches.empty()) return;
  for (const std::string& data : m.plan.setup.images)
    for (const std::string_view gate : kPaperGates) {
      ClassMatch match{.data = data, .gate = std::string(gate)};
      for (const ModelReading* model : all_models(m, data, gate)) {
        match.classes = model->energy.size();
        match.matched.push_back(model->likeness.matched);
        match.cosine.push_back(model->likeness.cosine);
        match.twins.push_back(static_cast<double>(model->likeness.twins));
      }
      if (!match.matched.empty()) m.measured.matches.push_back(std::move(match));
    }
}

namespace {

SpectrumShare share_of(const Models& models, const std::string& data, std::string_view gate) {
  SpectrumShare share{.data = data, .gate = std::string(gate), .few = kFew};
  const double n = static_cast<double>(models.size());
  share.seeds = models.size();
  share.width = models.front()->energy.front().size();
  share.few = std::min(share.few, share.width);
  share.energy.resize(models.front()->energy.size());
  for (const ModelReading* model : models) {
    const std::vector<double>& accuracy = model->forms.at(Form::weights).cut.accuracy;
    share.energy_by_seed.emplace_back();
    for (size_t c = 0; c < share.energy.size(); c++) {
      const double energy = model->energy[c][share.few - 1];
      share.energy_by_seed.back().push_back(energy);
      share.energy[c] += energy / n;
    }
    share.few_accuracy_by_seed.push_back(accuracy[share.few]);
    share.all_accuracy_by_seed.push_back(accuracy.back());
    share.accuracy_few += accuracy[share.few] / n;
    share.accuracy_all += accuracy.back() / n;
  }
  return share;
}

// The control: the same models before the first step.
std::shared_ptr<const ModelReading> read_untrained(Measuring& m, const PlannedRun& planned, const std::string& data) {
  m.check_stop("reading the models");
  const std::unique_ptr<ImageRun> run = open_run_of(m, planned, data);
  ImageModel model = run->model();
  classifier_params(model.config).table.initialise({model.weights.data(), model.weights.size()}, planned.options.seed);
  const ImageReading reading(model, m.engine.compute(), m.engine.linalg());
  const Activations pass = reading.run(run->images().test, reading.last());
  const Reading form = reading.read(reading.classes(), weights_lines(reading)[reading.last()], pass);
  auto result = std::make_shared<ModelReading>();
  for (const UnitForm& unit : form.units) result->energy.push_back(energy_curve(unit.spectrum.values));
  result->forms[Form::weights].cut = truncation(reading, form, pass);
  return result;
}

}  // namespace

void measure_spectra(Measuring& m) {
  if (!m.measured.spectra.empty()) return;
  for (const std::string& data : m.plan.setup.images) {
    for (const std::string_view gate : {"sqs", "identity"})
      if (const Models models = all_models(m, data, gate); !models.empty())
        m.measured.spectra.push_back(share_of(models, data, gate));
    std::vector<std::shared_ptr<const ModelReading>> kept;
    Models untrained;
    for (const PlannedRun* run : m.finished(group_41(data), "sqs")) {
      kept.push_back(read_untrained(m, *run, data));
      untrained.push_back(kept.back().get());
    }
    if (untrained.empty()) continue;
    m.measured.spectra.push_back(share_of(untrained, data, "sqs"));
    m.measured.spectra.back().trained = false;
  }
}

void measure_choices(Measuring& m) {
  if (!m.measured.choices.empty()) return;
  const bool quick = m.plan.setup.quick;
  for (const std::string& data : m.plan.setup.images) {
    std::vector<SqsChoice> choices = other_choices(quick);
    choices.push_back(kPaperChoice);
    std::ranges::sort(choices, {}, [](const SqsChoice& c) { return std::pair{c.c, c.lambda}; });
    for (const SqsChoice& c : choices) {
      const bool own = c.lambda == kPaperChoice.lambda && c.c == kPaperChoice.c;
      GateChoice choice{.data = data, .lambda = c.lambda, .c = c.c};
      for (const PlannedRun* run : m.finished(own ? group_41(data) : group_choice(data, c), "sqs"))
        if (choice.loss.size() < kFewSeeds) add_run(m, *run, data, choice);
      if (!choice.loss.empty()) m.measured.choices.push_back(std::move(choice));
    }
  }
}

Matrix<double> class_deviations(const ImageSet& images) {
  const size_t pixels = images.inputs();
  Matrix<double> mean(images.classes, pixels);
  std::vector<double> all(pixels), count(images.classes);
  for (size_t i = 0; i < images.count(); i++) {
    double* row = mean.view().row_ptr(images.labels[i]);
    for (size_t p = 0; p < pixels; p++) {
      const double v = images.floats() ? static_cast<double>(images.values.view().row(i)[p])
                                       : images.pixels.view().row(i)[p] / 255.0;
      row[p] += v, all[p] += v;
    }
    count[images.labels[i]]++;
  }
  for (size_t c = 0; c < images.classes; c++)
    for (size_t p = 0; p < pixels; p++) {
      double& v = mean.view().row_ptr(c)[p];
      v = count[c] > 0 ? v / count[c] - all[p] / static_cast<double>(images.count()) : 0;
    }
  return mean;
}

ClassLikeness class_likeness(ConstMatrixView<double> pictures, ConstMatrixView<double> deviations) {
  assert(pictures.rows() == deviations.rows() && pictures.cols() == deviations.cols());
  ClassLikeness result;
  const size_t n = pictures.rows();
  for (size_t c = 0; c < n; c++) {
    const double own = alike(pictures.row(c), deviations.row(c));
    bool best = own > 0;
    for (size_t o = 0; o < n; o++) best = best && (o == c || alike(pictures.row(c), deviations.row(o)) < own);
    result.matched += best / static_cast<double>(n);
    result.cosine += own / static_cast<double>(n);
    for (size_t o = 0; o < c; o++) result.twins += alike(pictures.row(c), pictures.row(o)) >= kTwin;
  }
  return result;
}

}  // namespace glint

// Fidelity, truncation and spectra: numbers over all models of section 4.1.
#include "glint/paper/measure_reading.h"

#include <algorithm>

#include "glint/base/statistics.h"

namespace glint {
namespace {

// "The first few" of the paper: this many of 256.
constexpr size_t kFew = 10;

using Models = std::vector<const ModelReading*>;

const ModelReading& read_model(Measuring& m, const PlannedRun& planned, const std::string& data) {
  const std::string directory = m.directory(planned);
  if (const auto found = m.readings.find(directory); found != m.readings.end()) return *found->second;
  m.check_stop("reading the models");
  m.hooks.tell(
      {.label = "read models", .done = m.readings.size(), .unit = "models", .detail = planned.path()});
  const std::unique_ptr<Run> run = open_run_of(m, planned, data);
  const ImageReading& reading = run->image_reading();
  const std::vector<uint32_t> labels = labels_of(run->images().test);
  const auto pass = reading.run(run->images().test, reading.last());
  const auto classes = reading.classes();
  auto result = std::make_shared<ModelReading>();
  const auto read = [&](const char* form, Fidelity& fidelity, TruncationCurve& cut, bool energy) {
    const auto r = reading.read(classes, run->lines(form)[reading.last()], pass, labels);
    fidelity = r.fidelity;
    cut = reading.truncation(r, pass, labels);
    if (energy)
      for (const UnitForm& unit : r.units) result->energy.push_back(energy_curve(unit.spectrum.values));
  };
  read("weights", result->weights, result->cut_weights, true);
  // The form of a bilinear model is the model; there is nothing to calibrate.
  if (planned.options.gate != "identity")
    read("calibrated", result->calibrated, result->cut_calibrated, false);
  return *m.readings.emplace(directory, std::move(result)).first->second;
}

Models all_models(Measuring& m, const std::string& data, std::string_view gate) {
  Models models;
  for (const PlannedRun* run : m.finished(group_41(data), gate)) models.push_back(&read_model(m, *run, data));
  return models;
}

// Mean over models of accuracy[k].
std::vector<double> mean_curve(const Models& models, TruncationCurve ModelReading::*form) {
  std::vector<double> mean((models.front()->*form).accuracy.size());
  for (const ModelReading* model : models)
    for (size_t k = 0; k < mean.size(); k++)
      mean[k] += (model->*form).accuracy[k] / static_cast<double>(models.size());
  return mean;
}

FormTrust trust_of(const Models& models, const std::string& data, std::string_view gate,
                   const std::string& form, Fidelity ModelReading::*fidelity,
                   TruncationCurve ModelReading::*cut) {
  FormTrust t{.data = data, .gate = std::string(gate), .form = form};
  for (const ModelReading* model : models) {
    const Fidelity& f = model->*fidelity;
    t.agreement.push_back(f.agreement);
    t.r2.push_back(f.r2);
    t.correlation.push_back(f.correlation);
    t.accuracy_model_by_seed.push_back(f.accuracy_model);
    t.accuracy_form_by_seed.push_back(f.accuracy_form);
  }
  t.accuracy_model = mean_and_sd(t.accuracy_model_by_seed).mean;
  t.accuracy_form = mean_and_sd(t.accuracy_form_by_seed).mean;
  t.truncation = mean_curve(models, cut);
  return t;
}

}  // namespace

std::unique_ptr<Run> open_run_of(const Measuring& m, const PlannedRun& run, const std::string& data) {
  return std::make_unique<Run>(m.engine, RunSource{.run = m.directory(run), .data = {}, .data_dir = {}},
                               m.data.images(data));
}

std::unique_ptr<Run> open_first_sqs(const Measuring& m, const std::string& data) {
  const std::vector<const PlannedRun*> runs = m.finished(group_41(data), "sqs");
  return runs.empty() ? nullptr : open_run_of(m, *runs.front(), data);
}

void measure_trust(Measuring& m) {
  if (!m.measured.trust.empty()) return;
  for (const std::string& data : m.plan.setup.images)
    for (const std::string_view gate : kPaperGates) {
      const Models models = all_models(m, data, gate);
      if (models.empty()) continue;
      m.measured.trust.push_back(
          trust_of(models, data, gate, "weights", &ModelReading::weights, &ModelReading::cut_weights));
      if (gate != "identity")
        m.measured.trust.push_back(trust_of(models, data, gate, "calibrated", &ModelReading::calibrated,
                                            &ModelReading::cut_calibrated));
    }
}

void measure_spectra(Measuring& m) {
  if (!m.measured.spectra.empty()) return;
  for (const std::string& data : m.plan.setup.images)
    for (const std::string_view gate : {"sqs", "identity"}) {
      const Models models = all_models(m, data, gate);
      if (models.empty()) continue;
      SpectrumShare share{.data = data, .gate = std::string(gate), .few = kFew};
      const double n = static_cast<double>(models.size());
      share.seeds = models.size();
      share.width = models.front()->energy.front().size();
      share.few = std::min(share.few, share.width);
      share.energy.resize(models.front()->energy.size());
      for (const ModelReading* model : models) {
        const std::vector<double>& accuracy = model->cut_weights.accuracy;
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
      m.measured.spectra.push_back(std::move(share));
    }
}

}  // namespace glint

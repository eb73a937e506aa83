// Fidelity, truncation and spectra: numbers over all models of section 4.1.
#include "glint/cli/reproduce_reading.h"

#include <algorithm>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/statistics.h"
#include "glint/report/reproduction_tables.h"
#include "glint/report/training_figure.h"

namespace glint::cli {
namespace {

// "The first few" of the paper: this many of 256.
constexpr size_t kFew = 10;

// On the heap: its parts refer to each other, so it cannot move.
std::unique_ptr<OpenedRun> open(Lab& lab, const PlannedRun& run, const std::string& data) {
  return std::make_unique<OpenedRun>(lab.engine,
                                     ReadingOptions{.run = lab.directory(run), .data = {}, .data_dir = {}},
                                     lab.data.images(data));
}

double mean_of(const std::vector<const ModelReading*>& models, double Fidelity::*member,
               Fidelity ModelReading::*form) {
  double sum = 0;
  for (const ModelReading* m : models) sum += (m->*form).*member / static_cast<double>(models.size());
  return sum;
}

// Mean over models of accuracy[k].
std::vector<double> mean_curve(const std::vector<const ModelReading*>& models,
                               TruncationCurve ModelReading::*form) {
  std::vector<double> mean((models.front()->*form).accuracy.size());
  for (const ModelReading* m : models)
    for (size_t k = 0; k < mean.size(); k++)
      mean[k] += (m->*form).accuracy[k] / static_cast<double>(models.size());
  return mean;
}

std::vector<const ModelReading*> all_models(Lab& lab, const std::string& data, const std::string& gate) {
  std::vector<const ModelReading*> models;
  for (const PlannedRun& run : finished_41(lab, data, gate)) models.push_back(&read_model(lab, run, data));
  return models;
}

FormTrust trust_of(const std::vector<const ModelReading*>& models, const std::string& form,
                   Fidelity ModelReading::*member) {
  FormTrust t{.data = models.front()->data,
              .gate = models.front()->gate,
              .form = form,
              .agreement = {},
              .r2 = {},
              .correlation = {}};
  for (const ModelReading* m : models) {
    t.agreement.push_back((m->*member).agreement);
    t.r2.push_back((m->*member).r2);
    t.correlation.push_back((m->*member).correlation);
    t.accuracy_model_by_seed.push_back((m->*member).accuracy_model);
    t.accuracy_form_by_seed.push_back((m->*member).accuracy_form);
  }
  t.accuracy_model = mean_of(models, &Fidelity::accuracy_model, member);
  t.accuracy_form = mean_of(models, &Fidelity::accuracy_form, member);
  return t;
}

// Accuracy with k terms for every gate, in one form.
Chart truncation_chart(Lab& lab, const std::string& data, const std::string& form,
                       TruncationCurve ModelReading::*member) {
  Chart chart;
  chart.title = std::string(data_title(data)) + ": accuracy with k terms a class, " + form + " form";
  chart.x = {.label = "eigenvectors kept, k", .scale = Scale::early};
  chart.y = {.label = "test accuracy of the form"};
  for (const std::string_view gate : kPaperGates) {
    const auto models = all_models(lab, data, std::string(gate));
    if (models.empty()) continue;
    Series series = gate_series(gate);
    const std::vector<double> mean = mean_curve(models, member);
    for (size_t k = 0; k < mean.size(); k++) series.points.push_back({static_cast<double>(k), mean[k]});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

void collect_trust(Lab& lab) {
  if (!lab.measured.trust.empty()) return;
  for (const std::string& data : lab.setup.images)
    for (const std::string_view gate : kPaperGates) {
      const auto models = all_models(lab, data, std::string(gate));
      if (models.empty()) continue;
      lab.measured.trust.push_back(trust_of(models, "weights", &ModelReading::weights));
      // The form of a bilinear model is the model; there is nothing to calibrate.
      if (gate != "identity")
        lab.measured.trust.push_back(trust_of(models, "calibrated", &ModelReading::calibrated));
    }
}

}  // namespace

std::vector<PlannedRun> finished_41(const Lab& lab, const std::string& data, const std::string& gate) {
  std::vector<PlannedRun> found;
  for (const PlannedRun& run : runs_41(lab.setup))
    if (run.group == group_41(data) && run.options.gate == gate && run_finished(lab.directory(run)))
      found.push_back(run);
  return found;
}

std::unique_ptr<OpenedRun> open_first(Lab& lab, const std::string& data, const std::string& gate) {
  const std::vector<PlannedRun> runs = finished_41(lab, data, gate);
  return runs.empty() ? nullptr : open(lab, runs.front(), data);
}

const ModelReading& read_model(Lab& lab, const PlannedRun& planned, const std::string& data) {
  const std::string directory = lab.directory(planned);
  if (const auto found = lab.readings.find(directory); found != lab.readings.end()) return *found->second;
  if (lab.engine.stop_asked())
    throw Error({.code = ErrorCode::interrupted,
                 .what = "interrupted while reading the models",
                 .where = lab.out,
                 .hint = "the same command goes on; finished runs are kept"});
  if (lab.progress) lab.progress->update(lab.readings.size(), planned.path());
  const std::unique_ptr<OpenedRun> opened = open(lab, planned, data);
  OpenedRun& run = *opened;
  const ImageReading& reading = run.reading();
  const std::vector<uint32_t> labels = labels_of(run.data().test);
  const ImagePass pass = reading.run(run.data().test.pixels, reading.last());
  const Units classes = reading.classes();
  auto result = std::make_shared<ModelReading>();
  result->data = data, result->gate = planned.options.gate, result->seed = planned.options.seed;
  const auto read = [&](const char* form, Fidelity& fidelity, TruncationCurve& cut) {
    const FormReading r = reading.read(classes, run.lines(form)[reading.last()], pass, labels);
    fidelity = r.fidelity;
    cut = reading.truncation(r, pass, labels);
    if (std::string(form) != "weights") return;
    for (const UnitForm& unit : r.units) result->energy.push_back(energy_curve(unit.spectrum.values));
  };
  read("weights", result->weights, result->cut_weights);
  if (planned.options.gate == "identity")
    result->calibrated = result->weights, result->cut_calibrated = result->cut_weights;
  else
    read("calibrated", result->calibrated, result->cut_calibrated);
  return *lab.readings.emplace(directory, std::move(result)).first->second;
}

void write_fidelity(Lab& lab, ReportSection& section) {
  collect_trust(lab);
  if (lab.measured.trust.empty()) return;
  section.blocks.push_back(Paragraph{
      "A quadratic form is the model itself only where the gate is the identity. For the others it is an "
      "approximation, and the paper does not say how good one. The calibrated form replaces each gate by the "
      "line that serves best on training images."});
  section.blocks.push_back(trust_table(lab.measured.trust));
  for (const std::string& data : lab.setup.images) {
    const Chart weights = truncation_chart(lab, data, "weights", &ModelReading::cut_weights),
                calibrated = truncation_chart(lab, data, "calibrated", &ModelReading::cut_calibrated);
    for (const auto& [name, chart] : {std::pair{"weights", &weights}, std::pair{"calibrated", &calibrated}})
      section.blocks.push_back(
          ReportFigure{.name = "truncation-" + data + "-" + name,
                       .caption = std::string(data_title(data)) +
                                  ": each class keeps its k strongest eigenvectors of the " + name + " form" +
                                  (name == std::string("calibrated")
                                       ? ", whose linear part is always kept: k = 0 is that part alone"
                                       : "") +
                                  "; means over seeds.",
                       .svg = to_svg(*chart),
                       .csv = to_csv(*chart)});
  }
}

void collect_spectra(Lab& lab) {
  for (const std::string& data : lab.setup.images)
    for (const std::string_view gate : {"sqs", "identity"}) {
      const auto models = all_models(lab, data, std::string(gate));
      if (models.empty()) continue;
      SpectrumShare share{.data = data, .gate = std::string(gate), .few = kFew, .energy = {}};
      const double n = static_cast<double>(models.size());
      share.seeds = models.size();
      share.width = models.front()->energy.front().size();
      share.few = std::min(share.few, share.width);
      share.energy.resize(models.front()->energy.size());
      for (const ModelReading* m : models) {
        share.energy_by_seed.emplace_back();
        for (const std::vector<double>& of_class : m->energy)
          share.energy_by_seed.back().push_back(of_class[share.few - 1]);
        share.few_accuracy_by_seed.push_back(m->cut_weights.accuracy[share.few]);
        share.all_accuracy_by_seed.push_back(m->cut_weights.accuracy.back());
        for (size_t c = 0; c < share.energy.size(); c++) share.energy[c] += m->energy[c][share.few - 1] / n;
        share.accuracy_few += m->cut_weights.accuracy[share.few] / n;
        share.accuracy_all += m->cut_weights.accuracy.back() / n;
      }
      lab.measured.spectra.push_back(std::move(share));
    }
}

}  // namespace glint::cli

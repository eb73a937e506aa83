// Figure 2, the spectra of single classes and the explained decision: what eigenvectors look like.
#include <algorithm>

#include "glint/lab/read/explain.h"
#include "glint/lab/study/compare.h"
#include "glint/paper/measure.h"

namespace glint {
namespace {

constexpr size_t kShown = 3;  // pictures of each sign

// The strongest eigenvectors of each sign as pictures.
void add_pictures(const ImageRun& run, const Spectrum& spectrum, const std::vector<GateTerms>& lines,
                  ClassSpectrum& out) {
  std::vector<size_t> rows;
  for (size_t k = 0; k < std::min(kShown, spectrum.count()) && spectrum.values[k] > 0; k++) rows.push_back(k);
  const size_t positive = rows.size();
  for (size_t k = 0; k < std::min(kShown, spectrum.count()); k++)
    if (spectrum.values[spectrum.count() - 1 - k] < 0) rows.push_back(spectrum.count() - 1 - k);
  Matrix<double> vectors(rows.size(), spectrum.width());
  for (size_t i = 0; i < rows.size(); i++)
    std::ranges::copy(spectrum.vectors.view().row(rows[i]), vectors.view().row_ptr(i));
  const ImageReading& reading = run.reading();
  const Matrix<double> pixels = reading.pictures(reading.last(), vectors, lines);
  for (size_t i = 0; i < rows.size(); i++) {
    const std::span<const double> row = pixels.view().row(i);
    (i < positive ? out.positive : out.negative).push_back({spectrum.values[rows[i]], {row.begin(), row.end()}});
  }
}

// Adds the classes from `first` on, `last` excluded, of the SQS model of the first seed.
void add_classes(Measuring& m, const std::string& data, size_t first, size_t last) {
  const std::unique_ptr<ImageRun> run = open_first_sqs(m, data);
  if (!run) return;
  m.check_stop("reading the models");
  const std::vector<GateTerms> lines = run->lines(Form::weights);
  const ImageReading& reading = run->reading();
  const auto form = reading.read(reading.classes(), lines[reading.last()], run->measured(reading.last()));
  std::vector<ModelPictures>& all = m.measured.pictures;
  auto found = std::ranges::find(all, data, &ModelPictures::data);
  if (found == all.end())
    found = all.insert(all.end(), {.data = data,
                                   .size = {run->model().height, run->model().width},
                                   .r2 = form.fidelity.r2,
                                   .agreement = form.fidelity.agreement});
  for (size_t c = first; c < std::min(last, form.units.size()); c++) {
    if (std::ranges::find(found->classes, c, &ClassSpectrum::index) != found->classes.end()) continue;
    const Spectrum& spectrum = form.units[c].spectrum;
    ClassSpectrum out{.index = c,
                      .name = run->class_text(c),
                      .r2 = form.fidelity.units[c].r2,
                      .values = spectrum.values,
                      .groups = spectrum.groups};
    add_pictures(*run, spectrum, lines, out);
    found->classes.push_back(std::move(out));
  }
}

const char* words(Measure measure) {
  return measure == Measure::rank_matched ? "by rank" : measure == Measure::best_matched ? "best pairs" : "subspace";
}

std::vector<double> column(const std::vector<Spread>& ranks, double Spread::*member) {
  std::vector<double> v;
  for (const Spread& s : ranks) v.push_back(s.*member);
  return v;
}

// One way to compare: SQS in a form, in a space.
void add_similarity(Measuring& m, const std::string& data, Form form, const std::string& space) {
  CompareRequest request;
  request.form = name(form), request.space = space;
  request.controls = false;  // those of the fidelities are measured with the readings
  for (const PlannedRun* sqs : m.finished(group_41(data), "sqs"))
    for (const PlannedRun* other : m.finished(group_41(data), "identity"))
      if (sqs->options.seed == other->options.seed) {
        request.runs.push_back(m.directory(*sqs));
        request.runs.push_back(m.directory(*other));
      }
  if (request.runs.empty()) return;
  m.check_stop("comparing the models");
  m.hooks.tell({.label = "compare models",
                .done = m.measured.similarity.size() / std::size(kMeasures),
                .total = 3 * m.plan.setup.images.size(),
                .unit = "comparisons",
                .detail = data + ", " + name(form) + " form, " + space});
  const Comparison comparison = compare_runs(m.engine, request);
  for (const Measure measure : kMeasures) {
    const std::vector<Spread> own = by_rank(comparison.results, measure, Side::both),
                              control = by_rank(comparison.control, measure, Side::both);
    m.measured.similarity.push_back({.data = data,
                                     .form = name(form),
                                     .space = space,
                                     .measure = words(measure),
                                     .mean = column(own, &Spread::mean),
                                     .sd = column(own, &Spread::sd),
                                     .min = column(own, &Spread::min),
                                     .control = column(control, &Spread::mean),
                                     .pairs = comparison.results.size(),
                                     .pair_sd = column(own, &Spread::pair_sd),
                                     .control_sd = column(control, &Spread::pair_sd),
                                     .control_pairs = comparison.control.size(),
                                     .control_text = comparison.control_text});
  }
}

}  // namespace

// The paper's five classes: 1 to 5, which on Fashion-MNIST are trouser, pullover, dress, coat, sandal.
void measure_features(Measuring& m) {
  for (const std::string& data : m.plan.setup.images) add_classes(m, data, 1, 6);
}

void measure_class_spectra(Measuring& m) { add_classes(m, m.plan.setup.images.front(), 5, 10); }

void measure_similarity(Measuring& m) {
  if (!m.measured.similarity.empty()) return;
  for (const std::string& data : m.plan.setup.images) {
    add_similarity(m, data, Form::weights, "pixels");
    add_similarity(m, data, Form::calibrated, "pixels");
  }
  for (const std::string& data : m.plan.setup.images) add_similarity(m, data, Form::weights, "input");
}

void measure_explanation(Measuring& m) {
  const std::string& data = m.plan.setup.images.front();
  const std::unique_ptr<ImageRun> run = open_first_sqs(m, data);
  if (!run) return;
  m.check_stop("explaining a decision");
  const size_t index = clear_image(*run, Form::calibrated);
  ExplainRequest request;
  request.form = name(Form::calibrated);
  request.index = index, request.figures = false;
  const ExplainResult result = explain(m.engine, *run, request);
  m.measured.explained = {.data = data,
                          .run = run->directory(),
                          .index = index,
                          .constant = std::ranges::any_of(
                              result.classes, [](const auto& c) { return c.sums[Form::calibrated]->constant != 0; }),
                          .r2 = result.fidelity.r2,
                          .agreement = result.fidelity.agreement,
                          .explanation = explanation_figure(result)};
  m.measured.explained->explanation.title = m.measured.explained->explanation.note = "";
}

}  // namespace glint

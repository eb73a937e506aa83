// Figure 2, the spectra of appendix B and the explained decision: what eigenvectors look like.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "glint/lab/compare.h"
#include "glint/cli/reproduce_reading.h"
#include "glint/report/comparison_figure.h"
#include "glint/report/explain_figure.h"
#include "glint/report/feature_grid.h"
#include "glint/report/reproduction_tables.h"
#include "glint/report/spectrum_figure.h"

namespace glint::cli {
namespace {

constexpr size_t kShown = 3;  // pictures of each sign

struct Pictures {
  std::vector<SignedPicture> positive, negative;  // strongest first
};

// The strongest eigenvectors of each sign as pictures.
Pictures pictures_of(OpenedRun& run, const Spectrum& spectrum, const std::vector<GateLine>& lines) {
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
  Pictures out;
  for (size_t i = 0; i < rows.size(); i++) {
    const std::span<const double> row = pixels.view().row(i);
    (i < positive ? out.positive : out.negative)
        .push_back({spectrum.values[rows[i]], {row.begin(), row.end()}});
  }
  return out;
}

FormReading read_form(OpenedRun& run, const std::vector<GateLine>& lines) {
  const ImageReading& reading = run.reading();
  return reading.read(reading.classes(), lines[reading.last()],
                      reading.run(run.data().test.pixels, reading.last()), labels_of(run.data().test));
}

std::string trust_text(const Fidelity& f) {
  return "R\xc2\xb2 with the logits " + fixed_text(f.r2, 3) + ", same decision on " +
         fixed_text(100 * f.agreement, 1) + " % of the test images";
}

ReportFigure report_figure(const std::string& name, const std::string& caption, Figure figure,
                           bool wide = false) {
  return {name, caption, std::move(figure.svg), std::move(figure.csv), wide};
}

// The paper's five classes: 1 to 5, which on Fashion-MNIST are trouser, pullover, dress, coat, sandal.
void write_features(Lab& lab, ReportSection& section, const std::string& data) {
  const std::unique_ptr<OpenedRun> run = open_first(lab, data, "sqs");
  if (!run) return;
  const std::vector<GateLine> lines = run->lines("weights");
  const FormReading form = read_form(*run, lines);
  FeatureGrid grid{.title = std::string(data_title(data)) + ": eigenvectors of the SQS model",
                   .note = trust_text(form.fidelity),
                   .size = {run->model().height, run->model().width},
                   .rows = {}};
  for (size_t c = 1; c <= std::min<size_t>(5, form.units.size() - 1); c++) {
    Pictures p = pictures_of(*run, form.units[c].spectrum, lines);
    grid.rows.push_back({run->class_text(c), "R\xc2\xb2 " + fixed_text(form.fidelity.unit_r2[c], 2),
                         std::move(p.positive), std::move(p.negative)});
  }
  section.blocks.push_back(
      report_figure("figure2a-" + data,
                    std::string(data_title(data)) +
                        ", seed 0: strongest eigenvectors for (left) and against (right) five classes, "
                        "weights form, each on its own scale; the sign of a picture is free.",
                    feature_grid(grid)));
}

const char* words(Measure measure) {
  return measure == Measure::rank_matched   ? "by rank"
         : measure == Measure::best_matched ? "best pairs"
                                            : "subspace";
}

std::vector<double> means(const std::vector<Spread>& ranks, double Spread::*member) {
  std::vector<double> v;
  for (const Spread& s : ranks) v.push_back(s.*member);
  return v;
}

// One way to compare: SQS in a form, in a space.
void write_similarity(Lab& lab, ReportSection& section, const std::string& data, const std::string& form,
                      const std::string& space) {
  CompareRequest options;
  options.form = form, options.space = space;
  for (const PlannedRun& sqs : finished_41(lab, data, "sqs"))
    for (const PlannedRun& other : finished_41(lab, data, "identity"))
      if (sqs.options.seed == other.options.seed) {
        options.runs.push_back(lab.directory(sqs));
        options.runs.push_back(lab.directory(other));
      }
  if (options.runs.empty()) return;
  // Its notes are about options that this verb does not have.
  const Comparison comparison = compare_runs(lab.engine, options);
  std::vector<SimilarityLine> lines;
  for (const Measure measure : kMeasures) {
    const std::vector<Spread> own = by_rank(comparison.results, measure, Side::both),
                              control = by_rank(comparison.control, measure, Side::both);
    SimilarityCurve curve{.data = data,
                          .form = form,
                          .space = space,
                          .measure = words(measure),
                          .mean = means(own, &Spread::mean),
                          .sd = means(own, &Spread::sd),
                          .min = means(own, &Spread::min),
                          .control = means(control, &Spread::mean),
                          .pairs = comparison.results.size(),
                          .pair_sd = means(own, &Spread::pair_sd),
                          .control_sd = means(control, &Spread::pair_sd),
                          .control_pairs = comparison.control.size()};
    lines.push_back({curve.measure, curve.mean, curve.sd, curve.control});
    lab.measured.similarity.push_back(std::move(curve));
  }
  const Chart chart =
      similarity_figure(std::string(data_title(data)) + ": SQS (" + form + ") and bilinear", lines);
  section.blocks.push_back(ReportFigure{
      .name = "figure2b-" + data + "-" + form + "-" + space,
      .caption = std::string(data_title(data)) + ", " + std::to_string(comparison.results.size()) +
                 (comparison.results.size() == 1 ? " pair" : " pairs") + " of the same seed, SQS in its " +
                 form + " form, compared " +
                 (space == "pixels" ? "as pictures" : "at the input of the layer") +
                 ": mean and standard deviation over classes, both signs and pairs. Dashed: " +
                 comparison.control_text + ".",
      .svg = to_svg(chart),
      .csv = to_csv(chart)});
}

// The first test image that the model and its form both get right.
size_t clear_case(const Dataset& data, ConstMatrixView<float> logits, const std::vector<UnitForm>& units,
                  ConstMatrixView<float> inputs) {
  for (size_t i = 0; i < data.test.count(); i++) {
    const std::span<const float> row = logits.row(i);
    if (static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()) != data.test.labels[i])
      continue;
    const std::vector<double> x(inputs.row(i).begin(), inputs.row(i).end());
    std::vector<double> values;
    for (const UnitForm& u : units) values.push_back(form_value(u, x));
    if (static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin()) ==
        data.test.labels[i])
      return i;
  }
  return 0;
}

ExplainedClass explain_class(OpenedRun& run, size_t c, double logit, const UnitForm& unit,
                             const std::vector<double>& x, const std::vector<GateLine>& lines) {
  const std::vector<double> terms = contributions(unit.spectrum, x);
  ExplainedClass out{.name = run.class_text(c), .logit = logit, .forward = {}, .against = {}};
  double sum = 0;
  for (const double t : terms) (t > 0 ? out.positive : out.negative) += t, sum += t;
  out.rest = form_value(unit, x) - sum;
  out.rest_name = unit.constant != 0 ? "linear part and constant" : "linear part";
  const ImageReading& reading = run.reading();
  for (const uint32_t k : order_by_magnitude(terms)) {
    std::vector<ExplainedTerm>& side = terms[k] > 0 ? out.forward : out.against;
    if (side.size() >= 4 || terms[k] == 0) continue;
    const std::span<const double> v = unit.spectrum.vectors.view().row(k);
    const double projection = std::inner_product(x.begin(), x.end(), v.begin(), 0.0);
    Matrix<double> vector(1, v.size());
    std::ranges::copy(v, vector.data());
    const Matrix<double> picture = reading.pictures(reading.last(), vector, lines);
    ExplainedTerm term{k + 1,
                       unit.spectrum.values[k],
                       std::fabs(projection),
                       terms[k],
                       {picture.data(), picture.data() + picture.size()}};
    if (projection < 0)
      for (double& p : term.pixels) p = -p;
    side.push_back(std::move(term));
  }
  return out;
}

}  // namespace

void write_figure2(Lab& lab, ReportSection& section) {
  for (const std::string& data : lab.setup.images) write_features(lab, section, data);
  section.blocks.push_back(Paragraph{
      "**Figure 2B.** The paper does not say in which space it compares, how it pairs eigenvectors, or what "
      "similarity means nothing. So there are three ways to pair, two spaces, both forms, and a control."});
  for (const std::string& data : lab.setup.images) {
    write_similarity(lab, section, data, "weights", "pixels");
    write_similarity(lab, section, data, "calibrated", "pixels");
  }
  for (const std::string& data : lab.setup.images) write_similarity(lab, section, data, "weights", "input");
  if (!lab.measured.similarity.empty()) section.blocks.push_back(similarity_table(lab.measured.similarity));
}

void write_spectra(Lab& lab, ReportSection& section) {
  collect_spectra(lab);
  const std::string& data = lab.setup.images.front();
  if (const std::unique_ptr<OpenedRun> run = open_first(lab, data, "sqs")) {
    const std::vector<GateLine> lines = run->lines("weights");
    const FormReading form = read_form(*run, lines);
    for (size_t c = 5; c < std::min<size_t>(10, form.units.size()); c++) {
      Pictures p = pictures_of(*run, form.units[c].spectrum, lines);
      section.blocks.push_back(report_figure(
          "spectrum-" + data + "-" + std::to_string(c),
          std::string(data_title(data)) + ", SQS, seed 0: eigenvalues of logit " + run->class_text(c) +
              ", weights form.",
          spectrum_figure({.title = "Logit " + run->class_text(c),
                           .note = "R\xc2\xb2 of this logit " + fixed_text(form.fidelity.unit_r2[c], 3),
                           .values = form.units[c].spectrum.values,
                           .groups = form.units[c].spectrum.groups,
                           .size = {run->model().height, run->model().width},
                           .positive = std::move(p.positive),
                           .negative = std::move(p.negative)})));
    }
  }
  if (!lab.measured.spectra.empty()) section.blocks.push_back(energy_table(lab.measured.spectra));
}

void write_explanation(Lab& lab, ReportSection& section) {
  const std::string& data = lab.setup.images.front();
  const std::unique_ptr<OpenedRun> run = open_first(lab, data, "sqs");
  if (!run) return;
  const ImageReading& reading = run->reading();
  const std::vector<GateLine> lines = run->lines("calibrated");
  const ImagePass pass = reading.run(run->data().test.pixels, reading.last());
  const FormReading form =
      reading.read(reading.classes(), lines[reading.last()], pass, labels_of(run->data().test));
  const size_t image = clear_case(run->data(), pass.logits, form.units, pass.inputs);
  const std::span<const float> logits = pass.logits.view().row(image), inputs = pass.inputs.view().row(image);
  const std::vector<double> x(inputs.begin(), inputs.end());
  Explanation e{.title = "Test image " + std::to_string(image) + " of " + std::string(data_title(data)),
                .note = "Calibrated form: " + trust_text(form.fidelity),
                .size = {run->model().height, run->model().width},
                .input = {},
                .class_names = run->class_names(),
                .logits = {logits.begin(), logits.end()},
                .probabilities = {},
                .classes = {}};
  for (const uint8_t p : run->data().test.pixels.view().row(image)) e.input.push_back(p / 255.0);
  const double top = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float l : logits) e.probabilities.push_back(std::exp(l - top)), total += e.probabilities.back();
  for (double& p : e.probabilities) p /= total;
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  for (size_t i = 0; i < std::min<size_t>(2, order.size()); i++)
    e.classes.push_back(explain_class(*run, order[i], logits[order[i]], form.units[order[i]], x, lines));
  const bool constant =
      std::ranges::any_of(form.units, [](const UnitForm& unit) { return unit.constant != 0; });
  section.blocks.push_back(report_figure(
      "explanation",
      "The decision and its runner-up, SQS, seed 0, calibrated form: what the strongest "
      "eigenvectors of each class contribute to its logit. All for and all against are the sums "
      "over all eigenvectors. The linear part comes from the shifts of the calibrated gates: "
      "each gate is replaced by a line, gain times input plus shift, and the shift leaves a "
      "term that is linear in the input and belongs to no eigenvector; it can be a large part "
      "of the logit. " +
          std::string(constant ? "The constant is the bias of the head. " : "") +
          "What these sums lack to the logit is the error of the form.",
      explain_figure(e), true));
  section.blocks.push_back(
      Commands{{"glint explain " + run->run().directory + " --index " + std::to_string(image)}});
}

}  // namespace glint::cli

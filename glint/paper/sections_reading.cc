// The sections about weights: figure 2, fidelity, spectra, the explained decision; about gates alone, the choice of
// options, and reading language models.
#include <algorithm>

#include "glint/paper/reproduction_tables.h"
#include "glint/paper/write.h"
#include "glint/report/chart.h"
#include "glint/report/comparison_figure.h"
#include "glint/report/gate_table.h"
#include "glint/report/spectrum_figure.h"

namespace glint {
namespace {

std::string trust_words(double r2, double agreement) {
  return "R\xc2\xb2 with the logits " + fixed_text(r2, 3) + ", same decision on " + fixed_text(100 * agreement, 1) +
         " % of the test images";
}

ReportFigure report_figure(const std::string& name, const std::string& caption, Figure figure, bool wide = false) {
  return {name, caption, std::move(figure.svg), std::move(figure.csv), wide};
}

// Figure 2A shows classes 1 to 5, appendix B classes 5 to 9.
void write_features(const ModelPictures& model, ReportSection& section) {
  FeatureGrid grid{.title = data_title(model.data) + ": eigenvectors of the SQS model",
                   .note = trust_words(model.r2, model.agreement),
                   .size = model.size,
                   .rows = {}};
  for (const ClassSpectrum& c : model.classes)
    if (c.index >= 1 && c.index <= 5)
      grid.rows.push_back({c.name, "R\xc2\xb2 " + fixed_text(c.r2, 2), c.positive, c.negative});
  section.blocks.push_back(report_figure(
      "figure2a-" + model.data,
      data_title(model.data) + ", seed 0: strongest eigenvectors for (left) and against (right) five classes, "
                               "weights form, each on its own scale; the sign of a picture is free.",
      feature_grid(grid)));
}

// All measures of one data set, form and space in one figure.
void write_similarity(const Measured& m, const SimilarityCurve& first, ReportSection& section) {
  std::vector<SimilarityLine> lines;
  for (const SimilarityCurve& c : m.similarity)
    if (c.data == first.data && c.form == first.form && c.space == first.space)
      lines.push_back({c.measure, c.mean, c.sd, c.control});
  section.blocks.push_back(report_figure(
      "figure2b-" + first.data + "-" + first.form + "-" + first.space,
      data_title(first.data) + ", " + std::to_string(first.pairs) + (first.pairs == 1 ? " pair" : " pairs") +
          " of the same seed, SQS in its " + first.form + " form, compared " +
          (first.space == "pixels" ? "as pictures" : "at the input of the layer") +
          ": mean and standard deviation over classes, both signs and pairs. Dashed: " + first.control_text + ".",
      similarity_figure(data_title(first.data) + ": SQS (" + first.form + ") and bilinear", lines)));
}

// Accuracy with k terms for every gate, in one form. That of a bilinear model is its weights form, always.
Chart truncation_chart(const Measured& m, const std::string& data, const std::string& form) {
  Chart chart;
  chart.title = data_title(data) + ": accuracy with k terms per class, " + form + " form";
  chart.x = {.label = "eigenvectors kept, k", .scale = Scale::early};
  chart.y = {.label = "test accuracy of the form"};
  for (const std::string_view gate : kPaperGates)
    for (const FormTrust& t : m.trust) {
      if (t.data != data || t.gate != gate || t.form != (gate == "identity" ? "weights" : form)) continue;
      Series series = gate_series(gate);
      for (size_t k = 0; k < t.truncation.size(); k++)
        series.points.push_back({static_cast<double>(k), t.truncation[k]});
      chart.series.push_back(std::move(series));
    }
  return chart;
}

// A line per gate over the layers, in one form.
Chart language_chart(const Measured& m, const std::string& form) {
  const bool weights = form == "weights";  // has no scale of its own: its correlation speaks
  Chart chart;
  chart.title = std::string("What eigenvectors explain, ") + form + " form";
  chart.x = {.label = "layer", .whole = true};
  chart.y = {.label = weights ? "correlation, median" : "R\xc2\xb2 of the eigenvectors alone, median"};
  for (const std::string_view gate : kPaperGates) {
    Series series = gate_series(gate);
    series.marker = gate == "sqs" ? Marker::circle : Marker::square;
    for (const LanguageLayer& l : m.language)
      if (l.gate == gate && l.form == form)
        series.points.push_back({static_cast<double>(l.layer), weights ? l.correlation : l.r2,
                                 weights ? l.correlation_low : l.r2_low, weights ? l.correlation_high : l.r2_high});
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

void write_figure2(const Measured& m, ReportSection& section) {
  for (const std::string& data : m.images)
    if (const ModelPictures* model = m.pictures_of(data)) write_features(*model, section);
  if (!m.matches.empty()) section.blocks.push_back(match_table(m.matches));
  section.blocks.push_back(
      Paragraph{"**Figure 2B.** The paper does not say in which space it compares, how it pairs eigenvectors, or what "
                "similarity means nothing. So there are three ways to pair, two spaces, both forms, and a control."});
  const SimilarityCurve* last = nullptr;
  for (const SimilarityCurve& c : m.similarity) {
    if (!last || c.data != last->data || c.form != last->form || c.space != last->space)
      write_similarity(m, c, section);
    last = &c;
  }
  if (!m.similarity.empty()) section.blocks.push_back(similarity_table(m.similarity));
}

void write_spectra(const Measured& m, ReportSection& section) {
  const ModelPictures* model = m.images.empty() ? nullptr : m.pictures_of(m.images.front());
  if (model)
    for (const ClassSpectrum& c : model->classes) {
      if (c.index < 5) continue;
      section.blocks.push_back(
          report_figure("spectrum-" + model->data + "-" + std::to_string(c.index),
                        data_title(model->data) + ", SQS, seed 0: eigenvalues of logit " + c.name + ", weights form.",
                        spectrum_figure({.title = "Logit " + c.name,
                                         .note = "R\xc2\xb2 of this logit " + fixed_text(c.r2, 3),
                                         .values = c.values,
                                         .groups = c.groups,
                                         .size = model->size,
                                         .positive = c.positive,
                                         .negative = c.negative})));
    }
  if (!m.spectra.empty()) section.blocks.push_back(energy_table(m.spectra));
}

void write_explanation(const Measured& m, ReportSection& section) {
  if (!m.explained) return;
  const ExplainedImage& image = *m.explained;
  Explanation e = image.explanation;
  e.title = "Test image " + std::to_string(image.index) + " of " + data_title(image.data);
  e.note = "Calibrated form: " + trust_words(image.r2, image.agreement);
  section.blocks.push_back(
      report_figure("explanation",
                    "The decision and its runner-up, SQS, seed 0, calibrated form: what the strongest "
                    "eigenvectors of each class contribute to its logit. All for and all against are the sums "
                    "over all eigenvectors. The linear part comes from the shifts of the calibrated gates: "
                    "each gate is replaced by a line, gain times input plus shift, and the shift leaves a "
                    "term that is linear in the input and belongs to no eigenvector; it can be a large part "
                    "of the logit. " +
                        std::string(image.constant ? "The constant is the bias of the head. " : "") +
                        "The rest is what the form leaves out.",
                    explain_figure(e), true));
  section.blocks.push_back(Commands{{"glint explain " + image.run + " --index " + std::to_string(image.index)}});
}

void write_fidelity(const Measured& m, ReportSection& section) {
  if (m.trust.empty()) return;
  section.blocks.push_back(
      Paragraph{"A quadratic form is the model itself only where the gate is the identity. For the others it is an "
                "approximation, and the paper does not say how good one. Every form stands beside its controls: "
                "R\xc2\xb2 alone impresses nobody where a linear map of the input has nearly as much, and an untrained "
                "model is often as easy to read: agreement shows that a layer is nearly a quadratic form, not that it "
                "has learned something."});
  section.blocks.push_back(trust_table(m.trust));
  for (const std::string& data : m.images)
    for (const std::string form : {"weights", "scaled", "calibrated"}) {
      if (std::ranges::none_of(m.trust, [&](const FormTrust& t) { return t.data == data && t.form == form; })) continue;
      section.blocks.push_back(report_figure(
          "truncation-" + data + "-" + form,
          data_title(data) + ": each class keeps its k strongest eigenvectors of the " + form + " form" +
              (form == "calibrated" ? ", whose linear part is always kept: k = 0 is that part alone" : "") +
              "; means over seeds.",
          truncation_chart(m, data, form)));
    }
}

void write_gates(const Measured&, ReportSection& section) {
  section.blocks.push_back(report_figure("figure1",
                                         "The gates as functions of their input, with the paper's options "
                                         "for this figure. SQS jumps from +c to -c at 0.",
                                         gate_figure(kFigureParams)));
}

void write_timing(const Measured& m, ReportSection& section) {
  if (m.times.empty()) return;
  section.blocks.push_back(
      Paragraph{"All gates of a shape take turns, so that a drift of the machine hits them alike. The times are kept "
                "in `timing.json`; without that file they are measured anew. The paper's are of a triton kernel on a "
                "GPU: compare ratios, not milliseconds."});
  section.blocks.push_back(timing_table(m.times));
}

void write_choices(const Measured& m, ReportSection& section) {
  if (m.choices.empty()) return;
  section.blocks.push_back(
      Paragraph{"The paper sets \xce\xbb = .5 and c = .01 because these give \"the most interpretable eigenvectors "
                "whilst maintaining performance\", and shows no other. Interpretable is taken as: the quadratic form "
                "of the weights, whose eigenvectors are shown, decides as the model does."});
  section.blocks.push_back(choice_table(m.choices));
}

void write_language(const Measured& m, ReportSection& section) {
  if (m.language.empty()) return;
  const LanguageLayer& first = m.language.front();
  section.blocks.push_back(
      Paragraph{"The paper reads the weights of image models alone. Here the layers of the language models of table 1 "
                "are read: along " +
                std::to_string(first.directions) + " directions of tokens, on " + std::to_string(first.tokens) +
                " tokens of validation stories. Every layer is behind a norm, so that its input has one size."});
  section.blocks.push_back(language_table(m.language));
  for (const char* form : {"weights", "scaled", "calibrated"})
    if (const Chart chart = language_chart(m, form); !chart.series.empty())
      section.blocks.push_back(report_figure(
          std::string("language-") + form,
          std::string("Median over directions and seeds with its 95 % bootstrap interval, ") + form + " form.", chart));
}

}  // namespace glint

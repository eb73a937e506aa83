// The sections about the choice of options and about reading language models.
#include <algorithm>

#include "glint/paper/reproduction_tables.h"
#include "glint/paper/write.h"
#include "glint/report/chart.h"

namespace glint {
namespace {

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
      section.blocks.push_back(ReportFigure{.name = std::string("language-") + form,
                                            .caption = std::string("Median over directions and seeds with its 95 % "
                                                                   "bootstrap interval, ") +
                                                       form + " form.",
                                            .svg = to_svg(chart),
                                            .csv = to_csv(chart)});
}

}  // namespace glint

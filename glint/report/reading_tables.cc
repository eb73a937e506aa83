// The tables about weights and times; those about training are in reproduction_tables.cc.
#include <algorithm>
#include <cmath>

#include "glint/base/statistics.h"
#include "glint/report/reproduction_tables.h"

namespace glint {
namespace {

std::string title(std::string_view data) { return std::string(data_title(data)); }
std::string gate_text(std::string_view gate) { return std::string(gate_title(gate)); }
std::string spread(const std::vector<double>& v, double scale, int decimals) {
  const MeanAndSd m = mean_and_sd(v);
  return fixed_text(scale * m.mean, decimals) +
         (v.size() > 1 ? " \xc2\xb1 " + fixed_text(scale * m.sd, decimals) : "");
}

}  // namespace

ReportTable trust_table(std::span<const FormTrust> trust) {
  ReportTable t{.name = "fidelity",
                .caption =
                    "How far the quadratic form of the weights stands for the model, on the whole test set: "
                    "mean \xc2\xb1 standard deviation over n seeds. weights: the paper's form. calibrated: "
                    "one gain and shift a hidden unit, measured on training images. Agreement: share of "
                    "images on which form and model decide alike.",
                .heads = {{.text = "data", .align = Align::left},
                          {.text = "gate", .align = Align::left},
                          {.text = "form", .align = Align::left},
                          {.text = "n"},
                          {.text = "agreement %"},
                          {.text = "R\xc2\xb2"},
                          {.text = "correlation"},
                          {.text = "accuracy of form %"},
                          {.text = "of model %"}},
                .data = Table({{.header = "data"},
                               {.header = "gate"},
                               {.header = "form"},
                               {.header = "n"},
                               {.header = "agreement"},
                               {.header = "agreement_sd"},
                               {.header = "r2"},
                               {.header = "r2_sd"},
                               {.header = "correlation"},
                               {.header = "accuracy_form"},
                               {.header = "accuracy_model"}})};
  std::string data, gate;
  for (const FormTrust& f : trust) {
    const bool new_data = f.data != data, new_gate = new_data || f.gate != gate;
    const size_t n = f.agreement.size();
    const MeanAndSd agreement = mean_and_sd(f.agreement), r2 = mean_and_sd(f.r2);
    t.rows.push_back({{{new_data ? title(f.data) : ""},
                       {new_gate ? gate_text(f.gate) : ""},
                       {f.form},
                       {std::to_string(n)},
                       {spread(f.agreement, 100, 2)},
                       {spread(f.r2, 1, 3)},
                       {spread(f.correlation, 1, 3)},
                       {fixed_text(100 * f.accuracy_form, 2)},
                       {fixed_text(100 * f.accuracy_model, 2)}},
                      new_gate});
    t.data.add({f.data, f.gate, f.form, std::to_string(n), number_text(agreement.mean),
                n > 1 ? number_text(agreement.sd) : "", number_text(r2.mean), n > 1 ? number_text(r2.sd) : "",
                number_text(mean_and_sd(f.correlation).mean), number_text(f.accuracy_form),
                number_text(f.accuracy_model)});
    data = f.data, gate = f.gate;
  }
  return t;
}

ReportTable energy_table(std::span<const SpectrumShare> spectra) {
  ReportTable t{.name = "spectra",
                .caption =
                    "How much of a class's quadratic form (of the weights) its strongest eigenvectors carry: "
                    "share of the sum of squared eigenvalues, lowest, mean and highest over the classes, "
                    "each the mean over n seeds; and the accuracy of the form with these terms alone.",
                .heads = {{.text = "data", .align = Align::left},
                          {.text = "gate", .align = Align::left},
                          {.text = "n"},
                          {.text = "strongest"},
                          {.text = "lowest %"},
                          {.text = "mean %"},
                          {.text = "highest %"},
                          {.text = "accuracy %"},
                          {.text = "with all %"}},
                .data = Table({{.header = "data"},
                               {.header = "gate"},
                               {.header = "n"},
                               {.header = "strongest"},
                               {.header = "of"},
                               {.header = "class"},
                               {.header = "energy"}})};
  std::string data;
  for (const SpectrumShare& s : spectra) {
    if (s.energy.empty()) continue;
    const auto [low, high] = std::minmax_element(s.energy.begin(), s.energy.end());
    t.rows.push_back({{{s.data != data ? title(s.data) : ""},
                       {gate_text(s.gate)},
                       {std::to_string(s.seeds)},
                       {std::to_string(s.few) + " of " + std::to_string(s.width)},
                       {fixed_text(100 * *low, 1)},
                       {fixed_text(100 * mean_and_sd(s.energy).mean, 1)},
                       {fixed_text(100 * *high, 1)},
                       {fixed_text(100 * s.accuracy_few, 2)},
                       {fixed_text(100 * s.accuracy_all, 2)}},
                      s.data != data});
    data = s.data;
    for (size_t c = 0; c < s.energy.size(); c++)
      t.data.add({s.data, s.gate, std::to_string(s.seeds), std::to_string(s.few), std::to_string(s.width),
                  std::to_string(c), number_text(s.energy[c])});
  }
  return t;
}

ReportTable similarity_table(std::span<const SimilarityCurve> curves) {
  ReportTable t{.name = "similarity",
                .caption =
                    "Cosine similarity of the eigenvectors of SQS and of bilinear models of the same seed: "
                    "means over classes, both signs and pairs. Least: the lowest mean of all ranks. The "
                    "control compares bilinear models of different seeds.",
                .heads = {{.text = "data", .align = Align::left},
                          {.text = "form", .align = Align::left},
                          {.text = "space", .align = Align::left},
                          {.text = "matched", .align = Align::left},
                          {.text = "pairs"},
                          {.text = "first"},
                          {.text = "fifth"},
                          {.text = "least"},
                          {.text = "control, first"}},
                .data = Table({{.header = "data"},
                               {.header = "form"},
                               {.header = "space"},
                               {.header = "measure"},
                               {.header = "pairs"},
                               {.header = "rank"},
                               {.header = "mean"},
                               {.header = "sd"},
                               {.header = "min"},
                               {.header = "control"}})};
  std::string data;
  for (const SimilarityCurve& s : curves) {
    if (s.mean.empty()) continue;
    const auto at = [](const std::vector<double>& v, size_t i) {
      return i < v.size() ? fixed_text(v[i], 3) : std::string("\xe2\x80\x93");
    };
    t.rows.push_back({{{s.data != data ? title(s.data) : ""},
                       {s.form},
                       {s.space},
                       {s.measure},
                       {std::to_string(s.pairs)},
                       {at(s.mean, 0)},
                       {at(s.mean, 4)},
                       {fixed_text(*std::min_element(s.mean.begin(), s.mean.end()), 3)},
                       {at(s.control, 0)}},
                      s.data != data});
    data = s.data;
    for (size_t r = 0; r < s.mean.size(); r++)
      t.data.add({s.data, s.form, s.space, s.measure, std::to_string(s.pairs), std::to_string(r + 1),
                  number_text(s.mean[r]), number_text(s.sd[r]), number_text(s.min[r]),
                  r < s.control.size() ? number_text(s.control[r]) : ""});
  }
  return t;
}

namespace {

double time_of(std::span<const TimedGate> times, size_t batch, size_t width, std::string_view gate) {
  for (const TimedGate& t : times)
    if (t.batch == batch && t.width == width && t.gate == gate) return t.median_ms;
  return NAN;
}

std::string time_text(double v) { return std::isfinite(v) ? fixed_text(v, 3) : "\xe2\x80\x93"; }

double paper_time(size_t batch, size_t width, std::string_view gate) {
  for (const PaperTiming& t : paper_timing())
    if (t.batch == batch && t.width == width) return t.ms(gate);
  return NAN;
}

// In the order of the measurements.
std::vector<std::pair<size_t, size_t>> shapes_of(std::span<const TimedGate> times) {
  std::vector<std::pair<size_t, size_t>> shapes;
  for (const TimedGate& t : times)
    if (std::find(shapes.begin(), shapes.end(), std::pair{t.batch, t.width}) == shapes.end())
      shapes.emplace_back(t.batch, t.width);
  return shapes;
}

}  // namespace

ReportTable timing_table(std::span<const TimedGate> times) {
  ReportTable t{
      .name = "timing",
      .caption =
          "Forward + backward of a one-layer GLU: median milliseconds on this machine, below it the "
          "paper's on its GPU. Products: the bare matrix products. Fastest gate of a shape in bold.",
      .data = Table({{.header = "batch"},
                     {.header = "width"},
                     {.header = "gate"},
                     {.header = "repeats"},
                     {.header = "median_ms"},
                     {.header = "low_ms"},
                     {.header = "high_ms"},
                     {.header = "paper_ms"}})};
  t.heads = {{.text = "batch"}, {.text = "width"}, {.text = "products"}};
  for (const std::string_view gate : kPaperGates) t.heads.push_back({.text = gate_text(gate)});
  t.heads.push_back({.text = "SQS / bilinear"});
  for (const auto& [batch, width] : shapes_of(times)) {
    ReportTable::Row row{{{std::to_string(batch)},
                          {std::to_string(width)},
                          {time_text(time_of(times, batch, width, "products"))}},
                         width == 256};
    double fastest = INFINITY;
    for (const std::string_view gate : kPaperGates)
      if (const double ms = time_of(times, batch, width, gate); ms < fastest) fastest = ms;
    for (const std::string_view gate : kPaperGates) {
      const double ms = time_of(times, batch, width, gate), theirs = paper_time(batch, width, gate);
      Cell cell{time_text(ms)};
      if (std::isfinite(theirs)) cell.note = fixed_text(theirs, 3);
      cell.strong = ms == fastest;
      row.cells.push_back(cell);
    }
    const double ratio = time_of(times, batch, width, "sqs") / time_of(times, batch, width, "identity");
    row.cells.push_back({time_text(ratio)});
    t.rows.push_back(std::move(row));
  }
  for (const TimedGate& g : times) {
    const double theirs = paper_time(g.batch, g.width, g.gate);
    t.data.add({std::to_string(g.batch), std::to_string(g.width), g.gate, std::to_string(g.repeats),
                number_text(g.median_ms), number_text(g.low_ms), number_text(g.high_ms),
                std::isfinite(theirs) ? number_text(theirs) : ""});
  }
  return t;
}

TimingNumbers timing_numbers(std::span<const TimedGate> times) {
  TimingNumbers numbers;
  const auto shapes = shapes_of(times);
  numbers.shapes = shapes.size();
  for (const auto& [batch, width] : shapes) {
    const double own = time_of(times, batch, width, "sqs");
    bool fastest = true;
    for (const std::string_view gate : kPaperGates)
      fastest = fastest && !(time_of(times, batch, width, gate) < own);
    numbers.fastest += fastest;
  }
  for (const std::string_view gate : kPaperGates) {
    if (gate == "sqs") continue;
    double logs = 0;
    for (const auto& [batch, width] : shapes)
      logs += std::log(time_of(times, batch, width, "sqs") / time_of(times, batch, width, gate));
    const double ratio = std::exp(logs / static_cast<double>(std::max<size_t>(1, shapes.size())));
    if (!shapes.empty() && std::isfinite(ratio)) numbers.over.emplace_back(gate, ratio);
  }
  return numbers;
}

}  // namespace glint

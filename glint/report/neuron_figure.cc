#include "glint/report/neuron_figure.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kNeuronEdge = 18, kNeuronTop = 44, kNeuronHeight = 200, kNeuronGap = 44, kNeuronLeft = 64,
                 kNeuronLegend = 200;

// Strengthening is red and orange, weakening blue, as for and against everywhere; orthogonal is pale.
const char* class_color(size_t kind) {
  constexpr std::array kColors = {colors::kVermilion, colors::kOrange, colors::kYellow,
                                  "#d9d9d9",          colors::kSky,    colors::kBlue};
  return kColors[kind % kColors.size()];
}

std::string neuron_csv(const NeuronPlot& plot) {
  std::string out = "layer";
  for (const std::string& name : plot.classes) out += "," + csv_field(name);
  out += ",low,median,high\n";
  for (const NeuronBar& bar : plot.layers) {
    out += csv_field(bar.label);
    for (const size_t n : bar.counts) out += "," + std::to_string(n);
    out += "," + number_text(bar.low) + "," + number_text(bar.median) + "," + number_text(bar.high) + "\n";
  }
  return out;
}

}  // namespace

Figure neuron_figure(const NeuronPlot& plot) {
  const size_t n = plot.layers.size();
  const double slot = std::clamp(520.0 / static_cast<double>(std::max<size_t>(n, 1)), 12.0, 64.0);
  const double wide = slot * static_cast<double>(n);
  const double width = std::max(kNeuronLeft + wide + 24 + kNeuronLegend,
                                svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 2 * kNeuronEdge);
  const double second = kNeuronTop + kNeuronHeight + kNeuronGap, bottom = second + kNeuronHeight;
  std::string out = svg::open(width, bottom + (plot.note.empty() ? 52 : 72), plot.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kNeuronEdge, 26, svg::kTitleFont, "start", plot.title, " font-weight=\"bold\"");
  const auto grid = [&](double y, const std::string& label) {
    out += svg::line(kNeuronLeft, y, kNeuronLeft + wide, y, "stroke=\"#e5e5e5\"");
    out += svg::text(kNeuronLeft - 8, y + 4, svg::kSmallFont, "end", label);
  };
  // Shares of the classes.
  for (int percent = 0; percent <= 100; percent += 25)
    grid(kNeuronTop + kNeuronHeight * (1 - percent / 100.0), std::to_string(percent) + " %");
  // cos(up, down), which lies between -1 and 1; the middle is 0.
  const auto cosine_y = [&](double c) { return second + kNeuronHeight * (1 - c) / 2; };
  for (const double c : {-1.0, -0.5, 0.0, 0.5, 1.0}) grid(cosine_y(c), fixed_text(c, 1));
  const size_t every = n > 24 ? 4 : n > 12 ? 2 : 1;  // labels of layers
  for (size_t i = 0; i < n; i++) {
    const NeuronBar& bar = plot.layers[i];
    const double x = kNeuronLeft + (static_cast<double>(i) + 0.12) * slot, w = 0.76 * slot;
    const double all =
        static_cast<double>(std::max<size_t>(std::accumulate(bar.counts.begin(), bar.counts.end(), size_t{0}), 1));
    double y = kNeuronTop + kNeuronHeight;
    for (size_t k = 0; k < bar.counts.size(); k++) {
      const double height = kNeuronHeight * static_cast<double>(bar.counts[k]) / all;
      y -= height;
      if (height > 0) out += svg::rect(x, y, w, height, std::string("fill=\"") + class_color(k) + "\"");
    }
    out += svg::rect(x, cosine_y(bar.high), w, cosine_y(bar.low) - cosine_y(bar.high),
                     std::string("fill=\"") + colors::kSky + "\" fill-opacity=\"0.5\"");
    out += svg::line(x, cosine_y(bar.median), x + w, cosine_y(bar.median),
                     std::string("stroke=\"") + colors::kBlue + "\" stroke-width=\"3\"");
    if (i % every == 0)
      for (const double at : {kNeuronTop + kNeuronHeight, bottom})
        out += svg::text(x + w / 2, at + 16, svg::kSmallFont, "middle", bar.label);
  }
  out += svg::text(kNeuronLeft + wide / 2, bottom + 34, svg::kLabelFont, "middle", "layer");
  const double legend = kNeuronLeft + wide + 24;
  double row = kNeuronTop + 12;
  for (size_t k = plot.classes.size(); k-- > 0; row += 21) {
    out += svg::rect(legend, row - 10, 12, 12, std::string("fill=\"") + class_color(k) + "\"");
    out += svg::text(legend + 19, row, svg::kSmallFont, "start", plot.classes[k]);
  }
  out += svg::text(legend, second + 12, svg::kSmallFont, "start", "cos(up, down)", " font-weight=\"bold\"");
  out += svg::line(legend, second + 30, legend + 14, second + 30,
                   std::string("stroke=\"") + colors::kBlue + "\" stroke-width=\"3\"");
  out += svg::text(legend + 19, second + 34, svg::kSmallFont, "start", "median");
  out += svg::rect(legend, second + 44, 14, 14, std::string("fill=\"") + colors::kSky + "\" fill-opacity=\"0.5\"");
  out += svg::text(legend + 19, second + 55, svg::kSmallFont, "start", "80 % of the neurons");
  if (!plot.note.empty())
    out += svg::text(kNeuronEdge, bottom + 58, 11, "start", plot.note, std::string(" fill=\"") + svg::kFaint + "\"");
  return {out + svg::kClose, neuron_csv(plot)};
}

Chart neuron_scatter(const std::string& title, const std::vector<std::string>& classes,
                     const std::vector<NeuronPoint>& points, double threshold) {
  const size_t every = (points.size() + kMostPoints - 1) / std::max<size_t>(kMostPoints, 1);
  Chart chart{.title = title + (every > 1 ? ", one in " + std::to_string(every) + " drawn" : ""),
              .x = Axis{.label = "cos(up, down)", .min = -1, .max = 1},
              .y = Axis{.label = "cos(gate, down)", .min = -1, .max = 1},
              .series = {}};
  for (size_t k = 0; k < classes.size(); k++) {
    Series s{
        .name = classes[k], .points = {}, .color = class_color(k), .stroke = Stroke::none, .marker = Marker::circle};
    for (size_t i = 0; i < points.size(); i += std::max<size_t>(every, 1))
      if (points[i].kind == k) s.points.push_back({points[i].up_down, points[i].gate_down});
    if (!s.points.empty()) chart.series.push_back(std::move(s));
  }
  for (const double t : {-threshold, threshold}) {
    const auto border = [&](Point from, Point to) {
      chart.series.push_back({.name = "threshold",
                              .points = {from, to},
                              .color = "#888888",
                              .stroke = Stroke::dashed,
                              .width = 1,
                              .in_legend = false});
    };
    border({t, -1}, {t, 1});
    border({-1, t}, {1, t});
  }
  chart.legend = Legend::outside;
  return chart;
}

}  // namespace glint

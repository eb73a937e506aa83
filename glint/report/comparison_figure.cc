#include "glint/report/comparison_figure.h"

#include <algorithm>

namespace glint {

Chart similarity_figure(const std::string& title, const std::vector<SimilarityLine>& lines, const std::string& over) {
  const std::string palette[] = {colors::kVermilion, colors::kBlue, colors::kGreen};
  Chart chart{.title = title,
              .x = Axis{.label = "rank k of the eigenvector, or dimension of the subspace", .whole = true},
              .y = Axis{.label = over.empty() ? "similarity, mean |cos|" : "mean |cos| \u00b1 1 sd over " + over,
                        .min = 0.0,
                        .max = 1.0},
              .series = {},
              .legend = Legend::outside,
              .width = 760};
  size_t most = 1;
  for (size_t i = 0; i < lines.size(); i++) {
    const SimilarityLine& line = lines[i];
    Series own{.name = line.name, .points = {}, .color = palette[i % 3], .marker = Marker::circle};
    Series control{
        .name = line.name + ", control", .points = {}, .color = palette[i % 3], .stroke = Stroke::dashed, .width = 1.5};
    for (size_t r = 0; r < line.mean.size(); r++) {
      Point p{.x = static_cast<double>(r + 1), .y = line.mean[r]};
      if (r < line.spread.size()) {
        p.lower = std::max(0.0, p.y - line.spread[r]);
        p.upper = std::min(1.0, p.y + line.spread[r]);
      }
      own.points.push_back(p);
    }
    for (size_t r = 0; r < line.control.size(); r++)
      control.points.push_back({.x = static_cast<double>(r + 1), .y = line.control[r]});
    most = std::max({most, line.mean.size(), line.control.size()});
    chart.series.push_back(std::move(own));
    if (!control.points.empty()) chart.series.push_back(std::move(control));
  }
  chart.x.min = 0.5;
  chart.x.max = static_cast<double>(most) + 0.5;
  return chart;
}

}  // namespace glint

#include "glint/report/spectrum_figure.h"

#include <algorithm>
#include <cassert>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kPlotWidth = 470, kPlotHeight = 330, kSpectrumTile = 96, kSpectrumGap = 10,
                 kSpectrumTop = 34;

std::vector<size_t> group_sizes(const std::vector<uint32_t>& groups) {
  std::vector<size_t> sizes(groups.size(), 1);
  for (size_t i = 0; i < groups.size();) {
    size_t end = i;
    while (end < groups.size() && groups[end] == groups[i]) end++;
    std::fill(sizes.begin() + static_cast<std::ptrdiff_t>(i),
              sizes.begin() + static_cast<std::ptrdiff_t>(end), end - i);
    i = end;
  }
  return sizes;
}

Chart eigenvalue_chart(const SpectrumPlot& plot, const std::vector<size_t>& sizes) {
  Series all{.name = "eigenvalues", .points = {}, .color = "#888888", .stroke = Stroke::solid, .width = 1.6};
  Series equal{.name = "near-equal: only their subspace counts",
               .points = {},
               .color = colors::kOrange,
               .stroke = Stroke::none,
               .marker = Marker::diamond};
  const auto side = [](const char* name, double t) {
    return Series{.name = name,
                  .points = {},
                  .color = hex_color(diverging_color(t)),
                  .stroke = Stroke::none,
                  .marker = Marker::circle};
  };
  const bool drawn = !plot.size.empty();
  Series positive = side(drawn ? "drawn, for" : "strongest, for", 0.9);
  Series negative = side(drawn ? "drawn, against" : "strongest, against", -0.9);
  const size_t n = plot.values.size();
  for (size_t i = 0; i < n; i++) {
    const Point p{static_cast<double>(i + 1), plot.values[i]};
    all.points.push_back(p);
    if (sizes[i] > 1) equal.points.push_back(p);
    if (i < plot.positive.size()) positive.points.push_back(p);
    if (i + plot.negative.size() >= n) negative.points.push_back(p);
  }
  Chart chart{.x = Axis{.label = "eigenvalues, sorted"}, .y = Axis{.label = "eigenvalue"}, .series = {all}};
  for (const Series& s : {equal, positive, negative})
    if (!s.points.empty()) chart.series.push_back(s);
  chart.width = kPlotWidth, chart.height = kPlotHeight;
  chart.legend = Legend::automatic;
  return chart;
}

std::string to_csv(const SpectrumPlot& plot, const std::vector<size_t>& sizes) {
  std::string out = "rank,eigenvalue,group,group_size\n";
  for (size_t i = 0; i < plot.values.size(); i++)
    out += std::to_string(i + 1) + "," + number_text(plot.values[i]) + "," + std::to_string(plot.groups[i]) +
           "," + std::to_string(sizes[i]) + "\n";
  return out;
}

}  // namespace

Figure spectrum_figure(const SpectrumPlot& plot) {
  assert(plot.groups.size() == plot.values.size());
  const std::vector<size_t> sizes = group_sizes(plot.groups);
  // A model of vectors or of text has no pictures: then there is nothing that a scale of colours could belong
  // to.
  const bool pictures = !plot.size.empty();
  const size_t columns =
      std::max<size_t>({plot.positive.size(), plot.negative.size(), 1}) + (plot.linear.empty() ? 0 : 1);
  const double tile_h = plot.size.width ? kSpectrumTile * static_cast<double>(plot.size.height) /
                                              static_cast<double>(plot.size.width)
                                        : kSpectrumTile;
  const double note_width = svg::text_width(plot.note, 11);
  const double width = std::max(
      {kPlotWidth + (pictures ? 24 + static_cast<double>(columns) * (kSpectrumTile + kSpectrumGap) + 10 : 16),
       svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 36, note_width + 36});
  const double row_h = tile_h + 48;
  // A long note has a line of its own, below the scale of colours.
  const double own_line = pictures && note_width > kPlotWidth - 8 ? 18 : 0;
  const double height =
      kSpectrumTop + (pictures ? std::max(kPlotHeight, 2 * row_h) + 44 : kPlotHeight + 28) + own_line;
  std::string out = svg::open(width, height, plot.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(18, 27, svg::kTitleFont, "start", plot.title, " font-weight=\"bold\"");
  out += svg::nested(to_svg(eigenvalue_chart(plot, sizes)), 0, kSpectrumTop);
  const auto side = [&](double y, const std::vector<SignedPicture>& row, const char* words, double t) {
    double x = kPlotWidth + 18;
    out += svg::text(x, y + 12, svg::kSmallFont, "start", words,
                     " font-weight=\"bold\" fill=\"" + hex_color(diverging_color(t)) + "\"");
    for (const SignedPicture& p : row) {
      out += signed_image(x, y + 20, kSpectrumTile, tile_h, p.pixels, plot.size);
      out += svg::text(x + kSpectrumTile / 2, y + 34 + tile_h, 11, "middle", signed_text(p.value));
      x += kSpectrumTile + kSpectrumGap;
    }
  };
  if (pictures && !plot.positive.empty()) side(kSpectrumTop + 8, plot.positive, "positive: for", 1);
  if (pictures && !plot.negative.empty())
    side(kSpectrumTop + 8 + row_h, plot.negative, "negative: against", -1);
  if (pictures && !plot.linear.empty()) {
    const double x = kPlotWidth + 18 + static_cast<double>(columns - 1) * (kSpectrumTile + kSpectrumGap);
    out += svg::text(x, kSpectrumTop + 20, svg::kSmallFont, "start", "linear part", " font-weight=\"bold\"");
    out += signed_image(x, kSpectrumTop + 28, kSpectrumTile, tile_h, plot.linear, plot.size);
    out += svg::text(x + kSpectrumTile / 2, kSpectrumTop + 42 + tile_h, 11, "middle", plot.linear_note);
  }
  if (!plot.note.empty())
    out += svg::text(18, height - 16, 11, "start", plot.note, std::string(" fill=\"") + svg::kFaint + "\"");
  if (pictures) out += color_bar(kPlotWidth + 38, height - 34 - own_line, 110);
  return {out + svg::kClose,
          to_csv(plot, sizes),
          {.kind = FigureAbout::Kind::bars,
           .title = plot.title,
           .x = {.label = "rank"},
           .y = {.label = "eigenvalue"}}};
}

Chart truncation_figure(const std::string& title, const std::vector<TruncationSeries>& forms,
                        double model_accuracy) {
  Chart chart{.title = title,
              .x = Axis{.label = "eigenvectors kept in each unit, k", .scale = Scale::early},
              .y = Axis{.label = "accuracy, %"},
              .series = {}};
  size_t most = 1;
  for (const TruncationSeries& f : forms) {
    Series s{.name = f.name + (f.linear ? " (k = 0: its linear part alone)" : "") +
                     (f.median ? " (all images at the median size |x|)" : ""),
             .points = {}};
    for (size_t k = 0; k < f.accuracy.size(); k++)
      s.points.push_back({static_cast<double>(k), 100 * f.accuracy[k]});
    most = std::max(most, f.accuracy.size() - 1);
    chart.series.push_back(std::move(s));
  }
  chart.series.push_back(
      {.name = "the model itself",
       .points = {{0, 100 * model_accuracy}, {static_cast<double>(most), 100 * model_accuracy}},
       .color = colors::kBlack,
       .stroke = Stroke::dashed,
       .width = 1.4});
  return chart;
}

}  // namespace glint

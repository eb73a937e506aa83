#include "glint/report/spectrum_figure.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kPlotWidth = 470, kPlotHeight = 330, kSpectrumTile = 96, kSpectrumGap = 10, kSpectrumTop = 34;

std::vector<size_t> group_sizes(const std::vector<uint32_t>& groups) {
  std::vector<size_t> sizes(groups.size(), 1);
  for (size_t i = 0; i < groups.size();) {
    size_t end = i;
    while (end < groups.size() && groups[end] == groups[i]) end++;
    std::fill(sizes.begin() + static_cast<std::ptrdiff_t>(i), sizes.begin() + static_cast<std::ptrdiff_t>(end),
              end - i);
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
    out += std::to_string(i + 1) + "," + number_text(plot.values[i]) + "," + std::to_string(plot.groups[i]) + "," +
           std::to_string(sizes[i]) + "\n";
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
  const double tile_h =
      plot.size.width ? kSpectrumTile * static_cast<double>(plot.size.height) / static_cast<double>(plot.size.width)
                      : kSpectrumTile;
  const double note_width = svg::text_width(plot.note, 11);
  const double width =
      std::max({kPlotWidth + (pictures ? 24 + static_cast<double>(columns) * (kSpectrumTile + kSpectrumGap) + 10 : 16),
                svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 36, note_width + 36});
  const double row_h = tile_h + 48;
  // A long note has a line of its own, below the scale of colours.
  const double own_line = pictures && note_width > kPlotWidth - 8 ? 18 : 0;
  const double height = kSpectrumTop + (pictures ? std::max(kPlotHeight, 2 * row_h) + 44 : kPlotHeight + 28) + own_line;
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
  if (pictures && !plot.negative.empty()) side(kSpectrumTop + 8 + row_h, plot.negative, "negative: against", -1);
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
          {.kind = FigureAbout::Kind::bars, .title = plot.title, .x = {.label = "rank"}, .y = {.label = "eigenvalue"}}};
}

Chart truncation_figure(const std::string& title, const std::vector<TruncationSeries>& forms, double model_accuracy) {
  Chart chart{.title = title,
              .x = Axis{.label = "eigenvectors kept in each unit, k", .scale = Scale::early},
              .y = Axis{.label = "accuracy, %"},
              .series = {}};
  size_t most = 1;
  for (const TruncationSeries& f : forms) {
    Series s{.name = f.name + (f.linear ? " (k = 0: its linear part alone)" : "") +
                     (f.median ? " (all images at the median size |x|)" : ""),
             .points = {}};
    for (size_t k = 0; k < f.accuracy.size(); k++) s.points.push_back({static_cast<double>(k), 100 * f.accuracy[k]});
    most = std::max(most, f.accuracy.size() - 1);
    chart.series.push_back(std::move(s));
  }
  chart.series.push_back({.name = "the model itself",
                          .points = {{0, 100 * model_accuracy}, {static_cast<double>(most), 100 * model_accuracy}},
                          .color = colors::kBlack,
                          .stroke = Stroke::dashed,
                          .width = 1.4});
  return chart;
}

namespace {

constexpr double kSharedTile = 84, kSharedGap = 6, kSharedTop = 44, kCell = 24, kSharedEdge = 18;

std::string to_csv(const SharedPlot& plot) {
  std::string out = "direction,singular_value,unit,signed_share\n";
  for (size_t k = 0; k < plot.directions.size(); k++)
    for (size_t u = 0; u < plot.units.size(); u++)
      out += std::to_string(k + 1) + "," + number_text(plot.directions[k].value) + "," + csv_field(plot.units[u]) +
             "," + number_text(plot.signed_share(u, k)) + "\n";
  return out;
}

}  // namespace

Figure shared_figure(const SharedPlot& plot) {
  double names = 0, largest = 0;
  for (const std::string& name : plot.units) names = std::max(names, svg::text_width(name, svg::kSmallFont));
  for (const double s : plot.signed_share.span()) largest = std::max(largest, std::fabs(s));
  const double tile_h = plot.size.width
                            ? kSharedTile * static_cast<double>(plot.size.height) / static_cast<double>(plot.size.width)
                            : kSharedTile;
  const double left = kSharedEdge + names + 12, step = kSharedTile + kSharedGap, cells = kSharedTop + tile_h + 26;
  const double width = std::max({left + static_cast<double>(plot.directions.size()) * step + kSharedEdge,
                                 svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 2 * kSharedEdge,
                                 svg::text_width(plot.note, 11) + 2 * kSharedEdge + 172});
  const double bottom = cells + kCell * static_cast<double>(plot.units.size());
  const double height = bottom + kBarHeight + 18;
  std::string out = svg::open(width, height, plot.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kSharedEdge, 27, svg::kTitleFont, "start", plot.title, " font-weight=\"bold\"");
  for (size_t u = 0; u < plot.units.size(); u++)
    out +=
        svg::text(left - 10, cells + kCell * (static_cast<double>(u) + 0.5) + 4, svg::kSmallFont, "end", plot.units[u]);
  for (size_t k = 0; k < plot.directions.size(); k++) {
    const double x = left + static_cast<double>(k) * step;
    out += signed_image(x, kSharedTop, kSharedTile, tile_h, plot.directions[k].pixels, plot.size);
    out += svg::text(x + kSharedTile / 2, kSharedTop + tile_h + 15, 11, "middle",
                     signed_text(plot.directions[k].value).substr(1));
    for (size_t u = 0; u < plot.units.size(); u++) {
      const double share = plot.signed_share(u, k), t = largest > 0 ? share / largest : 0;
      const double y = cells + kCell * static_cast<double>(u);
      out += svg::rect(x, y, kSharedTile, kCell - 2,
                       "fill=\"" + hex_color(diverging_color(t)) + "\" stroke=\"#e4e4e4\" stroke-width=\"0.6\"");
      out += svg::text(x + kSharedTile / 2, y + kCell / 2 + 3, 11, "middle", signed_text(share),
                       std::fabs(t) > 0.5 ? " fill=\"#ffffff\"" : "");
    }
  }
  out += color_bar(kSharedEdge + 20, bottom + 8, 110);
  if (!plot.note.empty())
    out +=
        svg::text(kSharedEdge + 172, bottom + 18, 11, "start", plot.note, std::string(" fill=\"") + svg::kFaint + "\"");
  return {out + svg::kClose, to_csv(plot)};
}

namespace {

constexpr double kGridTile = 84, kGridGap = 8, kGridMiddle = 26, kCaption = 17, kGridEdge = 18, kGridTop = 70;

std::string to_csv(const FeatureGrid& grid) {
  std::string out = "unit,sign,rank,eigenvalue";
  for (size_t i = 0; i < grid.size.height * grid.size.width; i++) out += ",pixel_" + std::to_string(i);
  out += '\n';
  const auto side = [&](const FeatureRow& row, const char* sign, const std::vector<SignedPicture>& pictures) {
    for (size_t k = 0; k < pictures.size(); k++) {
      out += csv_field(row.name) + "," + sign + "," + std::to_string(k + 1) + "," + number_text(pictures[k].value);
      for (const double p : pictures[k].pixels) out += "," + float_text(p);
      out += '\n';
    }
  };
  for (const FeatureRow& row : grid.rows) {
    side(row, "positive", row.positive);
    side(row, "negative", row.negative);
    if (row.linear.empty()) continue;
    out += csv_field(row.name) + ",linear,,";
    for (const double p : row.linear) out += "," + float_text(p);
    out += '\n';
  }
  return out;
}

}  // namespace

Figure feature_grid(const FeatureGrid& grid) {
  size_t positive = 0, negative = 0, linear = 0;
  double names = svg::text_width("unit", svg::kLabelFont);
  for (const FeatureRow& row : grid.rows) {
    positive = std::max(positive, row.positive.size());
    negative = std::max(negative, row.negative.size());
    if (!row.linear.empty()) linear = 1;
    names = std::max({names, svg::text_width(row.name, svg::kLabelFont), svg::text_width(row.note, 11)});
  }
  const double tile_h = grid.size.width
                            ? kGridTile * static_cast<double>(grid.size.height) / static_cast<double>(grid.size.width)
                            : kGridTile;
  const double step = kGridTile + kGridGap, row_h = tile_h + kCaption + kGridGap;
  const double left = kGridEdge + names + 14;
  const double right_side = left + static_cast<double>(positive) * step + kGridMiddle;
  const double linear_at = right_side + static_cast<double>(negative) * step + (negative ? kGridMiddle : 0);
  const double pictures_end = linear ? linear_at + step : linear_at - (negative ? kGridMiddle : 0);
  const double text_end = 2 * kGridEdge + std::max(svg::kBold * svg::text_width(grid.title, svg::kTitleFont),
                                                   0.95 * svg::text_width(grid.note, 11) + 172);
  const double width = std::max({pictures_end + kGridEdge, text_end, 320.0});
  const double bottom = kGridTop + row_h * static_cast<double>(grid.rows.size());
  const double height = bottom + kBarHeight + 18;

  std::string out = svg::open(width, height, grid.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kGridEdge, 27, svg::kTitleFont, "start", grid.title, " font-weight=\"bold\"");
  const auto heading = [&](double x, size_t count, const char* words, double t) {
    if (count == 0) return;
    const double w = static_cast<double>(count) * step - kGridGap;
    const std::string color = hex_color(diverging_color(t));
    out += svg::text(x, 52, svg::kSmallFont, "start", words, " fill=\"" + color + "\" font-weight=\"bold\"");
    out += svg::line(x, 59, x + w, 59, "stroke=\"" + color + "\" stroke-width=\"1.5\"");
  };
  heading(left, positive, positive > 1 ? "positive: for the unit" : "for", 1);
  heading(right_side, negative, negative > 1 ? "negative: against it" : "against", -1);
  heading(linear_at, linear, "linear part", 0.5);

  double y = kGridTop;
  for (const FeatureRow& row : grid.rows) {
    out += svg::text(kGridEdge, y + tile_h / 2 + 5, svg::kLabelFont, "start", row.name, " font-weight=\"bold\"");
    if (!row.note.empty())
      out += svg::text(kGridEdge, y + tile_h / 2 + 21, 11, "start", row.note,
                       std::string(" fill=\"") + svg::kFaint + "\"");
    const auto side = [&](double x, const std::vector<SignedPicture>& pictures) {
      for (const SignedPicture& p : pictures) {
        out += signed_image(x, y, kGridTile, tile_h, p.pixels, grid.size);
        out += svg::text(x + kGridTile / 2, y + tile_h + 13, 11, "middle", signed_text(p.value));
        x += step;
      }
    };
    side(left, row.positive);
    side(right_side, row.negative);
    if (!row.linear.empty()) {
      out += signed_image(linear_at, y, kGridTile, tile_h, row.linear, grid.size);
      out += svg::text(linear_at + kGridTile / 2, y + tile_h + 13, 11, "middle", row.linear_note);
    }
    y += row_h;
  }
  out += color_bar(kGridEdge + 20, bottom + 8, 110);
  if (!grid.note.empty())
    out +=
        svg::text(kGridEdge + 172, bottom + 18, 11, "start", grid.note, std::string(" fill=\"") + svg::kFaint + "\"");
  return {
      out + svg::kClose, to_csv(grid), {.kind = FigureAbout::Kind::pictures, .title = grid.title, .size = grid.size}};
}

}  // namespace glint

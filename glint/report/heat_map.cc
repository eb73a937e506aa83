#include "glint/report/heat_map.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kCellWidth = 76, kCellHeight = 34, kEdge = 18, kBetween = 36, kTop = 78;
constexpr double kHeatNavy[] = {8, 64, 129};

// From pale (0) to dark blue (1); white is for what is not a cell.
Rgb8 shade(double goodness) {
  const double t = 0.06 + 0.84 * goodness;
  const auto mix = [&](double full) { return static_cast<uint8_t>(std::lround(255 + (full - 255) * t)); };
  return {mix(kHeatNavy[0]), mix(kHeatNavy[1]), mix(kHeatNavy[2])};
}

struct HeatRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
};

HeatRange range_of(const HeatMap& map) {
  HeatRange r;
  for (const double v : map.values.span())
    if (std::isfinite(v)) r.low = std::min(r.low, v), r.high = std::max(r.high, v);
  return r;
}

// 0 for the worst number of the map, 1 for the best.
double goodness(const HeatMap& map, const HeatRange& r, double v) {
  if (!(r.high > r.low)) return 0.5;
  const double t = (v - r.low) / (r.high - r.low);
  return map.lower_is_better ? 1 - t : t;
}

std::string cells(const HeatMap& map, double left, double top) {
  const HeatRange range = range_of(map);
  std::string out;
  for (size_t r = 0; r < map.values.rows(); r++)
    for (size_t c = 0; c < map.values.cols(); c++) {
      const double v = map.values(r, c), x = left + static_cast<double>(c) * kCellWidth,
                   y = top + static_cast<double>(r) * kCellHeight;
      const bool known = std::isfinite(v);
      const double t = known ? goodness(map, range, v) : 0;
      out += svg::rect(x, y, kCellWidth, kCellHeight,
                       "fill=\"" + (known ? hex_color(shade(t)) : std::string("#f2f2f2")) +
                           "\" stroke=\"#ffffff\" stroke-width=\"1.5\"");
      out += svg::text(x + kCellWidth / 2, y + kCellHeight / 2 + 4.5, svg::kSmallFont, "middle",
                       known ? fixed_text(v, map.decimals) : "\u2013",
                       std::string(" fill=\"") + (t > 0.5 ? "#fefefe" : "#1b1b1b") + "\"");
    }
  return out;
}

std::string to_csv(const HeatMaps& figure) {
  std::string out = csv_field(figure.row_option) + "," + csv_field(figure.column_option) + ",measure,value\n";
  for (const HeatMap& map : figure.maps)
    for (size_t r = 0; r < figure.rows.size(); r++)
      for (size_t c = 0; c < figure.columns.size(); c++)
        out += csv_field(figure.rows[r]) + "," + csv_field(figure.columns[c]) + "," + csv_field(map.title) + "," +
               (std::isfinite(map.values(r, c)) ? number_text(map.values(r, c)) : "") + "\n";
  return out;
}

}  // namespace

Figure heat_maps(const HeatMaps& figure) {
  const double rows = static_cast<double>(figure.rows.size()) * kCellHeight,
               columns = static_cast<double>(figure.columns.size()) * kCellWidth;
  double names = svg::text_width(figure.row_option, svg::kSmallFont);
  for (const std::string& r : figure.rows) names = std::max(names, svg::text_width(r, svg::kSmallFont));
  double wide = columns;
  for (const HeatMap& map : figure.maps) wide = std::max(wide, svg::text_width(map.title, svg::kLabelFont));
  const double left = kEdge + names + 10, count = static_cast<double>(figure.maps.size());
  const double width = std::max({left + count * (wide + kBetween) - kBetween + kEdge,
                                 svg::text_width(figure.title, svg::kTitleFont) + 2 * kEdge,
                                 svg::text_width(figure.note, svg::kSmallFont) + 2 * kEdge});
  const double bottom = kTop + rows;

  std::string out = svg::open(width, bottom + (figure.note.empty() ? 14 : 36), figure.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kEdge, 26, svg::kTitleFont, "start", figure.title, " font-weight=\"bold\"");
  out += svg::text(left - 10, kTop - 8, svg::kSmallFont, "end", figure.row_option,
                   std::string(" fill=\"") + svg::kFaint + "\"");
  for (size_t r = 0; r < figure.rows.size(); r++)
    out += svg::text(left - 10, kTop + (static_cast<double>(r) + 0.5) * kCellHeight + 4.5, svg::kSmallFont, "end",
                     figure.rows[r]);
  for (size_t m = 0; m < figure.maps.size(); m++) {
    const HeatMap& map = figure.maps[m];
    assert(map.values.rows() == figure.rows.size() && map.values.cols() == figure.columns.size());
    const double x = left + static_cast<double>(m) * (wide + kBetween);
    out += svg::text(x, kTop - 28, svg::kLabelFont, "start", map.title, " font-weight=\"bold\"");
    for (size_t c = 0; c < figure.columns.size(); c++)
      out += svg::text(x + (static_cast<double>(c) + 0.5) * kCellWidth, kTop - 8, svg::kSmallFont, "middle",
                       figure.column_option + " " + figure.columns[c]);
    out += cells(map, x, kTop);
  }
  if (!figure.note.empty())
    out += svg::text(kEdge, bottom + 22, svg::kSmallFont, "start", figure.note,
                     std::string(" fill=\"") + svg::kFaint + "\"");
  return {out + svg::kClose, to_csv(figure)};
}

}  // namespace glint

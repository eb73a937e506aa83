#include "glint/report/shared_figure.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kSharedTile = 84, kSharedGap = 6, kSharedTop = 44, kCell = 24, kSharedEdge = 18;

std::string to_csv(const SharedPlot& plot) {
  std::string out = "direction,singular_value,unit,signed_share\n";
  for (size_t k = 0; k < plot.directions.size(); k++)
    for (size_t u = 0; u < plot.units.size(); u++)
      out += std::to_string(k + 1) + "," + number_text(plot.directions[k].value) + "," +
             csv_field(plot.units[u]) + "," + number_text(plot.signed_share(u, k)) + "\n";
  return out;
}

}  // namespace

Figure shared_figure(const SharedPlot& plot) {
  double names = 0, largest = 0;
  for (const std::string& name : plot.units) names = std::max(names, svg::text_width(name, svg::kSmallFont));
  for (const double s : plot.signed_share.span()) largest = std::max(largest, std::fabs(s));
  const double tile_h = plot.size.width ? kSharedTile * static_cast<double>(plot.size.height) /
                                              static_cast<double>(plot.size.width)
                                        : kSharedTile;
  const double left = kSharedEdge + names + 12, step = kSharedTile + kSharedGap,
               cells = kSharedTop + tile_h + 26;
  const double width = std::max({left + static_cast<double>(plot.directions.size()) * step + kSharedEdge,
                                 svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 2 * kSharedEdge,
                                 svg::text_width(plot.note, 11) + 2 * kSharedEdge + 172});
  const double bottom = cells + kCell * static_cast<double>(plot.units.size());
  const double height = bottom + kBarHeight + 18;
  std::string out = svg::open(width, height, plot.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kSharedEdge, 27, svg::kTitleFont, "start", plot.title, " font-weight=\"bold\"");
  for (size_t u = 0; u < plot.units.size(); u++)
    out += svg::text(left - 10, cells + kCell * (static_cast<double>(u) + 0.5) + 4, svg::kSmallFont, "end",
                     plot.units[u]);
  for (size_t k = 0; k < plot.directions.size(); k++) {
    const double x = left + static_cast<double>(k) * step;
    out += signed_image(x, kSharedTop, kSharedTile, tile_h, plot.directions[k].pixels, plot.size);
    out += svg::text(x + kSharedTile / 2, kSharedTop + tile_h + 15, 11, "middle",
                     signed_text(plot.directions[k].value).substr(1));
    for (size_t u = 0; u < plot.units.size(); u++) {
      const double share = plot.signed_share(u, k), t = largest > 0 ? share / largest : 0;
      const double y = cells + kCell * static_cast<double>(u);
      out +=
          svg::rect(x, y, kSharedTile, kCell - 2,
                    "fill=\"" + hex_color(diverging_color(t)) + "\" stroke=\"#e4e4e4\" stroke-width=\"0.6\"");
      out += svg::text(x + kSharedTile / 2, y + kCell / 2 + 3, 11, "middle", signed_text(share),
                       std::fabs(t) > 0.5 ? " fill=\"#ffffff\"" : "");
    }
  }
  out += color_bar(kSharedEdge + 20, bottom + 8, 110);
  if (!plot.note.empty())
    out += svg::text(kSharedEdge + 172, bottom + 18, 11, "start", plot.note,
                     std::string(" fill=\"") + svg::kFaint + "\"");
  return {out + svg::kClose, to_csv(plot)};
}

}  // namespace glint

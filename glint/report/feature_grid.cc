#include "glint/report/feature_grid.h"

#include <algorithm>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kGridTile = 84, kGridGap = 8, kGridMiddle = 26, kCaption = 17, kGridEdge = 18, kGridTop = 70;

std::string to_csv(const FeatureGrid& grid) {
  std::string out = "unit,sign,rank,eigenvalue";
  for (size_t i = 0; i < grid.size.height * grid.size.width; i++) out += ",pixel_" + std::to_string(i);
  out += '\n';
  const auto side = [&](const FeatureRow& row, const char* sign, const std::vector<SignedPicture>& pictures) {
    for (size_t k = 0; k < pictures.size(); k++) {
      out += csv_field(row.name) + "," + sign + "," + std::to_string(k + 1) + "," +
             number_text(pictures[k].value);
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
  const double tile_h = grid.size.width ? kGridTile * static_cast<double>(grid.size.height) /
                                              static_cast<double>(grid.size.width)
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
    out +=
        svg::text(kGridEdge, y + tile_h / 2 + 5, svg::kLabelFont, "start", row.name, " font-weight=\"bold\"");
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
    out += svg::text(kGridEdge + 172, bottom + 18, 11, "start", grid.note,
                     std::string(" fill=\"") + svg::kFaint + "\"");
  return {out + svg::kClose,
          to_csv(grid),
          {.kind = FigureAbout::Kind::pictures, .title = grid.title, .size = grid.size}};
}

}  // namespace glint

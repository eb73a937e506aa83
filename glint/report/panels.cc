#include "glint/report/panels.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"
#include "glint/io/png.h"
#include "glint/report/signed_picture.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kPanelGap = 14, kMargin = 16, kNoteFont = svg::kSmallFont, kCaptionFont = 11;
constexpr double kNavy[] = {8, 40, 110};

// White to dark blue. A cell is a square of many pixels: programs that blur a small image when they draw it
// larger then leave its edges sharp.
std::string share_image(double x, double y, double w, double h, ConstMatrixView<double> values) {
  constexpr size_t kPixels = 480;
  const size_t cell = std::max<size_t>(1, kPixels / std::max(values.rows(), values.cols()));
  std::vector<uint8_t> pixels;
  for (size_t r = 0; r < values.rows() * cell; r++)
    for (const double v : values.row(r / cell)) {
      const double t = std::isfinite(v) ? std::clamp(v, 0.0, 1.0) : 0;
      for (size_t i = 0; i < cell; i++)
        for (const double full : kNavy) pixels.push_back(static_cast<uint8_t>(std::lround(255 + (full - 255) * t)));
    }
  const std::string png = encode_png(PngColor::rgb, values.cols() * cell, values.rows() * cell, pixels);
  return svg::image(x, y, w, h, png) + svg::rect(x, y, w, h, "fill=\"none\" stroke=\"#999999\" stroke-width=\"0.6\"");
}

std::string image_of(const Panel& p, double x, double y, double w, double h) {
  const PictureSize size{p.values.rows(), p.values.cols()};
  if (p.tone == PanelTone::diverging) return signed_image(x, y, w, h, p.values.span(), size);
  if (p.tone == PanelTone::gray) return gray_image(x, y, w, h, p.values.span(), size);
  return share_image(x, y, w, h, p.values);
}

std::string share_bar(double x, double y) {
  constexpr size_t kSteps = 64;
  Matrix<double> bar(1, kSteps);
  for (size_t i = 0; i < kSteps; i++) bar(0, i) = static_cast<double>(i) / (kSteps - 1);
  return svg::text(x, y + 10, kCaptionFont, "start", "0") + share_image(x + 14, y, 128, 12, bar) +
         svg::text(x + 148, y + 10, kCaptionFont, "start", "1");
}

}  // namespace

std::string to_svg(const PanelGrid& grid) {
  size_t caption_lines = 0;
  for (const Panel& p : grid.panels) caption_lines = std::max(caption_lines, p.caption.size());
  const size_t columns = std::max<size_t>(1, std::min(grid.columns, grid.panels.size()));
  const size_t rows = (grid.panels.size() + columns - 1) / columns;
  const double w = grid.panel_width;
  double h = 0;
  if (!grid.panels.empty() && grid.panels[0].values.size() > 0)
    h = w * static_cast<double>(grid.panels[0].values.rows()) / static_cast<double>(grid.panels[0].values.cols());
  const double row_height = h + static_cast<double>(caption_lines) * (kCaptionFont + 3) + kPanelGap;
  double content = std::max(static_cast<double>(columns) * (w + kPanelGap) - kPanelGap,
                            svg::kBold * svg::text_width(grid.title, svg::kTitleFont));
  for (const std::string& n : grid.notes) content = std::max(content, svg::text_width(n, kNoteFont));
  const double top = kMargin + svg::kTitleFont + 6 + static_cast<double>(grid.notes.size()) * (kNoteFont + 4) + 6;
  const double bottom = top + static_cast<double>(rows) * row_height;

  std::string out = svg::open(2 * kMargin + content, bottom + (grid.scale_bar ? 18 : 0) + kMargin / 2, grid.title);
  out +=
      svg::text(kMargin, kMargin + svg::kTitleFont - 2, svg::kTitleFont, "start", grid.title, " font-weight=\"bold\"");
  for (size_t i = 0; i < grid.notes.size(); i++)
    out += svg::text(kMargin, kMargin + svg::kTitleFont + static_cast<double>(i + 1) * (kNoteFont + 4), kNoteFont,
                     "start", grid.notes[i]);
  for (size_t i = 0; i < grid.panels.size(); i++) {
    const Panel& p = grid.panels[i];
    const double x = kMargin + static_cast<double>(i % columns) * (w + kPanelGap);
    const double y = top + static_cast<double>(i / columns) * row_height;
    if (p.values.size() > 0) out += image_of(p, x, y, w, h);
    for (size_t l = 0; l < p.caption.size(); l++)
      out += svg::text(x + w / 2, y + h + static_cast<double>(l + 1) * (kCaptionFont + 3), kCaptionFont, "middle",
                       p.caption[l]);
  }
  if (grid.scale_bar) out += share_bar(kMargin, bottom);
  return out + svg::kClose;
}

std::string to_csv(const PanelGrid& grid) {
  std::string out = "panel,caption,row,column,value\n";
  for (size_t i = 0; i < grid.panels.size(); i++) {
    const Panel& p = grid.panels[i];
    const std::string caption = joined(p.caption, " ");
    for (size_t r = 0; r < p.values.rows(); r++)
      for (size_t c = 0; c < p.values.cols(); c++)
        out += std::to_string(i) + "," + csv_field(caption) + "," + std::to_string(r) + "," + std::to_string(c) + "," +
               number_text(p.values(r, c)) + "\n";
  }
  return out;
}

}  // namespace glint

#include "glint/report/panels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "glint/io/png.h"
#include "glint/report/text.h"

namespace glint {
namespace {

constexpr double kGap = 14, kMargin = 16, kTitleFont = 15, kNoteFont = 12, kCaptionFont = 11;
constexpr const char* kFonts = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
using Rgb = std::array<double, 3>;

constexpr Rgb kWhite = {255, 255, 255}, kRed = {178, 34, 20}, kBlue = {0, 84, 160}, kNavy = {8, 40, 110};

Rgb mix(const Rgb& from, const Rgb& to, double t) {
  Rgb out{};
  for (size_t i = 0; i < 3; i++) out[i] = from[i] + (to[i] - from[i]) * t;
  return out;
}

Rgb color_of(PanelTone tone, double value) {
  if (!std::isfinite(value)) return {200, 200, 200};
  const double t = std::clamp(std::fabs(value), 0.0, 1.0);
  if (tone == PanelTone::diverging) return mix(kWhite, value < 0 ? kBlue : kRed, t);
  if (value < 0) return tone == PanelTone::gray ? Rgb{} : kWhite;
  return tone == PanelTone::gray ? mix({}, kWhite, t) : mix(kWhite, kNavy, t);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; j++)
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; j++)
      out += j <= std::min<size_t>(3, bytes.size() - i) ? kDigits[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

// Every value a block of pixels: readers that smooth pictures then blur only the borders of the blocks.
std::string picture_of(const Panel& panel, double shown_width) {
  const size_t height = panel.values.rows(), width = panel.values.cols();
  double scale = 1;
  if (panel.tone == PanelTone::diverging) {
    scale = panel.scale;
    if (scale <= 0)
      for (const double v : panel.values.span()) scale = std::max(scale, std::isfinite(v) ? std::fabs(v) : 0);
    if (scale <= 0) scale = 1;
  }
  const size_t block =
      std::max<size_t>(1, static_cast<size_t>(std::ceil(4 * shown_width / static_cast<double>(width))));
  std::vector<uint8_t> pixels(3 * width * height * block * block);
  for (size_t y = 0; y < height * block; y++)
    for (size_t x = 0; x < width * block; x++) {
      const Rgb rgb = color_of(panel.tone, panel.values(y / block, x / block) / scale);
      for (size_t i = 0; i < 3; i++)
        pixels[3 * (y * width * block + x) + i] = static_cast<uint8_t>(std::lround(rgb[i]));
    }
  return "data:image/png;base64," + base64(encode_png(PngColor::rgb, width * block, height * block, pixels));
}

std::string image_at(const Panel& panel, double x, double y, double width, double height) {
  const std::string box = "x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" width=\"" +
                          fixed_text(width, 1) + "\" height=\"" + fixed_text(height, 1) + "\"";
  return "<image " + box + " preserveAspectRatio=\"none\" href=\"" + picture_of(panel, width) +
         "\"/>\n<rect " + box + " fill=\"none\" stroke=\"#999999\" stroke-width=\"0.6\"/>\n";
}

std::string text_at(double x, double y, double font, const char* anchor, std::string_view content,
                    bool bold = false) {
  return "<text x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" font-size=\"" +
         fixed_text(font, 0) + "\" text-anchor=\"" + anchor + "\"" + (bold ? " font-weight=\"bold\"" : "") +
         ">" + xml_escape(content) + "</text>\n";
}

std::string scale_bar(PanelTone tone, double x, double y) {
  constexpr size_t kSteps = 64;
  Panel bar{.values = Matrix<double>(1, kSteps), .tone = tone, .scale = 1};
  const double low = tone == PanelTone::diverging ? -1 : 0;
  for (size_t i = 0; i < kSteps; i++)
    bar.values(0, i) = low + (1 - low) * static_cast<double>(i) / (kSteps - 1);
  const std::string left = tone == PanelTone::diverging ? "below 0" : "0";
  const std::string right = tone == PanelTone::diverging ? "above 0" : "1";
  const double from = x + (tone == PanelTone::diverging ? 50 : 14);
  return text_at(x, y + 10, kCaptionFont, "start", left) + image_at(bar, from, y, 128, 12) +
         text_at(from + 134, y + 10, kCaptionFont, "start", right);
}

}  // namespace

std::string to_svg(const PanelGrid& grid) {
  size_t caption_lines = 0;
  for (const Panel& p : grid.panels) caption_lines = std::max(caption_lines, p.caption.size());
  const size_t columns = std::max<size_t>(1, std::min(grid.columns, grid.panels.size()));
  const size_t rows = (grid.panels.size() + columns - 1) / columns;
  const double w = grid.panel_width;
  const double h = grid.panels.empty() || grid.panels[0].values.cols() == 0
                       ? 0
                       : w * static_cast<double>(grid.panels[0].values.rows()) /
                             static_cast<double>(grid.panels[0].values.cols());
  const double row_height = h + static_cast<double>(caption_lines) * (kCaptionFont + 3) + kGap;
  double text_width = 0.55 * kTitleFont * static_cast<double>(display_width(grid.title));
  for (const std::string& n : grid.notes)
    text_width = std::max(text_width, 0.5 * kNoteFont * static_cast<double>(display_width(n)));
  const double width = 2 * kMargin + std::max(static_cast<double>(columns) * (w + kGap) - kGap, text_width);
  const double top = kMargin + kTitleFont + 6 + static_cast<double>(grid.notes.size()) * (kNoteFont + 4) + 6;
  const double height =
      top + static_cast<double>(rows) * row_height + (grid.scale_bar ? 18 : 0) + kMargin / 2;

  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + fixed_text(width, 0) +
                    "\" height=\"" + fixed_text(height, 0) + "\" viewBox=\"0 0 " + fixed_text(width, 0) +
                    " " + fixed_text(height, 0) + "\" font-family=\"" + kFonts +
                    "\" fill=\"#222222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += text_at(kMargin, kMargin + kTitleFont - 2, kTitleFont, "start", grid.title, true);
  for (size_t i = 0; i < grid.notes.size(); i++)
    out += text_at(kMargin, kMargin + kTitleFont + static_cast<double>(i + 1) * (kNoteFont + 4), kNoteFont,
                   "start", grid.notes[i]);
  for (size_t i = 0; i < grid.panels.size(); i++) {
    const Panel& p = grid.panels[i];
    const double x = kMargin + static_cast<double>(i % columns) * (w + kGap);
    const double y = top + static_cast<double>(i / columns) * row_height;
    if (p.values.size() > 0) out += image_at(p, x, y, w, h);
    for (size_t l = 0; l < p.caption.size(); l++)
      out += text_at(x + w / 2, y + h + static_cast<double>(l + 1) * (kCaptionFont + 3), kCaptionFont,
                     "middle", p.caption[l]);
  }
  if (grid.scale_bar && !grid.panels.empty())
    out += scale_bar(grid.panels[0].tone, kMargin, top + static_cast<double>(rows) * row_height);
  return out + "</svg>\n";
}

std::string to_csv(const PanelGrid& grid) {
  std::string out = "panel,caption,row,column,value\n";
  for (size_t i = 0; i < grid.panels.size(); i++) {
    const Panel& p = grid.panels[i];
    std::string caption;
    for (const std::string& line : p.caption) caption += (caption.empty() ? "" : " ") + line;
    for (size_t r = 0; r < p.values.rows(); r++)
      for (size_t c = 0; c < p.values.cols(); c++)
        out += std::to_string(i) + "," + csv_field(caption) + "," + std::to_string(r) + "," +
               std::to_string(c) + "," + number_text(p.values(r, c)) + "\n";
  }
  return out;
}

}  // namespace glint

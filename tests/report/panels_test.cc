#include "glint/report/panels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "glint/io/png.h"
#include "glint/report/comparison_figure.h"

namespace glint {
namespace {

std::string decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    word = word << 6 | static_cast<uint32_t>(digits.find(c));
    bits += 6;
    if (bits >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return out;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) n++;
  return n;
}

// The first picture in the document, as gray values.
Matrix<uint8_t> first_picture(const std::string& svg) {
  const std::string start = "data:image/png;base64,";
  const size_t from = svg.find(start) + start.size();
  const std::string png = decoded(svg.substr(from, svg.find('"', from) - from));
  return decode_png(as_bytes(png), "panel");
}

Panel panel(PanelTone tone) {
  Panel p{.values = Matrix<double>(2, 3), .caption = {"a < b"}, .tone = tone};
  for (size_t i = 0; i < 6; i++) p.values.data()[i] = static_cast<double>(i) / 5;
  return p;
}

TEST(Panels, ImagesKeepTheirPixels) {
  const std::string svg = to_svg({.title = "t", .panels = {panel(PanelTone::gray)}});
  const Matrix<uint8_t> picture = first_picture(svg);
  ASSERT_EQ(picture.cols() % 3, 0u);
  const size_t block = picture.cols() / 3;
  ASSERT_EQ(picture.rows(), 2 * block);
  for (size_t r = 0; r < 2; r++)
    for (size_t c = 0; c < 3; c++) EXPECT_EQ(picture(r * block + block / 2, c * block + block / 2), 51 * (3 * r + c));
}

// Programs blur small images that they enlarge, so cells of a matrix must be large in the image itself.
TEST(Panels, CellsOfSharesAreLargeBlocksOfOneColour) {
  const Matrix<uint8_t> picture = first_picture(to_svg({.title = "t", .panels = {panel(PanelTone::share)}}));
  const size_t block = picture.cols() / 3;
  ASSERT_GE(block, 16u);
  ASSERT_EQ(picture.rows(), 2 * block);
  for (size_t y = 0; y < picture.rows(); y++)
    for (size_t x = 0; x < picture.cols(); x++) EXPECT_EQ(picture(y, x), picture(y / block * block, x / block * block));
  EXPECT_GT(picture(0, 0), picture(0, block)) << "more is darker";
}

TEST(Panels, ZeroIsWhiteInSignedMapsAndBothSignsAreDarker) {
  Panel p{.values = Matrix<double>(1, 3), .tone = PanelTone::diverging};
  p.values(0, 0) = -2, p.values(0, 2) = 1;
  const Matrix<uint8_t> picture = first_picture(to_svg({.title = "t", .panels = {p}}));
  const size_t block = picture.rows();
  EXPECT_GE(picture(0, block + block / 2), 245);
  EXPECT_LT(picture(0, 0), 150);
  EXPECT_LT(picture(0, 2 * block + block / 2), 245);
  EXPECT_GT(picture(0, 2 * block + block / 2), picture(0, 0)) << "half of the largest magnitude is half the colour";
}

TEST(Panels, CaptionsAreEscapedAndCounted) {
  PanelGrid grid{.title = "a & b", .notes = {"note"}, .panels = {panel(PanelTone::gray), panel(PanelTone::share)}};
  grid.scale_bar = true;
  const std::string svg = to_svg(grid);
  EXPECT_NE(svg.find("a &amp; b"), svg.npos);
  EXPECT_EQ(count(svg, "a &lt; b"), 2u);
  EXPECT_EQ(count(svg, "<image"), 3u) << "two panels and the bar";
  const std::string csv = to_csv(grid);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 13);
  EXPECT_NE(csv.find("1,a < b,1,2,1\n"), csv.npos);
}

TEST(Panels, NothingAndEmptyPanelsAreFine) {
  EXPECT_NE(to_svg({.title = "none", .panels = {}}).find("</svg>"), std::string::npos);
  EXPECT_EQ(count(to_svg({.title = "t", .panels = {panel(PanelTone::gray), Panel{}}}), "<image"), 1u);
}

TEST(SimilarityFigure, AControlIsDashedInTheColourOfItsLine) {
  const Chart chart =
      similarity_figure("t", {{.name = "one", .mean = {0.98, 0.5}, .spread = {0.1, 0.1}, .control = {0.3, 0.2}},
                              {.name = "two", .mean = {0.4}, .spread = {}, .control = {}}});
  ASSERT_EQ(chart.series.size(), 3u);
  EXPECT_EQ(chart.series[1].stroke, Stroke::dashed);
  EXPECT_EQ(chart.series[1].color, chart.series[0].color);
  EXPECT_NE(chart.series[2].color, chart.series[0].color);
  EXPECT_EQ(chart.series[0].points[0].upper, 1) << "a similarity is at most 1";
  EXPECT_NEAR(chart.series[0].points[1].lower, 0.4, 1e-15);
  EXPECT_FALSE(chart.series[2].points[0].lower == chart.series[2].points[0].lower) << "no spread, no band";
  EXPECT_NE(to_svg(chart).find("</svg>"), std::string::npos);
}

TEST(SimilarityFigure, SaysWhatItsBandsAre) {
  const std::vector<SimilarityLine> lines = {{.name = "one", .mean = {0.9}, .spread = {0.05}, .control = {}}};
  EXPECT_NE(similarity_figure("t", lines, "pairs").y.label.find("1 sd over pairs"), std::string::npos);
  EXPECT_EQ(similarity_figure("t", lines).y.label.find("sd"), std::string::npos);
}

}  // namespace
}  // namespace glint

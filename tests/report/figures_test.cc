#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "glint/report/explain_figure.h"
#include "glint/report/spectrum_figure.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

size_t count_in_figure(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) n++;
  return n;
}

SignedPicture picture(double value) { return {.value = value, .pixels = {-1, 0.5, 0, 0.25, 1, -0.5}}; }
const PictureSize kSize{2, 3};

void expect_document(const std::string& svg) {
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count_in_figure(svg, "<svg"), count_in_figure(svg, "</svg>"));
  EXPECT_EQ(count_in_figure(svg, "<text"), count_in_figure(svg, "</text>"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

double luminance(Rgb8 c) { return 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b; }

TEST(DivergingColor, IsWhiteAtZeroAndDarkerOutwards) {
  EXPECT_EQ(diverging_color(0), (Rgb8{255, 255, 255}));
  for (int i = 1; i <= 100; i++) {
    EXPECT_LT(luminance(diverging_color(i / 100.0)), luminance(diverging_color((i - 1) / 100.0)));
    EXPECT_LT(luminance(diverging_color(-i / 100.0)), luminance(diverging_color(-(i - 1) / 100.0)));
    EXPECT_GT(diverging_color(i / 100.0).r, diverging_color(i / 100.0).b);
    EXPECT_LT(diverging_color(-i / 100.0).r, diverging_color(-i / 100.0).b);
  }
  EXPECT_EQ(diverging_color(7), diverging_color(1));
  EXPECT_EQ(diverging_color(std::nan("")), diverging_color(0));
  EXPECT_EQ(hex_color({1, 171, 255}), "#01abff");
}

TEST(SignedText, HasThreeDigitsThatCount) {
  EXPECT_EQ(signed_text(0), "0");
  EXPECT_EQ(signed_text(3.14159), "+3.14");
  EXPECT_EQ(signed_text(-314.159), "\u2212314");
  EXPECT_EQ(signed_text(0.0123), "+0.0123");
  EXPECT_EQ(signed_text(-7.7e-6), "\u22127.7e-06");
}

TEST(Svg, EveryNumberIsAPlace) {
  EXPECT_EQ(svg::px(1.5), "1.5");
  EXPECT_EQ(svg::px(-0.001), "0");
  EXPECT_EQ(svg::px(1200), "1200");
  for (const double v : {HUGE_VAL, -HUGE_VAL, std::nan("")}) EXPECT_EQ(svg::px(v), "0");
  EXPECT_EQ(svg::px(1e300), "1000000000");
  EXPECT_EQ(svg::px(-1e300), "-1000000000");
}

TEST(Svg, EmbedsAPictureWhoseBytesComeBack) {
  EXPECT_NE(svg::image(0, 0, 1, 1, "any").find("base64,YW55\""), std::string::npos);
  EXPECT_NE(svg::image(0, 0, 1, 1, "ab").find("base64,YWI=\""), std::string::npos);
  EXPECT_NE(svg::image(0, 0, 1, 1, "\xff").find("base64,/w==\""), std::string::npos);
}

TEST(FeatureGrid, DrawsEveryPictureAndListsItsPixels) {
  const FeatureGrid grid{.title = "T < U",
                         .size = kSize,
                         .rows = {{"3, \"x\"", "note", {picture(2), picture(1)}, {picture(-3)}}, {"5", "", {}, {}}}};
  const Figure f = feature_grid(grid);
  expect_document(f.svg);
  EXPECT_EQ(count_in_figure(f.svg, "<image"), 3u + 1);  // and the legend
  EXPECT_NE(f.svg.find("T &lt; U"), std::string::npos);
  EXPECT_NE(f.svg.find("\u22123.00"), std::string::npos);
  EXPECT_EQ(count_in_figure(f.csv, "\n"), 4u);
  EXPECT_NE(f.csv.find("\"3, \"\"x\"\"\",negative,1,-3,-1,0.5,0,0.25,1,-0.5\n"), std::string::npos) << f.csv;
}

// A model of vectors has no picture size.
TEST(FeatureGrid, DrawsNoPicturesWithoutASize) {
  const Figure f = feature_grid({.title = "", .size = {}, .rows = {{"3", "", {picture(2)}, {picture(-3)}}}});
  expect_document(f.svg);
  EXPECT_EQ(count_in_figure(f.svg, "<image"), 1u);  // the legend
}

TEST(FeatureGrid, WithoutRowsIsStillADocument) {
  expect_document(feature_grid({.title = "", .size = kSize, .rows = {}}).svg);
}

TEST(SpectrumFigure, MarksNearEqualEigenvalues) {
  SpectrumPlot plot{.title = "unit",
                    .values = {3, 2, 2, -1},
                    .groups = {0, 1, 1, 2},
                    .size = kSize,
                    .positive = {picture(3)},
                    .negative = {picture(-1)}};
  const Figure f = spectrum_figure(plot);
  expect_document(f.svg);
  EXPECT_NE(f.svg.find("near-equal"), std::string::npos);
  EXPECT_EQ(f.csv, "rank,eigenvalue,group,group_size\n1,3,0,1\n2,2,1,2\n3,2,1,2\n4,-1,2,1\n");
  plot.groups = {0, 1, 2, 3};
  EXPECT_EQ(spectrum_figure(plot).svg.find("near-equal"), std::string::npos);
}

double width_of(const std::string& svg) { return std::stod(svg.substr(svg.find("width=\"") + 7)); }

TEST(SpectrumFigure, WithoutPicturesHasNoScaleOfColoursAndNoTextIsCutOff) {
  SpectrumPlot plot{.title =
                        "a title that is longer than the figure is wide, because the name of a token and what "
                        "the model was trained on are in it",
                    .note =
                        "and a note that is about as long as the title, which tells how far to trust it, with "
                        "many numbers and some words between them, until it is wider than the plot",
                    .values = {3, 2, -1},
                    .groups = {0, 1, 2},
                    .positive = {{.value = 3}},
                    .negative = {{.value = -1}}};
  const std::string bare = spectrum_figure(plot).svg;
  expect_document(bare);
  EXPECT_EQ(bare.find("+max"), std::string::npos);
  EXPECT_EQ(bare.find("drawn"), std::string::npos);
  EXPECT_GT(width_of(bare), svg::kBold * svg::text_width(plot.title, svg::kTitleFont) + 18);
  EXPECT_GT(width_of(bare), svg::text_width(plot.note, 11) + 18);
  plot.size = kSize;
  plot.positive = {picture(3)}, plot.negative = {picture(-1)};
  EXPECT_NE(spectrum_figure(plot).svg.find("+max"), std::string::npos);
}

TEST(TruncationFigure, StartsWithoutEigenvectorsAndHasTheModelAsALine) {
  const Chart chart =
      truncation_figure("t", {{"weights", {0.1, 0.5, 0.75}}, {"calibrated", {0.4, 0.6, 0.8}, true}}, 0.9);
  const Chart median = truncation_figure("t", {{"scaled", {0.1, 0.5}, false, true}}, 0.9);
  EXPECT_EQ(median.series[0].name, "scaled (all images at the median size |x|)");
  ASSERT_EQ(chart.series.size(), 3u);
  ASSERT_EQ(chart.series[0].points.size(), 3u);
  EXPECT_EQ(chart.series[0].points[0].x, 0);
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].y, 40);
  EXPECT_EQ(chart.series[0].name, "weights");
  EXPECT_NE(chart.series[1].name.find("linear part alone"), std::string::npos);
  EXPECT_DOUBLE_EQ(chart.series[0].points[2].y, 75);
  EXPECT_EQ(chart.series[2].points[0].x, 0);
  EXPECT_DOUBLE_EQ(chart.series[2].points[1].y, 90);
  EXPECT_EQ(chart.series[2].points[1].x, 2);
}

TEST(SharedFigure, ListsEveryDirectionAndUnit) {
  SharedPlot plot{.title = "s",
                  .size = kSize,
                  .units = {"a", "b"},
                  .directions = {picture(4)},
                  .signed_share = Matrix<double>(2, 1)};
  plot.signed_share(0, 0) = 1.5, plot.signed_share(1, 0) = -0.5;
  const Figure f = shared_figure(plot);
  expect_document(f.svg);
  EXPECT_EQ(f.csv, "direction,singular_value,unit,signed_share\n1,4,a,1.5\n1,4,b,-0.5\n");
}

TEST(ExplainFigure, HasTheInputTheLogitsAndTheTerms) {
  const ExplainedTerm term{
      .rank = 2, .eigenvalue = 3, .projection = -2, .contribution = 12, .pixels = picture(0).pixels};
  const Explanation e{
      .title = "image",
      .size = kSize,
      .input = {0, 0.5, 1, 0, 0, 1},
      .class_names = {"cat", "dog"},
      .logits = {4, -1},
      .probabilities = {0.99, 0.01},
      .classes = {
          {.name = "cat", .logit = 4, .positive = 12, .negative = -9, .rest = 1, .forward = {term}, .against = {}}}};
  const Figure f = explain_figure(e);
  expect_document(f.svg);
  EXPECT_EQ(count_in_figure(f.svg, "<image"), 1u + 1 + 1);
  EXPECT_NE(f.svg.find("+12.0"), std::string::npos);
  EXPECT_NE(f.csv.find("cat,for,2,3,-2,12\n"), std::string::npos);
  EXPECT_NE(f.csv.find("cat,rest,,,,1\n"), std::string::npos);
}

TEST(ExplainFigure, NumbersWithoutAPlaceAreStillWritten) {
  const ExplainedTerm term{
      .rank = 1, .eigenvalue = HUGE_VAL, .projection = 1e200, .contribution = HUGE_VAL, .pixels = {}};
  Explanation e{.title = "image",
                .size = kSize,
                .input = {0, std::nan(""), 1, HUGE_VAL, 0, 1},
                .class_names = {"cat", "dog"},
                .logits = {HUGE_VAL, -1e300},
                .probabilities = {1, 0},
                .classes = {{.name = "cat",
                             .logit = HUGE_VAL,
                             .positive = HUGE_VAL,
                             .negative = -HUGE_VAL,
                             .rest = std::nan(""),
                             .forward = {term},
                             .against = {}}}};
  e.classes[0].forward[0].pixels = {0, HUGE_VAL, std::nan(""), 1, 2, 3};
  const Figure f = explain_figure(e);
  expect_document(f.svg);
  EXPECT_NE(f.svg.find(">inf</text>"), std::string::npos);
  EXPECT_EQ(f.svg.find("=\"inf"), std::string::npos);
  EXPECT_NE(f.csv.find("cat,for,1,inf,1e+200,inf\n"), std::string::npos);
}

TEST(ExplainFigure, NamesWhatIsNoEigenvector) {
  Explanation e{.title = "image",
                .size = kSize,
                .input = {0, 0.5, 1, 0, 0, 1},
                .class_names = {"cat"},
                .logits = {4},
                .probabilities = {1},
                .classes = {{.name = "cat",
                             .logit = 4,
                             .positive = 12,
                             .negative = -9,
                             .linear = 2,
                             .rest = -1,
                             .forward = {},
                             .against = {},
                             .linear_pixels = {1, -1, 0, 0, 1, 0}}}};
  const Figure f = explain_figure(e);
  expect_document(f.svg);
  EXPECT_NE(f.svg.find("eigenvectors for +12.0, against \u22129.00, linear part +2.00, rest \u22121.00"),
            std::string::npos)
      << f.svg;
  EXPECT_EQ(f.svg.find("bias"), std::string::npos) << "nothing reaches the logit past the layer";
  EXPECT_EQ(count_in_figure(f.svg, "<image"), 3u) << "the input, the linear part and the scale of colours";
  for (const char* line : {"cat,linear part,,,,2\n", "cat,bias and residual,,,,0\n", "cat,rest,,,,-1\n"})
    EXPECT_NE(f.csv.find(line), std::string::npos) << line;
}

// One line of it would make the figure several times as wide as its pictures are.
TEST(ExplainFigure, ALongNoteIsWrappedAndNotCutOff) {
  Explanation e{.title = "image",
                .size = kSize,
                .input = {0, 0.5, 1, 0, 0, 1},
                .class_names = {"cat", "dog"},
                .logits = {4, -1},
                .probabilities = {0.99, 0.01},
                .classes = {}};
  const auto height_of = [](const std::string& svg) { return std::stod(svg.substr(svg.find("height=\"") + 8)); };
  e.note = "short";
  const std::string brief = explain_figure(e).svg;
  for (int i = 0; i < 100; i++) e.note += " word" + std::to_string(i);
  const std::string svg = explain_figure(e).svg;
  expect_document(svg);
  EXPECT_LT(width_of(svg), svg::text_width(e.note, 11) / 2);
  EXPECT_GT(height_of(svg), height_of(brief));
  EXPECT_NE(svg.find("word99</text>"), std::string::npos);
  const std::regex line("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"[^>]*>([^<]*word[^<]*)</text>");
  size_t lines = 0;
  for (std::sregex_iterator m(svg.begin(), svg.end(), line), end; m != end; ++m, lines++) {
    EXPECT_LT(std::stod((*m)[1]) + svg::text_width((*m)[3].str(), 11), width_of(svg));
    EXPECT_LT(std::stod((*m)[2]), height_of(svg));
  }
  EXPECT_GT(lines, 1u);
}

TEST(ExplainFigure, LogitsAndProbabilitiesKeepOffEachOther) {
  const Explanation e{.title = "image",
                      .size = kSize,
                      .input = {0, 0.5, 1, 0, 0, 1},
                      .class_names = {"ankle boot", "bag"},
                      .logits = {8.09, -123456},
                      .probabilities = {1, 0},
                      .classes = {}};
  const std::string svg = explain_figure(e).svg;
  const auto at = [&](const std::string& content) {  // the right end of a text
    std::smatch m;
    const std::regex text("<text x=\"([0-9.]+)\"[^>]*text-anchor=\"end\"[^>]*>" + content + "</text>");
    EXPECT_TRUE(std::regex_search(svg, m, text)) << content;
    return m.empty() ? 0 : std::stod(m[1]);
  };
  const double logit = at("\\+8\\.09"), probability = at("100 %");
  EXPECT_GT(probability - svg::text_width("100 %", 11), logit);
  EXPECT_GT(logit - svg::text_width("\u2212123456", 11), at("ankle boot"));
}

}  // namespace
}  // namespace glint

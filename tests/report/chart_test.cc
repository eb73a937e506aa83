#include "glint/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

size_t count_in_chart(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) n++;
  return n;
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> all;
  for (const Tick& t : ticks)
    if (!t.label.empty()) all.push_back(t.label + (t.power.empty() ? "" : "^" + t.power));
  return all;
}

// The drawn curve of a chart with one series.
std::string curve(const std::string& svg) {
  std::smatch m;
  const std::regex path("<path d=\"([^\"]*)\" stroke=\"#");
  return std::regex_search(svg, m, path) ? m[1].str() : "";
}

// Every element is closed, in order.
void expect_balanced(const std::string& svg) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)[^<>]*?(/?)>");
  for (std::sregex_iterator it(svg.begin(), svg.end(), tag), end; it != end; ++it) {
    if ((*it)[3].length()) continue;
    if (!(*it)[1].length()) {
      open.push_back((*it)[2]);
      continue;
    }
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.back(), (*it)[2]);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(Axis, LinearTicksAreOneTwoFiveAndInside) {
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {0, 10}, 6)), (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {-0.13, 0.41}, 6)),
            (std::vector<std::string>{"\xe2\x88\x92"
                                      "0.1",
                                      "0.0", "0.1", "0.2", "0.3", "0.4"}));
  for (const Limits l : {Limits{-3.7, 11.2}, {1e-7, 2e-7}, {0.97, 0.98}, {-5e8, 3e9}, {123456, 123457}}) {
    for (const int most : {2, 4, 7, 10}) {
      const std::vector<Tick> ticks = axis_ticks(Scale::linear, l, most);
      ASSERT_GE(ticks.size(), 1u);
      ASSERT_LE(ticks.size(), static_cast<size_t>(most) + 1);
      for (size_t i = 0; i < ticks.size(); i++) {
        EXPECT_GE(ticks[i].value, l.min);
        EXPECT_LE(ticks[i].value, l.max);
        EXPECT_FALSE(ticks[i].label.empty());
        if (i < 2) continue;
        const double step = ticks[i].value - ticks[i - 1].value;
        const double digit = step / std::pow(10.0, std::floor(std::log10(step * 1.001)));
        // Ticks are multiples rounded to double: a step is right to a few units of the largest value.
        const double slack = 1e-15 * std::max(std::fabs(l.min), std::fabs(l.max)) / step * 40;
        EXPECT_LT(std::min({std::fabs(digit - 1), std::fabs(digit - 2), std::fabs(digit - 5)}), slack + 1e-9);
      }
    }
  }
}

// Layers and ranks: there is nothing at 1.5.
TEST(Axis, WholeNumbersHaveNoTicksBetweenThem) {
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {0.85, 4.15}, 9, 0, true)),
            (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {0.85, 4.15}, 9, 0, false))[1], "1.5") << "as other axes have";
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {0.9, 1.1}, 9, 0, true)), (std::vector<std::string>{"1"}));
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {-1, 49}, 9, 0, true)), labels(axis_ticks(Scale::linear, {-1, 49}, 9)));
  Chart chart{.x = {.label = "layer"}, .y = {}, .series = {{.name = "a", .points = {{1, 0}, {2, 1}, {3, 0}}}}};
  EXPECT_NE(to_svg(chart).find(">1.5<"), std::string::npos);
  chart.x.whole = true;
  EXPECT_EQ(to_svg(chart).find(">1.5<"), std::string::npos);
  EXPECT_NE(to_svg(chart).find(">2<"), std::string::npos);
}

TEST(Axis, LabelsThatAreTooLongBecomePowers) {
  EXPECT_EQ(labels(axis_ticks(Scale::linear, {0, 2e7}, 2)), (std::vector<std::string>{"0",
                                                                                      "1\xc3\x97"
                                                                                      "10^7",
                                                                                      "2\xc3\x97"
                                                                                      "10^7"}));
}

TEST(Axis, LogTicksAreDecades) {
  EXPECT_EQ(labels(axis_ticks(Scale::log, {0.01, 100}, 8)),
            (std::vector<std::string>{"0.01", "0.1", "1", "10", "100"}));
  EXPECT_EQ(labels(axis_ticks(Scale::log, {1e-9, 1e-7}, 8)), (std::vector<std::string>{"10^\xe2\x88\x92"
                                                                                       "9",
                                                                                       "10^\xe2\x88\x92"
                                                                                       "8",
                                                                                       "10^\xe2\x88\x92"
                                                                                       "7"}));
  // Under two decades the 2 and the 5 help; in less than a factor of two only even steps do.
  EXPECT_EQ(labels(axis_ticks(Scale::log, {0.06, 2.5}, 8)), (std::vector<std::string>{"0.1", "0.2", "0.5", "1", "2"}));
  EXPECT_GE(labels(axis_ticks(Scale::log, {0.61, 0.68}, 6)).size(), 2u);
  // Many decades: a label at every other one or so, and never more than asked for.
  EXPECT_LE(labels(axis_ticks(Scale::log, {1e-40, 1e40}, 6)).size(), 7u);
}

TEST(Axis, EarlyTicksBeginAtZeroAndKeepApart) {
  EXPECT_EQ(labels(axis_ticks(Scale::early, {0, 128}, 100)),
            (std::vector<std::string>{"0", "1", "2", "5", "10", "20", "50", "100"}));
  EXPECT_DOUBLE_EQ(axis_fraction(Scale::early, {0, 128}, 0), 0);
  EXPECT_DOUBLE_EQ(axis_fraction(Scale::early, {0, 128}, 128), 1);
  EXPECT_TRUE(drawable(Scale::early, 0));
  EXPECT_FALSE(drawable(Scale::early, -1));
  const Limits l = axis_limits({.label = "k", .scale = Scale::early}, {0, 3, 256}, 0);
  EXPECT_DOUBLE_EQ(l.min, 0);
  EXPECT_NEAR(l.max, 256, 1e-9);
  for (const double most : {0.5, 1.0, 1e3, 1e9, 1e300})
    for (const Tick& t : axis_ticks(Scale::early, {0, most}, 8)) {
      EXPECT_GE(t.value, 0) << most;
      EXPECT_LE(t.value, most);
    }
}

TEST(Axis, ShortLogAxesHaveAsManyLabelsAsFit) {
  // The losses of a figure: a third of a decade has all its digits.
  EXPECT_EQ(labels(axis_ticks(Scale::log, {0.33, 1.0}, 7, 0.05)),
            (std::vector<std::string>{"0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"}));
  EXPECT_EQ(labels(axis_ticks(Scale::log, {1, 10}, 7, 0.05)),
            (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8", "10"}));
  EXPECT_EQ(labels(axis_ticks(Scale::log, {1, 10}, 4, 0.2)), (std::vector<std::string>{"1", "2", "5", "10"}));
  // One digit alone tells no scale.
  EXPECT_GE(labels(axis_ticks(Scale::log, {2.1, 3.9}, 6)).size(), 3u);
  for (const Limits l : {Limits{0.33, 1}, {0.6, 6}, {0.05, 0.9}, {3.5, 9.9}, {1, 10}, {7, 95}, {2e-7, 3e-6}})
    for (const double apart : {0.05, 0.1}) {
      const std::vector<Tick> ticks = axis_ticks(Scale::log, l, 7, apart);
      EXPECT_GE(labels(ticks).size(), 2u) << l.min;
      double last = -1;
      for (const Tick& t : ticks) {
        if (t.label.empty()) continue;
        const double at = axis_fraction(Scale::log, l, t.value);
        EXPECT_GE(at - last, apart * (1 - 1e-6)) << l.min << " to " << l.max << " at " << t.label;
        last = at;
      }
    }
}

TEST(Axis, LimitsComeFromTheDataThatCanBeDrawn) {
  const Limits l = axis_limits({}, {3, kNan, -1, kInf}, 0);
  EXPECT_EQ(l.min, -1);
  EXPECT_EQ(l.max, 3);
  const Limits log = axis_limits({.label = "", .scale = Scale::log}, {0, -5, 0.1, 10}, 0);
  EXPECT_NEAR(log.min, 0.1, 1e-15);
  EXPECT_NEAR(log.max, 10, 1e-14);
  for (const std::vector<double>& few : {std::vector<double>{}, {7}, {0, 0}, {1e300, 1e300}, {1, 1 + 1e-15}}) {
    for (const Scale scale : {Scale::linear, Scale::log}) {
      const Limits some = axis_limits({.label = "", .scale = scale}, few, 0.05);
      EXPECT_LT(some.min, some.max);
    }
  }
  // All the data below the one fixed limit.
  const Limits above = axis_limits({.label = "", .scale = Scale::linear, .min = 10.0}, {1, 2}, 0);
  EXPECT_EQ(above.min, 10);
  EXPECT_GT(above.max, 10);
}

TEST(Axis, LimitsThatShowNothingAreAnError) {
  EXPECT_THROW(axis_limits({.label = "x", .scale = Scale::linear, .min = 2.0, .max = 2.0}, {}, 0), Error);
  EXPECT_THROW(axis_limits({.label = "x", .scale = Scale::log, .min = 0.0}, {}, 0), Error);
  EXPECT_THROW(axis_limits({.label = "x", .scale = Scale::linear, .max = kInf}, {}, 0), Error);
}

Chart one_line(std::vector<Point> points) {
  return {.title = "t",
          .x = {.label = "x"},
          .y = {.label = "y"},
          .series = {{.name = "a", .points = std::move(points)}},
          .legend = Legend::none};
}

TEST(Chart, LabelsOfALogAxisKeepOffEachOther) {
  for (const double lowest : {0.08, 0.3, 0.6}) {
    Chart chart = one_line({{0, 1}, {1, lowest}});
    chart.y.scale = Scale::log;
    const std::string svg = to_svg(chart);
    const std::regex label("<text x=\"[0-9.]+\" y=\"([0-9.]+)\" text-anchor=\"end\">");
    std::vector<double> y;
    for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it) y.push_back(std::stod((*it)[1]));
    EXPECT_GE(y.size(), 4u) << lowest;
    std::sort(y.begin(), y.end());
    for (size_t i = 1; i < y.size(); i++) EXPECT_GE(y[i] - y[i - 1], 12 * 1.2) << lowest;
  }
}

TEST(Chart, ValuesThatAreNotFiniteBreakTheLine) {
  const std::string whole = curve(to_svg(one_line({{0, 0}, {1, 1}, {2, 2}, {3, 3}})));
  EXPECT_EQ(count_in_chart(whole, "M"), 1u);
  EXPECT_EQ(count_in_chart(whole, "L"), 3u);
  for (const double bad : {kNan, kInf, -kInf}) {
    const std::string broken = curve(to_svg(one_line({{0, 0}, {1, 1}, {1.5, bad}, {2, 2}, {3, 3}})));
    EXPECT_EQ(count_in_chart(broken, "M"), 2u);
    EXPECT_EQ(count_in_chart(broken, "L"), 2u);
  }
  Chart log = one_line({{0, 1}, {1, 2}, {2, 0}, {3, 3}, {4, 1}});
  log.y.scale = Scale::log;
  EXPECT_EQ(count_in_chart(curve(to_svg(log)), "M"), 2u);  // zero has no place on a log axis
}

TEST(Chart, PointsLieWhereTheAxisSays) {
  Chart chart = one_line({{0, 0}, {1, 10}, {2, 20}});
  chart.y.min = 0, chart.y.max = 20;
  const std::string d = curve(to_svg(chart));
  std::smatch m;
  ASSERT_TRUE(std::regex_match(d, m, std::regex("M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)"))) << d;
  const auto at = [&](int i) { return std::stod(m[i].str()); };
  EXPECT_NEAR(at(3), (at(1) + at(5)) / 2, 0.011);  // written to a hundredth
  EXPECT_NEAR(at(4), (at(2) + at(6)) / 2, 0.011);
  EXPECT_LT(at(1), at(5));
  EXPECT_GT(at(2), at(6));  // up is a smaller y
}

TEST(Chart, IsWellFormedAndEscapesEveryText) {
  Chart chart = one_line({{0, 1, 0.5, 1.5}, {1, 2, 1.5, 2.5}, {2, kNan}, {3, 1, 0.5, 2}});
  chart.title = "a < b & \"c\"";
  chart.x.label = "<x>";
  chart.y.label = "y & z";
  chart.legend = Legend::automatic;
  chart.series[0].name = "<script>";
  chart.series[0].color = "\"/><evil";
  chart.series[0].marker = Marker::open_circle;
  const std::string svg = to_svg(chart);
  EXPECT_EQ(svg.find("<script"), svg.npos);
  EXPECT_EQ(svg.find("<evil"), svg.npos);
  EXPECT_NE(svg.find("&lt;script&gt;"), svg.npos);
  EXPECT_NE(svg.find("viewBox=\"0 0 640 440\""), svg.npos);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find(" id="), svg.npos);
  EXPECT_EQ(count_in_chart(svg, "fill-opacity=\"0.18\""), 2u);  // the band breaks with the gap
  expect_balanced(svg);
}

TEST(Chart, NothingToDrawIsStillAChart) {
  for (const std::vector<Point>& points : {std::vector<Point>{},
                                           {{kNan, kNan}},
                                           {{kInf, -kInf}, {1, kInf}},
                                           {{1, 1}},
                                           {{1, 1}, {1e299, 1e299}},
                                           {{1e-300, 1e300}, {1e300, 1e-300}},
                                           {{1e300, -1e300}, {-1e300, 1e300}}}) {
    for (const Scale scale : {Scale::linear, Scale::log, Scale::early}) {
      Chart chart = one_line(points);
      chart.x.scale = chart.y.scale = scale;
      const std::string svg = to_svg(chart);
      expect_balanced(svg);
      EXPECT_EQ(svg.find("nan"), svg.npos);
      EXPECT_EQ(svg.find("inf"), svg.npos);
    }
  }
}

struct Frame {
  double x, y, w, h;
};

Frame legend_frame(const std::string& svg) {
  std::smatch m;
  const std::regex box("<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" height=\"([0-9.]+)\" rx=");
  EXPECT_TRUE(std::regex_search(svg, m, box));
  return {std::stod(m[1]), std::stod(m[2]), std::stod(m[3]), std::stod(m[4])};
}

TEST(Chart, LegendKeepsOffTheData) {
  // Each curve leaves other corners free; the last one fills the whole frame.
  std::vector<Point> rising, falling, everywhere;
  for (int i = 0; i <= 100; i++) {
    rising.push_back({i / 100.0, i / 100.0});
    falling.push_back({i / 100.0, 1 - i / 100.0});
  }
  for (int i = 0; i <= 400; i++) everywhere.push_back({i / 400.0, i % 2 ? 1.0 : 0.0});
  for (const std::vector<Point>& points : {rising, falling, everywhere}) {
    Chart chart = one_line(points);
    chart.legend = Legend::automatic;
    const std::string svg = to_svg(chart);
    const Frame box = legend_frame(svg);
    const std::string d = curve(svg);
    const std::regex pair("([0-9.]+) ([0-9.]+)");
    size_t n = 0;
    for (std::sregex_iterator it(d.begin(), d.end(), pair), end; it != end; ++it, n++) {
      const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
      EXPECT_FALSE(x > box.x && x < box.x + box.w && y > box.y && y < box.y + box.h);
    }
    EXPECT_GE(n, 101u);
    EXPECT_LE(box.x + box.w, 640);
  }
}

TEST(Chart, LabelsStandBesideTheirPointsAndKeepOffEachOther) {
  Chart chart;
  Series s{.name = "points", .points = {}, .stroke = Stroke::none, .marker = Marker::circle};
  for (int i = 0; i < 6; i++) {
    s.points.push_back({1 + 0.001 * i, 2 + 0.001 * i});  // all but on one spot
    s.labels.push_back("label " + std::to_string(i));
    s.links.push_back("#p" + std::to_string(i));
  }
  s.labels[5] = "";
  chart.series = {s};
  chart.x.min = 0, chart.x.max = 2, chart.y.min = 0, chart.y.max = 4;
  const std::string svg = to_svg(chart);
  std::vector<std::pair<double, double>> at;
  for (int i = 0; i < 5; i++) {
    const size_t end = svg.find(">label " + std::to_string(i) + "<");
    ASSERT_NE(end, svg.npos) << i;
    const size_t tag = svg.rfind("<text", end);
    const auto number = [&](const char* name) {
      return std::stod(svg.substr(svg.find(name, tag) + std::string(name).size()));
    };
    at.emplace_back(number(" x=\""), number(" y=\""));
    EXPECT_NE(svg.find("<a href=\"#p" + std::to_string(i) + "\"><circle"), svg.npos) << "no link at the point";
  }
  for (size_t i = 0; i < at.size(); i++)
    for (size_t k = 0; k < i; k++)
      EXPECT_TRUE(std::fabs(at[i].second - at[k].second) >= 11 || std::fabs(at[i].first - at[k].first) >= 35)
          << i << " lies on " << k;
}

TEST(Chart, CsvHasTheSameNumbers) {
  Chart chart = one_line({{0, 1.0 / 3}, {1, kNan}});
  chart.series[0].name = "a,b";
  EXPECT_EQ(to_csv(chart), "series,x,y\n\"a,b\",0,0.3333333333333333\n\"a,b\",1,\n");
  chart.series.push_back({.name = "c", .points = {{2, 3, 2.5, 3.5}}});
  EXPECT_EQ(to_csv(chart), "series,x,y,lower,upper\n\"a,b\",0,0.3333333333333333,,\n\"a,b\",1,,,\nc,2,3,2.5,3.5\n");
}

}  // namespace
}  // namespace glint

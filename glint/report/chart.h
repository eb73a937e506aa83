// The one chart module: a plain description of a line chart becomes SVG for a page or a paper, and CSV with
// the same numbers.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "glint/report/figure.h"

namespace glint {

// Okabe and Ito's palette, which people with a colour vision deficiency can tell apart.
namespace colors {
inline constexpr const char* kBlack = "#000000";
inline constexpr const char* kOrange = "#e69f00";
inline constexpr const char* kSky = "#56b4e9";
inline constexpr const char* kGreen = "#009e73";
inline constexpr const char* kYellow = "#f0e442";
inline constexpr const char* kBlue = "#0072b2";
inline constexpr const char* kVermilion = "#d55e00";
inline constexpr const char* kPurple = "#cc79a7";
}  // namespace colors

enum class Stroke { solid, dashed, dotted, dash_dot, none };
enum class Marker { none, circle, open_circle, square, triangle, diamond, ring };  // a ring is around other markers

// The inner places are those of the compass; `automatic` takes the first that covers no data, or `outside`.
enum class Legend {
  automatic,
  none,
  top_left,
  top_right,
  bottom_right,
  bottom_left,
  top,
  bottom,
  left,
  right,
  outside
};

struct Point {
  double x = 0, y = 0;  // NaN or infinity in either breaks the line
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();  // a band where both are finite
};

struct Series {
  std::string name;
  std::vector<Point> points;
  std::string color = {};  // empty: the next of the palette
  Stroke stroke = Stroke::solid;
  Marker marker = Marker::none;
  double width = 2;  // of the line, in the units of the chart
  bool in_legend = true;
  std::vector<std::string> labels = {};  // beside the points, "": none; where they cover as little as can be
  std::vector<std::string> links = {};   // of points with a marker and their labels, as "#setting-3"
};

struct Chart {
  std::string title = {};
  Axis x, y;
  std::vector<Series> series;
  Legend legend = Legend::automatic;
  double width = 640, height = 440;
  std::string background = "#ffffff";  // empty: transparent
};

// A whole SVG document. It has a viewBox and no ids, so several fit into one page. Error (usage) for fixed
// limits that leave nothing to show.
std::string to_svg(const Chart& chart);

// series,x,y and, where a series has a band, lower,upper: one row per point. Numbers read back as the same
// double; a field is empty where there is no finite number.
std::string to_csv(const Chart& chart);

Figure figure_of(const Chart& chart);

}  // namespace glint

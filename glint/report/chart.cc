#include "glint/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

using svg::attribute, svg::kInk, svg::kLabelFont, svg::kTitleFont, svg::line, svg::px, svg::text, svg::text_width;

constexpr double kFar = 2000;  // in frames
constexpr double kTickFont = svg::kSmallFont;
constexpr double kPointFont = 11;  // of labels beside points
constexpr double kLegendRow = 19, kLegendLine = 28, kLegendPad = 8;

// Black and yellow last: the one looks like an axis, the other is faint on white.
constexpr std::array<const char*, 8> kPalette = {colors::kBlue,   colors::kVermilion, colors::kGreen, colors::kPurple,
                                                 colors::kOrange, colors::kSky,       colors::kBlack, colors::kYellow};

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
};

double tick_width(const Tick& t) { return text_width(t.label, kTickFont) + text_width(t.power, 0.75 * kTickFont); }

std::string tick_text(double x, double y, const char* anchor, const Tick& t) {
  std::string power;
  if (!t.power.empty()) power = "<tspan dy=\"-0.45em\" font-size=\"75%\">" + xml_escape(t.power) + "</tspan>";
  return "<text" + attribute("x", x) + attribute("y", y) + " text-anchor=\"" + anchor + "\">" + xml_escape(t.label) +
         power + "</text>\n";
}

std::string dashes(Stroke stroke, double width) {
  const auto pattern = [&](std::initializer_list<double> units) {
    std::string s;
    for (const double u : units) s += (s.empty() ? "" : " ") + px(u * width);
    return " stroke-dasharray=\"" + s + "\"";
  };
  switch (stroke) {
    case Stroke::dashed:
      return pattern({3.5, 2});
    case Stroke::dotted:
      return pattern({1, 1.6});
    case Stroke::dash_dot:
      return pattern({4.5, 1.8, 1, 1.8});
    case Stroke::solid:
    case Stroke::none:
      break;
  }
  return "";
}

std::string marker_shape(Marker marker, double x, double y, const std::string& color, const std::string& paper) {
  const std::string fill = " fill=\"" + color + "\"/>\n";
  switch (marker) {
    case Marker::none:
      break;
    case Marker::circle:
      return "<circle" + attribute("cx", x) + attribute("cy", y) + " r=\"3.6\"" + fill;
    case Marker::open_circle:
      return "<circle" + attribute("cx", x) + attribute("cy", y) + " r=\"3.1\" fill=\"" + paper + "\" stroke=\"" +
             color + "\" stroke-width=\"1.6\"/>\n";
    case Marker::ring:
      return "<circle" + attribute("cx", x) + attribute("cy", y) + " r=\"8\" fill=\"none\" stroke=\"" + color +
             "\" stroke-width=\"3\"/>\n";
    case Marker::square:
      return "<rect" + attribute("x", x - 3.2) + attribute("y", y - 3.2) + " width=\"6.4\" height=\"6.4\"" + fill;
    case Marker::triangle:
      return "<path d=\"M" + px(x) + " " + px(y - 4.4) + "l4.2 7.3h-8.4z\"" + fill;
    case Marker::diamond:
      return "<path d=\"M" + px(x) + " " + px(y - 4.6) + "l4.6 4.6l-4.6 4.6l-4.6 -4.6z\"" + fill;
  }
  return "";
}

bool listed(const Series& s) { return s.in_legend && !s.name.empty(); }

struct Pixel {
  double x = 0, y = 0;
};

// Does the segment touch the box? Liang and Barsky's clipping.
bool touches(const Box& box, Pixel a, Pixel b) {
  double t0 = 0, t1 = 1;
  const auto clip = [&](double p, double q) {
    if (p == 0) return q >= 0;
    const double t = q / p;
    if (p < 0)
      t0 = std::max(t0, t);
    else
      t1 = std::min(t1, t);
    return t0 <= t1;
  };
  const double dx = b.x - a.x, dy = b.y - a.y;
  return clip(-dx, a.x - box.x) && clip(dx, box.x + box.w - a.x) && clip(-dy, a.y - box.y) &&
         clip(dy, box.y + box.h - a.y);
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    std::vector<double> xs, ys;
    for (const Series& s : chart.series) {
      for (const Point& p : s.points) {
        if (!drawable(chart.x.scale, p.x)) continue;
        if (drawable(chart.y.scale, p.y)) xs.push_back(p.x), ys.push_back(p.y);
        if (has_band(p)) xs.push_back(p.x), ys.push_back(p.lower), ys.push_back(p.upper);
      }
    }
    x_limits_ = axis_limits(chart.x, xs, 0);
    y_limits_ = axis_limits(chart.y, ys, 0.05);
    measure_legend();
    layout(false);
  }

  std::string draw() {
    Legend place = chart_.legend;
    if (legend_.w == 0) place = Legend::none;
    if (place == Legend::automatic) place = free_place();
    if (place == Legend::outside) layout(true);
    std::string out = head() + grid() + "<g fill=\"none\" stroke-linejoin=\"round\">\n" + curves() + "</g>\n";
    if (place != Legend::none) covered_.push_back(legend_box(place));
    out += labels();
    if (place != Legend::none) out += legend(place);
    return out + "</svg>\n";
  }

 private:
  bool has_band(const Point& p) const {
    return drawable(chart_.x.scale, p.x) && drawable(chart_.y.scale, p.lower) && drawable(chart_.y.scale, p.upper);
  }
  bool has_line(const Point& p) const { return drawable(chart_.x.scale, p.x) && drawable(chart_.y.scale, p.y); }
  // Renderers keep coordinates in few bits: far outside the frame a line may bend.
  Pixel place(double x, double y) const {
    const double fx = std::clamp(axis_fraction(chart_.x.scale, x_limits_, x), -kFar, kFar);
    const double fy = std::clamp(axis_fraction(chart_.y.scale, y_limits_, y), -kFar, kFar);
    return {frame_.x + fx * frame_.w, frame_.y + (1 - fy) * frame_.h};
  }
  std::string color(size_t i) const {
    return chart_.series[i].color.empty() ? kPalette[i % kPalette.size()] : xml_escape(chart_.series[i].color);
  }
  std::string paper() const { return chart_.background.empty() ? "#ffffff" : xml_escape(chart_.background); }

  void measure_legend() {
    double widest = 0;
    size_t rows = 0;
    for (const Series& s : chart_.series) {
      if (!listed(s)) continue;
      widest = std::max(widest, text_width(s.name, kTickFont));
      rows++;
    }
    if (rows == 0) return;
    legend_.w = 2 * kLegendPad + kLegendLine + 8 + widest;
    legend_.h = 2 * kLegendPad + kLegendRow * static_cast<double>(rows) - 4;
  }

  void layout(bool legend_outside) {
    const double top = chart_.title.empty() ? 16 : 40;
    const double bottom = chart_.x.label.empty() ? 34 : 56;
    frame_.y = top;
    frame_.h = std::max(20.0, chart_.height - top - bottom);
    y_ticks_ =
        axis_ticks(chart_.y.scale, y_limits_, std::max(2, static_cast<int>(frame_.h / 48)), 1.5 * kTickFont / frame_.h);
    double widest = 0;
    for (const Tick& t : y_ticks_) widest = std::max(widest, tick_width(t));
    frame_.x = 14 + widest + (chart_.y.label.empty() ? 6 : 28);
    double right = 18 + (legend_outside ? legend_.w + 4 : 0);
    frame_.w = std::max(20.0, chart_.width - frame_.x - right);
    x_ticks_ = x_ticks(x_tick_count());
    // The last label may stick out of the frame by half its width.
    for (const Tick& t : x_ticks_) {
      const double end = place(t.value, y_limits_.min).x + tick_width(t) / 2 + 4;
      if (!legend_outside && end > chart_.width) frame_.w = std::max(20.0, frame_.w - (end - chart_.width));
    }
  }

  std::vector<Tick> x_ticks(int most) const { return axis_ticks(chart_.x.scale, x_limits_, most, 0, chart_.x.whole); }

  // As many as fit with room between the labels.
  int x_tick_count() const {
    for (int n = std::max(2, static_cast<int>(frame_.w / 60)); n > 2; n--) {
      double widest = 0;
      for (const Tick& t : x_ticks(n)) widest = std::max(widest, tick_width(t));
      if ((widest + 16) * n <= frame_.w) return n;
    }
    return 2;
  }

  Box legend_box(Legend place) const {
    Box box = legend_;
    const double inset = 10, right = frame_.x + frame_.w, bottom = frame_.y + frame_.h;
    box.x = frame_.x + (frame_.w - box.w) / 2;
    box.y = frame_.y + (frame_.h - box.h) / 2;
    if (place == Legend::top_left || place == Legend::bottom_left || place == Legend::left) box.x = frame_.x + inset;
    if (place == Legend::top_right || place == Legend::bottom_right || place == Legend::right)
      box.x = right - inset - box.w;
    if (place == Legend::top_left || place == Legend::top_right || place == Legend::top) box.y = frame_.y + inset;
    if (place == Legend::bottom_left || place == Legend::bottom_right || place == Legend::bottom)
      box.y = bottom - inset - box.h;
    if (place == Legend::outside) box.x = right + 12, box.y = frame_.y;
    return box;
  }

  bool covers_data(const Box& box) const {
    for (const Series& s : chart_.series) {
      for (size_t i = 0; i < s.points.size(); i++) {
        const Point& p = s.points[i];
        if (has_line(p)) {
          const Pixel here = place(p.x, p.y);
          const bool joined = s.stroke != Stroke::none && i > 0 && has_line(s.points[i - 1]);
          if (touches(box, joined ? place(s.points[i - 1].x, s.points[i - 1].y) : here, here)) return true;
        }
        if (has_band(p) && touches(box, place(p.x, p.lower), place(p.x, p.upper))) return true;
      }
    }
    return false;
  }

  Legend free_place() const {
    for (const Legend place : {Legend::top_right, Legend::top_left, Legend::bottom_right, Legend::bottom_left,
                               Legend::top, Legend::bottom, Legend::right, Legend::left}) {
      const Box box = legend_box(place);
      const Box roomy{box.x - 6, box.y - 6, box.w + 12, box.h + 12};
      if (roomy.x >= frame_.x && roomy.y >= frame_.y && !covers_data(roomy)) return place;
    }
    return Legend::outside;
  }

  std::string head() const {
    std::string out = svg::open(chart_.width, chart_.height, chart_.title.empty() ? chart_.y.label : chart_.title);
    if (!chart_.background.empty()) out += "<rect width=\"100%\" height=\"100%\" fill=\"" + paper() + "\"/>\n";
    if (chart_.title.empty()) return out;
    // Over the frame, but inside the picture; a title that is longer than the picture is written smaller.
    const double own = svg::kBold * svg::text_width(chart_.title, kTitleFont), room = chart_.width - 16;
    const double half = std::min(own, room) / 2;
    const double middle = std::clamp(frame_.x + frame_.w / 2, 8 + half, chart_.width - 8 - half);
    return out +
           text(middle, 25, kTitleFont * std::min(1.0, room / own), "middle", chart_.title, " font-weight=\"bold\"");
  }

  // Grid, frame, tick labels and axis labels.
  std::string grid() const {
    const double right = frame_.x + frame_.w, bottom = frame_.y + frame_.h;
    std::string out = "<g stroke=\"#e4e4e4\" stroke-width=\"1\">\n", labels;
    const auto style = [](const Tick& t) { return t.label.empty() ? "stroke-opacity=\"0.55\"" : ""; };
    for (const Tick& t : x_ticks_) {
      const double x = place(t.value, y_limits_.min).x;
      out += line(x, frame_.y, x, bottom, style(t));
      if (!t.label.empty()) labels += tick_text(x, bottom + 18, "middle", t);
    }
    for (const Tick& t : y_ticks_) {
      const double y = place(x_limits_.min, t.value).y;
      out += line(frame_.x, y, right, y, style(t));
      if (!t.label.empty()) labels += tick_text(frame_.x - 8, y + 4.3, "end", t);
    }
    const auto crosses_zero = [](const Axis& a, const Limits& l) {
      return a.scale == Scale::linear && l.min < 0 && l.max > 0;
    };
    const Pixel zero = place(crosses_zero(chart_.x, x_limits_) ? 0 : x_limits_.min,
                             crosses_zero(chart_.y, y_limits_) ? 0 : y_limits_.min);
    const std::string darker = "stroke=\"#b0b0b0\"";
    if (crosses_zero(chart_.x, x_limits_)) out += line(zero.x, frame_.y, zero.x, bottom, darker);
    if (crosses_zero(chart_.y, y_limits_)) out += line(frame_.x, zero.y, right, zero.y, darker);
    out += "</g>\n<rect" + attribute("x", frame_.x) + attribute("y", frame_.y) + attribute("width", frame_.w) +
           attribute("height", frame_.h) + " fill=\"none\" stroke=\"#666666\"/>\n" + labels;
    if (!chart_.x.label.empty())
      out += text(frame_.x + frame_.w / 2, bottom + 42, kLabelFont, "middle", chart_.x.label);
    if (!chart_.y.label.empty()) {
      const double y = frame_.y + frame_.h / 2;
      out += text(20, y, kLabelFont, "middle", chart_.y.label, " transform=\"rotate(-90 20 " + px(y) + ")\"");
    }
    return out;
  }

  std::string band(const Series& s, const std::string& fill) const {
    std::string out;
    for (size_t i = 0; i < s.points.size();) {
      if (!has_band(s.points[i])) {
        i++;
        continue;
      }
      const size_t first = i;
      std::string d;
      for (; i < s.points.size() && has_band(s.points[i]); i++) {
        const Pixel up = place(s.points[i].x, s.points[i].upper);
        d += (d.empty() ? "M" : "L") + px(up.x) + " " + px(up.y);
      }
      for (size_t k = i; k-- > first;) {
        const Pixel low = place(s.points[k].x, s.points[k].lower);
        d += "L" + px(low.x) + " " + px(low.y);
      }
      out += "<path d=\"" + d + "Z\" fill=\"" + fill + "\" fill-opacity=\"0.18\" stroke=\"none\"/>\n";
    }
    return out;
  }

  std::string path(const Series& s) const {
    std::string d, last;
    bool pen_down = false;
    for (const Point& p : s.points) {
      if (!has_line(p)) {
        pen_down = false;
        continue;
      }
      const Pixel at = place(p.x, p.y);
      const std::string here = px(at.x) + " " + px(at.y);
      if (!pen_down || here != last) d += (pen_down ? "L" : "M") + here;
      pen_down = true;
      last = here;
    }
    return d;
  }

  bool shows_marker(const Series& s, size_t k) const {
    if (s.marker == Marker::none || !has_line(s.points[k])) return false;
    const Pixel at = place(s.points[k].x, s.points[k].y);
    return at.x >= frame_.x - 0.5 && at.x <= frame_.x + frame_.w + 0.5 && at.y >= frame_.y - 0.5 &&
           at.y <= frame_.y + frame_.h + 0.5;
  }

  static std::string linked(const Series& s, size_t k, const std::string& inner) {
    if (k >= s.links.size() || s.links[k].empty()) return inner;
    return "<a href=\"" + xml_escape(s.links[k]) + "\">" + inner + "</a>\n";
  }

  // How much a label at this place hides: other labels and the legend most, then markers, then lines.
  double hidden(const Box& box, size_t series, size_t point, bool led) const {
    double cost = 0;
    const Pixel own = place(chart_.series[series].points[point].x, chart_.series[series].points[point].y);
    const auto distance = [&](Pixel p) {
      return std::hypot(std::max({box.x - p.x, p.x - box.x - box.w, 0.0}),
                        std::max({box.y - p.y, p.y - box.y - box.h, 0.0}));
    };
    bool astray = false;  // it would be read as the label of another point
    if (box.x < frame_.x + 2 || box.x + box.w > frame_.x + frame_.w - 2 || box.y < frame_.y + 2 ||
        box.y + box.h > frame_.y + frame_.h - 2)
      cost += 100;
    for (const Box& other : covered_)
      if (box.x < other.x + other.w && other.x < box.x + box.w && box.y < other.y + other.h && other.y < box.y + box.h)
        cost += 20;
    for (size_t i = 0; i < chart_.series.size(); i++) {
      const Series& s = chart_.series[i];
      for (size_t k = 0; k < s.points.size(); k++) {
        if (!has_line(s.points[k])) continue;
        const Pixel here = place(s.points[k].x, s.points[k].y);
        constexpr double kReach = 4;
        const Box roomy{box.x - kReach, box.y - kReach, box.w + 2 * kReach, box.h + 2 * kReach};
        const bool other = s.marker != Marker::none && std::hypot(here.x - own.x, here.y - own.y) > 1;
        if (other && touches(roomy, here, here)) cost += 10;
        astray = astray || (!led && other && distance(here) < distance(own));
        if (s.stroke != Stroke::none && k > 0 && has_line(s.points[k - 1]) &&
            touches(box, place(s.points[k - 1].x, s.points[k - 1].y), here))
          cost += 1;
      }
    }
    return cost + (astray ? 5 : 0);
  }

  static Pixel nearest(const Box& box, Pixel to) {
    return {std::clamp(to.x, box.x, box.x + box.w), std::clamp(to.y, box.y, box.y + box.h)};
  }

  // Each label at the first of the places around its point that hides least.
  std::string labels() {
    std::string out, leads;
    for (size_t i = 0; i < chart_.series.size(); i++) {
      const Series& s = chart_.series[i];
      for (size_t k = 0; k < std::min(s.points.size(), s.labels.size()); k++) {
        if (s.labels[k].empty() || !has_line(s.points[k])) continue;
        const Pixel at = place(s.points[k].x, s.points[k].y);
        // A tenth wider than it should be: fonts differ.
        const double w = 1.1 * text_width(s.labels[k], kPointFont), h = kPointFont + 2, gap = 7;
        constexpr double kLed = 40;
        Box best;
        bool led = false;
        double least = std::numeric_limits<double>::infinity();
        for (const double far : {gap, 2 * gap, 3.5 * gap, 6 * gap, 9 * gap, 13 * gap})
          for (const Pixel corner :
               {Pixel{at.x + far, at.y - h / 2}, Pixel{at.x - far - w, at.y - h / 2},
                Pixel{at.x - w / 2, at.y - far - h}, Pixel{at.x - w / 2, at.y + far},
                Pixel{at.x + 0.7 * far, at.y - 0.7 * far - h}, Pixel{at.x + 0.7 * far, at.y + 0.7 * far},
                Pixel{at.x - 0.7 * far - w, at.y - 0.7 * far - h}, Pixel{at.x - 0.7 * far - w, at.y + 0.7 * far}}) {
            const Box box{corner.x, corner.y, w, h};
            // From kLed on a thin line leads to the point, so that the label is not read as another's.
            double cost = hidden(box, i, k, far >= kLed) + far / 100;
            if (far >= kLed)
              for (const Box& other : covered_)
                if (touches(other, at, nearest(box, at))) cost += 8;
            if (cost < least) least = cost, best = box, led = far >= kLed;
          }
        covered_.push_back(best);
        if (led) {
          const Pixel end = nearest(best, at);
          leads += "M" + px(at.x) + " " + px(at.y) + "L" + px(end.x) + " " + px(end.y);
        }
        out += linked(s, k, text(best.x, best.y + kPointFont - 1, kPointFont, "start", s.labels[k]));
      }
    }
    if (leads.empty()) return out;
    return "<path d=\"" + leads + "\" fill=\"none\" stroke=\"#9a9a9a\" stroke-width=\"0.8\"/>\n" + out;
  }

  // Bands lie below all lines. An inner <svg> clips what a fixed limit cuts off; markers are drawn whole.
  std::string curves() const {
    std::string bands, lines, markers;
    for (size_t i = 0; i < chart_.series.size(); i++) {
      const Series& s = chart_.series[i];
      bands += band(s, color(i));
      if (const std::string d = path(s); s.stroke != Stroke::none && !d.empty())
        lines += "<path d=\"" + d + "\" stroke=\"" + color(i) + "\"" + attribute("stroke-width", s.width) +
                 dashes(s.stroke, s.width) + "/>\n";
      if (s.marker == Marker::none) continue;
      for (size_t k = 0; k < s.points.size(); k++) {
        if (!shows_marker(s, k)) continue;
        const Pixel at = place(s.points[k].x, s.points[k].y);
        markers += linked(s, k, marker_shape(s.marker, at.x, at.y, color(i), paper()));
      }
    }
    const std::string place_and_size = attribute("x", frame_.x) + attribute("y", frame_.y) +
                                       attribute("width", frame_.w) + attribute("height", frame_.h);
    return "<svg" + place_and_size + " viewBox=\"" + px(frame_.x) + " " + px(frame_.y) + " " + px(frame_.w) + " " +
           px(frame_.h) + "\" overflow=\"hidden\">\n" + bands + lines + "</svg>\n" + markers;
  }

  std::string legend(Legend where) const {
    const Box box = legend_box(where);
    std::string out = "<g>\n<rect" + attribute("x", box.x) + attribute("y", box.y) + attribute("width", box.w) +
                      attribute("height", box.h) + " rx=\"3\" fill=\"" + paper() +
                      "\" fill-opacity=\"0.9\" stroke=\"#cccccc\"/>\n";
    double y = box.y + kLegendPad + kLegendRow / 2 - 2;
    for (size_t i = 0; i < chart_.series.size(); i++) {
      const Series& s = chart_.series[i];
      if (!listed(s)) continue;
      const double x = box.x + kLegendPad;
      if (s.stroke != Stroke::none)
        out += line(x, y, x + kLegendLine, y,
                    "stroke=\"" + color(i) + "\"" + attribute("stroke-width", s.width) + dashes(s.stroke, s.width));
      out += marker_shape(s.marker, x + kLegendLine / 2, y, color(i), paper());
      out += text(x + kLegendLine + 8, y + 4.3, kTickFont, "start", s.name);
      y += kLegendRow;
    }
    return out + "</g>\n";
  }

  const Chart& chart_;
  Limits x_limits_, y_limits_;
  std::vector<Tick> x_ticks_, y_ticks_;
  std::vector<Box> covered_;  // by the legend and the labels so far
  Box frame_;
  Box legend_;  // its size; 0 when it has no entry
};

}  // namespace

std::string to_svg(const Chart& chart) { return Drawing(chart).draw(); }

std::string to_csv(const Chart& chart) {
  const auto number = [](double v) { return std::isfinite(v) ? number_text(v) : std::string(); };
  bool bands = false;
  for (const Series& s : chart.series)
    for (const Point& p : s.points) bands = bands || std::isfinite(p.lower) || std::isfinite(p.upper);
  std::string out = bands ? "series,x,y,lower,upper\n" : "series,x,y\n";
  for (const Series& s : chart.series) {
    const std::string name = csv_field(s.name);
    for (const Point& p : s.points) {
      out += name + "," + number(p.x) + "," + number(p.y);
      if (bands) out += "," + number(p.lower) + "," + number(p.upper);
      out += '\n';
    }
  }
  return out;
}

std::string_view name(FigureAbout::Kind kind) {
  constexpr std::string_view kNames[] = {"plain", "lines", "bars", "pictures", "terms"};
  return kNames[static_cast<size_t>(kind)];
}

Figure figure_of(const Chart& chart) {
  FigureAbout about{.kind = FigureAbout::Kind::lines, .title = chart.title, .x = chart.x, .y = chart.y};
  for (const Series& s : chart.series)
    if (s.stroke == Stroke::none) about.scattered.push_back(s.name);
  return {to_svg(chart), to_csv(chart), std::move(about)};
}

}  // namespace glint

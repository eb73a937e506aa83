#include "glint/report/logit_figure.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kLogitEdge = 18, kLogitTop = 48, kLogitLine = 18, kBarWidth = 230, kTermBarWidth = 150,
                 kLogitSpace = 12, kLogitPanels = 36, kNoteLine = 16;
constexpr size_t kNoteColumns = 150;

// A row of bars from a common zero line: names to the left, numbers to the right, then words.
struct Bars {
  double names = 0, numbers = 0, low = 0, high = 0, bars = kBarWidth;
  void widen(const std::string& name, double value) {
    names = std::max(names, svg::text_width(name, svg::kSmallFont));
    numbers = std::max(numbers, svg::text_width(signed_text(value), svg::kSmallFont));
    low = std::min(low, value), high = std::max(high, value);
  }
  double width() const { return names + bars + numbers + 2 * kLogitSpace; }
  double zero(double x) const { return x + names + kLogitSpace - low / span() * bars; }
  double span() const { return std::max(high - low, 1e-12); }

  std::string row(double x, double y, const std::string& name, double value) const {
    const double length = value / span() * bars, from = zero(x);
    return svg::text(x + names, y + 13, svg::kSmallFont, "end", name) +
           svg::rect(std::min(from, from + length), y + 3, std::fabs(length), kLogitLine - 6,
                     "fill=\"" + hex_color(diverging_color(value < 0 ? -0.6 : 0.6)) + "\"") +
           svg::text(x + width(), y + 13, svg::kSmallFont, "end", signed_text(value));
  }
  std::string axis(double x, double y, size_t rows) const {
    return svg::line(zero(x), y, zero(x), y + kLogitLine * static_cast<double>(rows),
                     "stroke=\"#888888\" stroke-width=\"1\"");
  }
};

std::string logit_csv(const LogitFigure& f) {
  std::string out = "of,name,value,words\n";
  const auto line = [&](const std::string& of, const std::string& name, double value, const std::string& words) {
    out += csv_field(of) + "," + csv_field(name) + "," + number_text(value) + "," + csv_field(words) + "\n";
  };
  for (const LogitPart& p : f.parts) line("logit", p.name, p.value, "");
  for (const LogitShare& s : f.shares)
    for (const LogitTerm& t : s.terms) line(s.title, t.name, t.value, t.words);
  return out;
}

std::string bar_heading(double x, double y, const std::string& text) {
  return svg::text(x, y, svg::kSmallFont + 1, "start", text, " font-weight=\"bold\"");
}

}  // namespace

Figure logit_figure(const LogitFigure& f) {
  Bars parts, terms;
  terms.bars = kTermBarWidth;
  double words = 0, headings = 0;
  size_t term_rows = 0;
  for (const LogitPart& p : f.parts) parts.widen(p.name, p.value);
  for (const LogitShare& s : f.shares) {
    headings = std::max(headings, svg::kBold * svg::text_width(s.title, svg::kSmallFont + 1));
    for (const LogitTerm& t : s.terms) {
      terms.widen(t.name, t.value);
      words = std::max(words, svg::text_width(t.words, svg::kSmallFont));
    }
    term_rows += s.terms.size() + 2;
  }
  std::vector<std::string> notes;
  for (const std::string& note : f.notes)
    for (std::string& line : wrap(note, kNoteColumns)) notes.push_back(std::move(line));
  double note_width = 0;
  for (const std::string& note : notes) note_width = std::max(note_width, svg::text_width(note, 11));
  const double right = kLogitEdge + parts.width() + kLogitPanels;
  const double panel = f.shares.empty() ? 0 : std::max(headings, terms.width() + kLogitSpace + words);
  const double width = std::max({right + panel, kLogitEdge + note_width,
                                 kLogitEdge + svg::kBold * svg::text_width(f.title, svg::kTitleFont)}) +
                       kLogitEdge;
  const size_t rows = std::max(f.parts.size() + 1, term_rows);
  const double body = kLogitTop + kLogitLine * static_cast<double>(rows) + 12;
  const double height = body + kNoteLine * static_cast<double>(notes.size()) + 12;

  std::string out = svg::open(width, height, f.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kLogitEdge, 27, svg::kTitleFont, "start", f.title, " font-weight=\"bold\"");
  double y = kLogitTop;
  out += bar_heading(kLogitEdge, y + 12, "parts of the logit, direct path");
  y += kLogitLine;
  out += parts.axis(kLogitEdge, y, f.parts.size());
  for (const LogitPart& p : f.parts) {
    out += parts.row(kLogitEdge, y, p.name, p.value);
    y += kLogitLine;
  }
  y = kLogitTop;
  for (const LogitShare& s : f.shares) {
    out += bar_heading(right, y + 12, s.title);
    y += kLogitLine;
    out += terms.axis(right, y, s.terms.size());
    for (const LogitTerm& t : s.terms) {
      out += terms.row(right, y, t.name, t.value);
      out += svg::text(right + terms.width() + kLogitSpace, y + 13, svg::kSmallFont, "start", t.words,
                       std::string(" fill=\"") + svg::kFaint + "\"");
      y += kLogitLine;
    }
    y += kLogitLine;
  }
  y = body;
  for (const std::string& note : notes) {
    out += svg::text(kLogitEdge, y + 12, 11, "start", note, std::string(" fill=\"") + svg::kFaint + "\"");
    y += kNoteLine;
  }
  return {out + svg::kClose, logit_csv(f)};
}

}  // namespace glint

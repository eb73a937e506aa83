#include "glint/report/explain_figure.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"
#include "glint/report/svg.h"

namespace glint {
namespace {

constexpr double kExplainEdge = 18, kExplainTop = 46, kInput = 168, kExplainTile = 84, kExplainGap = 8,
                 kExplainMiddle = 20;
constexpr double kTrustFont = 11, kTrustLine = 15, kTrustLeft = 172;  // of the note, beside the colour bar
constexpr size_t kTrustColumns = 80;                                  // at least
constexpr double kLogitRow = 19, kBar = 9, kLogitBars = 76, kColumnGap = 9, kNumberFont = 11;

constexpr const char* kBeside = "bias and residual";

// "3: logit +5.10 = eigenvectors +6.20 -1.30, linear part +0.10, rest +0.10".
std::string split_text(const ExplainedClass& c) {
  const auto part = [](const char* name, double value) {
    return value != 0 ? ", " + std::string(name) + " " + signed_text(value) : "";
  };
  return c.name + ": logit " + signed_text(c.logit) + " = eigenvectors for " + signed_text(c.positive) + ", against " +
         signed_text(c.negative) + part("linear part", c.linear) + part(kBeside, c.beside) + ", rest " +
         (std::isnan(c.rest) ? std::string("unknown") : signed_text(c.rest));
}

std::string to_csv(const Explanation& e) {
  std::string out = "class,side,rank,eigenvalue,projection,contribution\n";
  for (const ExplainedClass& c : e.classes) {
    const auto side = [&](const char* name, const std::vector<ExplainedTerm>& terms) {
      for (const ExplainedTerm& t : terms)
        out += csv_field(c.name) + "," + name + "," + std::to_string(t.rank) + "," + number_text(t.eigenvalue) + "," +
               number_text(t.projection) + "," + number_text(t.contribution) + "\n";
    };
    side("for", c.forward);
    side("against", c.against);
    const auto sum = [&](const char* what, double value) {
      out += csv_field(c.name) + "," + what + ",,,," + number_text(value) + "\n";
    };
    sum("all for", c.positive), sum("all against", c.negative), sum("linear part", c.linear);
    sum(kBeside, c.beside), sum("rest", c.rest), sum("logit", c.logit);
  }
  return out;
}

std::string faint() { return std::string(" fill=\"") + svg::kFaint + "\""; }

// The note in lines that make a figure of this width no wider.
std::vector<std::string> note_lines(const std::string& note, double width) {
  if (note.empty()) return {};
  const double letter = svg::text_width(note, kTrustFont) / static_cast<double>(display_width(note)),
               room = width - 2 * kExplainEdge - kTrustLeft;
  return wrap(note, std::max(kTrustColumns, static_cast<size_t>(std::max(0.0, room / letter))));
}

std::string percent(double share) { return fixed_text(100 * share, 0) + " %"; }

// The columns beside the bars: as wide as their longest text, which may be bold.
struct LogitColumns {
  double names = 0, logits = 0, percents = 0;
  double around_bars() const { return names + logits + percents + 3 * kColumnGap; }
};

LogitColumns logit_columns(const Explanation& e) {
  LogitColumns c;
  const auto widen = [](double& column, const std::string& text, double font) {
    column = std::max(column, 1.08 * svg::text_width(text, font));
  };
  for (const std::string& n : e.class_names) widen(c.names, n, svg::kSmallFont);
  for (const double l : e.logits) widen(c.logits, signed_text(l), kNumberFont);
  for (const double p : e.probabilities) widen(c.percents, percent(p), kNumberFont);
  return c;
}

// Bars from a common zero line, with the numbers.
std::string logit_bars(const Explanation& e, double x, double y, double w) {
  const LogitColumns columns = logit_columns(e);
  double low = 0, high = 0;
  for (const double l : e.logits) low = std::min(low, l), high = std::max(high, l);
  const double span = std::max(high - low, 1e-12), names = columns.names;
  const double bars = w - columns.around_bars(), zero = x + names + kColumnGap - low / span * bars;
  const size_t top = static_cast<size_t>(std::max_element(e.logits.begin(), e.logits.end()) - e.logits.begin());
  std::string out = svg::text(x, y, svg::kSmallFont, "start", "logits and probabilities", " font-weight=\"bold\"");
  for (size_t c = 0; c < e.logits.size(); c++) {
    const double row = y + 8 + kLogitRow * static_cast<double>(c), length = e.logits[c] / span * bars;
    const std::string weight = c == top ? " font-weight=\"bold\"" : "";
    out += svg::text(x + names, row + 13, svg::kSmallFont, "end", e.class_names[c], weight);
    out += svg::rect(std::min(zero, zero + length), row + 3, std::fabs(length), kLogitRow - 6,
                     "fill=\"" + hex_color(diverging_color(length < 0 ? -0.6 : 0.6)) + "\"");
    out += svg::text(x + w - columns.percents - kColumnGap, row + 13, kNumberFont, "end", signed_text(e.logits[c]),
                     weight);
    out += svg::text(x + w, row + 13, kNumberFont, "end", percent(e.probabilities[c]), weight);
  }
  out += svg::line(zero, y + 8, zero, y + 8 + kLogitRow * static_cast<double>(e.logits.size()),
                   "stroke=\"#888888\" stroke-width=\"1\"");
  return out;
}

}  // namespace

Figure explain_figure(const Explanation& e) {
  size_t forward = 1, against = 1;
  bool linear = false;
  double strongest = 0, headings = 0;
  for (const ExplainedClass& c : e.classes) {
    if (!c.linear_pixels.empty()) linear = true, strongest = std::max(strongest, std::fabs(c.linear));
    headings = std::max(headings, 1.08 * svg::text_width(split_text(c), svg::kSmallFont + 1));
    forward = std::max(forward, c.forward.size());
    against = std::max(against, c.against.size());
    for (const auto* side : {&c.forward, &c.against})
      for (const ExplainedTerm& t : *side) strongest = std::max(strongest, std::fabs(t.contribution));
  }
  const double ratio = e.size.width ? static_cast<double>(e.size.height) / static_cast<double>(e.size.width) : 1;
  const double tile_h = kExplainTile * ratio, step = kExplainTile + kExplainGap, row_h = 24 + tile_h + kBar + 54;
  const double column = std::max(kInput, logit_columns(e).around_bars() + kLogitBars),
               left = kExplainEdge + column + 34;
  const double right_side = left + static_cast<double>(forward) * step + kExplainMiddle;
  const double linear_at = right_side + static_cast<double>(against) * step + kExplainMiddle;
  double width =
      std::max({linear ? linear_at + kExplainTile + kExplainEdge : linear_at - kExplainMiddle + kExplainEdge,
                left + headings + kExplainEdge, svg::text_width(e.title, svg::kTitleFont) + 2 * kExplainEdge});
  const std::vector<std::string> notes = note_lines(e.note, width);
  for (const std::string& line : notes)
    width = std::max(width, svg::text_width(line, kTrustFont) + 2 * kExplainEdge + kTrustLeft);
  const double logits_end = kExplainTop + kInput * ratio + 30 + kLogitRow * static_cast<double>(e.logits.size()) + 10;
  const double body = std::max(logits_end, kExplainTop + row_h * static_cast<double>(e.classes.size()));
  const double height = body + std::max(kBarHeight, kTrustLine * static_cast<double>(notes.size())) + 18;

  std::string out = svg::open(width, height, e.title);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += svg::text(kExplainEdge, 27, svg::kTitleFont, "start", e.title, " font-weight=\"bold\"");
  out += gray_image(kExplainEdge, kExplainTop, kInput, kInput * ratio, e.input, e.size);
  out += logit_bars(e, kExplainEdge, kExplainTop + kInput * ratio + 24, column);
  double y = kExplainTop;
  for (const ExplainedClass& c : e.classes) {
    out += svg::text(left, y + 12, svg::kSmallFont + 1, "start", split_text(c), " font-weight=\"bold\"");
    const double below = y + 22 + tile_h + kBar + 29;
    const auto tile = [&](double x, const std::vector<double>& pixels, double contribution) {
      const std::string color = hex_color(diverging_color(contribution < 0 ? -1 : 1));
      out += signed_image(x, y + 22, kExplainTile, tile_h, pixels, e.size);
      const double length = strongest > 0 ? std::fabs(contribution) / strongest * kExplainTile : 0;
      out += svg::rect(x, y + 22 + tile_h + 3, length, kBar, "fill=\"" + color + "\"");
      out += svg::text(x, y + 22 + tile_h + kBar + 16, svg::kSmallFont, "start", signed_text(contribution),
                       " font-weight=\"bold\" fill=\"" + color + "\"");
    };
    const auto side = [&](double x, const std::vector<ExplainedTerm>& terms) {
      for (const ExplainedTerm& term : terms) {
        tile(x, term.pixels, term.contribution);
        out += svg::text(x, below, 10, "start", "\u03bb " + signed_text(term.eigenvalue), faint());
        out += svg::text(x, below + 12, 10, "start", "v\u00b7x " + fixed_text(std::fabs(term.projection), 2), faint());
        x += step;
      }
    };
    side(left, c.forward);
    side(right_side, c.against);
    if (!c.linear_pixels.empty()) {
      tile(linear_at, c.linear_pixels, c.linear);
      out += svg::text(linear_at, below, 10, "start", "linear part", faint());
    }
    y += row_h;
  }
  out += color_bar(kExplainEdge + 20, body + 8, 110);
  for (size_t i = 0; i < notes.size(); i++)
    out += svg::text(kExplainEdge + kTrustLeft, body + 18 + kTrustLine * static_cast<double>(i), kTrustFont, "start",
                     notes[i], faint());
  return {out + svg::kClose,
          to_csv(e),
          {.kind = FigureAbout::Kind::terms, .title = e.title, .x = {.label = "contribution to the logit"}}};
}

}  // namespace glint

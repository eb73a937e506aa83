#include "glint/report/marked_text.h"

#include <algorithm>
#include <cmath>

#include "glint/base/text.h"

namespace glint {
namespace {

// Fainter words would look like stains.
constexpr double kFaintest = 0.04, kFullest = 0.6;

std::string word_html(const MarkedWord& w) {
  const double s = std::clamp(w.strength, -1.0, 1.0), opacity = kFullest * std::fabs(s);
  const std::string text = xml_escape(w.text);
  if (!(std::fabs(s) >= kFaintest) && !w.strongest) return text;
  const std::string style = std::string("background:rgb(") + (s < 0 ? "31 95 174" : "179 38 30") + " / " +
                            fixed_text(opacity, 2) + ");border-radius:3px" +
                            (w.strongest ? ";font-weight:700;text-decoration:underline" : "");
  // The space stays outside, so that lines break well.
  const size_t space = text.find_first_not_of(' ');
  const size_t cut = space == text.npos ? 0 : space;
  return text.substr(0, cut) + "<span style=\"" + style + "\" title=\"" + fixed_text(s, 2) + "\">" + text.substr(cut) +
         "</span>";
}

}  // namespace

std::string marked_html(const MarkedText& t) {
  std::string words;
  for (const MarkedWord& w : t.words) words += word_html(w);
  return "<p style=\"margin:6px 0;line-height:1.7;max-width:90ch\">" +
         (t.title.empty() ? "" : "<small style=\"opacity:.7\">" + xml_escape(t.title) + "</small><br>") + words +
         "</p>\n";
}

}  // namespace glint

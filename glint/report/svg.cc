#include "glint/report/svg.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/text.h"
#include "glint/report/page_pack.h"

namespace glint::svg {
namespace {

const char* const kFonts = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
constexpr std::string_view kOpening = "<svg ";

}  // namespace

std::string px(double v) {
  // What is not finite has no place; no drawing is as large as the limit.
  constexpr double kFarthest = 1e9;
  std::string s = fixed_text(std::isfinite(v) ? std::clamp(v, -kFarthest, kFarthest) : 0, 2);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s == "-0" ? "0" : s;
}

std::string attribute(const char* name, double v) { return std::string(" ") + name + "=\"" + px(v) + "\""; }

double text_width(std::string_view text, double font) {
  double em = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // inside a character
    const std::string_view narrow = "ijlI|.,:;'!()[]/ ", wide = "mwMW%@";
    em += narrow.find(c) != narrow.npos ? 0.37 : wide.find(c) != wide.npos ? 0.95 : c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
  }
  return em * font;
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) + " " + style +
         "/>\n";
}

std::string text(double x, double y, double font, const char* anchor, std::string_view content,
                 const std::string& more) {
  return "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", font) + " text-anchor=\"" + anchor +
         "\"" + more + ">" + xml_escape(content) + "</text>\n";
}

std::string rect(double x, double y, double w, double h, const std::string& style) {
  return "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", w) + attribute("height", h) + " " +
         style + "/>\n";
}

std::string open(double width, double height, std::string_view title) {
  std::string out = std::string(kOpening) + "xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
                    attribute("height", height) + " viewBox=\"0 0 " + px(width) + " " + px(height) +
                    "\" role=\"img\" font-family=\"" + kFonts + "\" font-size=\"" + px(kSmallFont) + "\" fill=\"" +
                    kInk + "\">\n";
  if (!title.empty()) out += "<title>" + xml_escape(title) + "</title>\n";
  return out;
}

std::string nested(std::string_view document, double x, double y) {
  assert(document.starts_with(kOpening));
  return "<svg" + attribute("x", x) + attribute("y", y) + " " + std::string(document.substr(kOpening.size()));
}

std::string image(double x, double y, double w, double h, std::string_view png) {
  return "<image" + attribute("x", x) + attribute("y", y) + attribute("width", w) + attribute("height", h) +
         " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64," +
         base64(std::as_bytes(std::span(png))) + "\"/>\n";
}

}  // namespace glint::svg

#include "glint/base/text.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

namespace glint {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character at the start of a text that is not empty.
Character decode(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || s.size() < n) return {first, 1, false};
  uint32_t code = first & (0x7fu >> n);
  for (size_t i = 1; i < n; i++) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {first, 1, false};
  return {code, n, true};
}

struct Range {
  uint32_t first, last;
};

constexpr Range kZeroWidth[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                           {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                           {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                           {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N>
bool in(const Range (&ranges)[N], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return code >= r.first && code <= r.last; });
}

size_t width_of(const Character& c) {
  if (!c.valid) return 1;
  return in(kZeroWidth, c.code) ? 0 : in(kWide, c.code) ? 2 : 1;
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    width += width_of(c);
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string_view fit_start(std::string_view text, size_t width) {
  size_t bytes = 0, used = 0;
  while (bytes < text.size()) {
    const Character c = decode(text.substr(bytes));
    if (used + width_of(c) > width) break;
    used += width_of(c);
    bytes += c.bytes;
  }
  return text.substr(0, bytes);
}

std::string pad(std::string_view text, size_t width, Align align) {
  const size_t have = display_width(text), missing = width > have ? width - have : 0;
  const size_t before = align == Align::left ? 0 : align == Align::right ? missing : missing / 2;
  return std::string(before, ' ') + std::string(text) + std::string(missing - before, ' ');
}

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (size_t start = 0; start <= text.size();) {
    const size_t feed = std::min(text.find('\n', start), text.size());
    std::string_view rest = text.substr(start, feed - start);
    std::string line;
    size_t used = 0;
    while (!rest.empty()) {
      const size_t spaces = std::min(rest.find_first_not_of(' '), rest.size());
      const size_t end = std::min(rest.find(' ', spaces), rest.size());
      const std::string_view word = rest.substr(spaces, end - spaces);
      const size_t wide = display_width(word);
      if (used > 0 && used + spaces + wide > width) {
        lines.push_back(std::move(line));
        line = word;
        used = wide;
      } else {
        line.append(spaces, ' ').append(word);
        used += spaces + wide;
      }
      rest.remove_prefix(end);
    }
    lines.push_back(std::move(line));
    start = feed + 1;
  }
  return lines;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];  // the longest, -2.2250738585072014e-308, has 24
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string fixed_text(double value, int decimals) {
  assert(decimals >= 0 && decimals <= 40);
  if (!std::isfinite(value)) return number_text(value);
  constexpr double kManyDigits = 1e15;  // from here on a double has hardly a digit after the point
  constexpr int kShort = 3;
  const bool large = std::fabs(value) >= kManyDigits;
  char buffer[64];  // the longest has 15 digits before the point, 40 after it, and a sign
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    large ? std::chars_format::scientific : std::chars_format::fixed, large ? kShort : decimals)
          .ptr;
  return std::string(buffer, end);
}

std::string xml_escape(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = decode(text);
    const bool control = c.code < 0x20 && c.code != '\t' && c.code != '\n' && c.code != '\r';
    if (!c.valid || control || c.code == 0xfffe || c.code == 0xffff)
      out += "\xef\xbf\xbd";
    else if (c.code == '&')
      out += "&amp;";
    else if (c.code == '<')
      out += "&lt;";
    else if (c.code == '>')
      out += "&gt;";
    else if (c.code == '"')
      out += "&quot;";
    else if (c.code == '\'')
      out += "&#39;";
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string duration_text(double seconds) {
  const long long s = std::llround(std::clamp(seconds, 0.0, 1e9));
  const long long hours = s / 3600, minutes = s / 60 % 60;
  const auto two_digits = [](long long n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (hours > 0) return std::to_string(hours) + ":" + two_digits(minutes) + ":" + two_digits(s % 60);
  return std::to_string(minutes) + ":" + two_digits(s % 60);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : between).append(word);
  return text;
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace glint

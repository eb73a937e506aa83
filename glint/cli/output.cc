#include "glint/cli/output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "glint/base/text.h"
#include "glint/report/signed_picture.h"

namespace glint::cli {
namespace {

struct Sign {
  std::string_view utf8, ascii;
};

// The first that fits is taken. "± " keeps its width: tables stay aligned.
constexpr Sign kSigns[] = {{"± ", "+-"}, {"±", "+-"}, {"−", "-"}, {"·", "_"}, {"×", "x"}, {"²", "2"}, {"…", "~"},
                           {"≡", "="},   {"σ", "s"},  {"λ", "l"}, {"⊙", "*"}, {"≤", "<"}, {"≥", ">"}, {"–", "-"},
                           {"→", ">"},   {"▁", "_"},  {"█", "#"}, {"▓", "*"}, {"▒", ":"}, {"░", "."}, {"▀", "\""},
                           {"▄", "_"},   {"▌", "|"},  {"▐", "|"}, {"▘", "'"}, {"▝", "'"}, {"▖", "."}, {"▗", "."},
                           {"▙", "%"},   {"▟", "%"},  {"▛", "%"}, {"▜", "%"}, {"▚", "%"}, {"▞", "%"}, {"▏", "|"},
                           {"▎", "|"},   {"▍", "|"},  {"▋", "|"}, {"▊", "#"}, {"▉", "#"}};

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The bytes of the character at the start.
size_t character_bytes(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && continues(text[n])) n++;
  return n;
}

// What the environment asks for.
std::optional<size_t> asked_columns() {
  const char* set = std::getenv("COLUMNS");
  const std::string_view word = set ? set : "";
  size_t columns = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), columns);
  if (code == std::errc() && end == word.data() + word.size() && columns > 0) return columns;
  return {};
}

// Columns of "label:  " at the start of a line; 0 where there is none.
size_t label_width(const std::string& line) {
  const size_t colon = line.find_first_of(": ");
  if (colon == line.npos || line[colon] != ':' || colon > 12) return 0;
  const size_t words = line.find_first_not_of(' ', colon + 1);
  return words == line.npos || words == colon + 1 ? 0 : words;
}

}  // namespace

size_t result_columns() {
  if (const std::optional<size_t> asked = asked_columns()) return *asked;
  const Terminal terminal = detect_terminal(1);
  return terminal.interactive ? terminal.width() : 80;
}

size_t message_columns(const Terminal& terminal) {
  if (const std::optional<size_t> asked = asked_columns()) return *asked;
  return terminal.interactive ? terminal.width() : std::numeric_limits<size_t>::max();
}

std::string typed_number(double value) {
  constexpr std::string_view kMinus = "\u2212";
  std::string text = signed_text(value);
  if (text.starts_with(kMinus)) text.replace(0, kMinus.size(), "-");
  return text;
}

bool wants_ascii(bool unset) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    std::string lower(value);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower.find("utf-8") == lower.npos && lower.find("utf8") == lower.npos;
  }
  return unset;
}

std::string to_ascii(std::string_view text, bool all) {
  std::string out;
  while (!text.empty()) {
    size_t bytes = 1;
    if (is_ascii(text[0])) {
      out += text[0];
    } else {
      const Sign* found = nullptr;
      for (const Sign& sign : kSigns)
        if (!found && text.starts_with(sign.utf8)) found = &sign;
      bytes = found ? found->utf8.size() : character_bytes(text);
      if (found)
        out += found->ascii;
      else if (all)
        out += '?';
      else
        out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::streamsize AsciiBuffer::xsputn(const char* text, std::streamsize size) {
  const std::string out = to_ascii({text, static_cast<size_t>(size)}, all_);
  const auto wanted = static_cast<std::streamsize>(out.size());
  return target_.sputn(out.data(), wanted) == wanted ? size : 0;
}

AsciiBuffer::int_type AsciiBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::string bar(double value, double largest, size_t width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double cells = largest > 0 ? std::fabs(value) / largest * static_cast<double>(width) : 0;
  const auto eighths = static_cast<size_t>(std::lround(8 * std::min(cells, static_cast<double>(width))));
  std::string out;
  for (size_t i = 0; i < eighths / 8; i++) out += "█";
  return out + kEighths[eighths % 8];
}

std::string signed_bar(double value, double largest, size_t width) {
  const double cells = largest > 0 ? std::fabs(value) / largest * static_cast<double>(width) : 0;
  std::string out;
  for (size_t i = 0; i < std::min(width, static_cast<size_t>(std::lround(cells))); i++) out += value < 0 ? "░" : "█";
  return out;
}

std::string prose(const std::string& text, size_t columns) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t indent = label_width(line);
    if (line.find('\x1b') != line.npos || display_width(line) <= columns || indent >= columns) {
      out += line;
    } else {
      out += line.substr(0, indent);
      const std::vector<std::string> parts = wrap(line.substr(indent), columns - indent);
      for (size_t i = 0; i < parts.size(); i++) out += (i > 0 ? "\n" + std::string(indent, ' ') : "") + parts[i];
    }
    if (end < text.size()) out += '\n';
  }
  return out;
}

}  // namespace glint::cli

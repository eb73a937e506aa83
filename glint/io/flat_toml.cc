#include "glint/io/flat_toml.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

constexpr const char* kScalar = "a \"string\", a number, true or false";

bool digit(char c) { return c >= '0' && c <= '9'; }
bool bare(char c) { return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-'; }

// One line. Every function leaves at_ behind what it took.
class Line {
 public:
  Line(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  // False for a line without a key.
  bool read(TomlLine& out) {
    space();
    if (ended()) return false;
    if (peek() == '[') fail("a recipe has no tables", "one `key = value` a line");
    out.key = peek() == '"' || peek() == '\'' ? string() : bare_key();
    space();
    if (!ended() && peek() == '.') fail("a recipe has no keys with dots", "one `key = value` a line");
    if (ended() || peek() != '=') fail("there is no = after the key", "one `key = value` a line");
    at_++;
    space();
    if (ended()) fail("there is no value after the =", kScalar);
    value(out);
    space();
    if (!ended()) fail("there is more after the value", "one `key = value` a line");
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    bad_file(place_, "not a recipe: " + what, expected);
  }
  char peek() const { return text_[at_]; }
  bool ended() const { return at_ == text_.size() || peek() == '#'; }
  void space() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t')) at_++;
  }
  std::string bare_key() {
    const size_t from = at_;
    while (at_ < text_.size() && bare(peek())) at_++;
    if (at_ == from) fail("a key cannot begin like this", "letters, digits, - and _");
    return std::string(text_.substr(from, at_ - from));
  }
  uint32_t hex(size_t digits) {
    uint32_t code = 0;
    const std::string_view word = text_.substr(at_, digits);
    const std::from_chars_result r = std::from_chars(word.data(), word.data() + word.size(), code, 16);
    if (word.size() < digits || r.ec != std::errc() || r.ptr != word.data() + word.size() || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff))
      fail("this is no character", "\\u and four, or \\U and eight hexadecimal digits");
    at_ += digits;
    return code;
  }
  static void append_utf8(std::string& out, uint32_t c) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
      put(0xc0 | c >> 6);
    } else {
      if (c < 0x10000) {
        put(0xe0 | c >> 12);
      } else {
        put(0xf0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3f));
      }
      put(0x80 | (c >> 6 & 0x3f));
    }
    put(0x80 | (c & 0x3f));
  }
  std::string string() {
    const char quote = text_[at_++];
    if (text_.substr(at_).starts_with(std::string(2, quote)))
      fail("a recipe has no strings of several lines", "a string in single quotation marks");
    std::string out;
    while (at_ < text_.size() && peek() != quote) {
      char c = text_[at_++];
      if (c != '\\' || quote == '\'') {
        out += c;
        continue;
      }
      c = at_ < text_.size() ? text_[at_++] : '\0';
      constexpr std::string_view kNames = "btnfr\"\\", kMeant = "\b\t\n\f\r\"\\";
      if (const size_t i = kNames.find(c); i != kNames.npos)
        out += kMeant[i];
      else if (c == 'u' || c == 'U')
        append_utf8(out, hex(c == 'u' ? 4 : 8));
      else
        fail("there is no such escape in a string", "\\\\, \\\", \\n, \\t, \\uXXXX; or a string in '...'");
    }
    if (at_ == text_.size()) fail("a string does not end", std::string("a ") + quote + " on the same line");
    at_++;
    return out;
  }
  // Digits of a base with single _ between them; empty when there are none or _ stands elsewhere.
  static std::string digits(std::string_view word, int base) {
    std::string out;
    for (size_t i = 0; i < word.size(); i++) {
      const char c = word[i];
      const int v = digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
      const bool between = i > 0 && i + 1 < word.size() && word[i - 1] != '_';
      if (v < base)
        out += c;
      else if (c != '_' || !between)
        return {};
    }
    return out;
  }
  template <class T, class... Base>
  T number_of(const std::string& text, Base... base) {
    T v{};
    const std::from_chars_result r = std::from_chars(text.data(), text.data() + text.size(), v, base...);
    if (r.ec != std::errc() || r.ptr != text.data() + text.size())
      fail("the number is out of range", "a number that 64 bits hold");
    return v;
  }
  void number(std::string_view word, TomlLine& out) {
    const bool sign = word[0] == '+' || word[0] == '-', minus = word[0] == '-';
    std::string_view rest = word.substr(sign);
    const auto refuse = [&] { fail("this is no value", kScalar); };
    if (rest == "inf" || rest == "nan") {
      using Limits = std::numeric_limits<double>;
      const double v = rest == "inf" ? Limits::infinity() : Limits::quiet_NaN();
      out.value = minus ? -v : v;
      return;
    }
    constexpr std::pair<std::string_view, int> kBases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
    for (const auto& [prefix, base] : kBases)
      if (!sign && rest.starts_with(prefix)) {
        const std::string all = digits(rest.substr(2), base);
        if (all.empty()) refuse();
        out.value = number_of<int64_t>(all, base);
        return;
      }
    const size_t dot = rest.find('.'), e = rest.find_first_of("eE");
    const std::string_view whole = rest.substr(0, std::min({dot, e, rest.size()}));
    std::string text = digits(whole, 10);
    if (text.empty() || (text.size() > 1 && text[0] == '0')) refuse();  // TOML has no 007
    if (minus) text.insert(0, "-");
    if (whole.size() == rest.size()) {
      out.value = number_of<int64_t>(text, 10);
      return;
    }
    if (dot < e) {
      const std::string fraction = digits(rest.substr(dot + 1, std::min(e, rest.size()) - dot - 1), 10);
      if (fraction.empty()) refuse();
      text += "." + fraction;
    }
    if (e != rest.npos) {
      std::string_view power = rest.substr(e + 1);
      const bool signed_power = !power.empty() && (power[0] == '+' || power[0] == '-');
      const std::string exponent = digits(power.substr(signed_power), 10);
      if (exponent.empty()) refuse();
      text += (signed_power && power[0] == '-' ? "e-" : "e") + exponent;
    }
    out.value = number_of<double>(text);
  }
  void value(TomlLine& out) {
    if (peek() == '"' || peek() == '\'') {
      out.value = string();
      return;
    }
    if (peek() == '[' || peek() == '{')
      fail(peek() == '[' ? "a list is no value of a recipe" : "a table is no value of a recipe", kScalar);
    const size_t from = at_;
    while (at_ < text_.size() && (bare(peek()) || peek() == '+' || peek() == '.' || peek() == ':')) at_++;
    const std::string_view word = text_.substr(from, at_ - from);
    if (word == "true" || word == "false")
      out.value = word == "true";
    else if (word.empty())
      fail("this is no value", kScalar);
    else
      number(word, out);
  }

  std::string_view text_;
  std::string place_;
  size_t at_ = 0;
};

// UTF-8 without control characters.
bool readable(std::string_view line) {
  for (size_t i = 0, n; i < line.size(); i += n) {
    const unsigned char c = static_cast<unsigned char>(line[i]);
    n = utf8_length(line.substr(i));
    if (n == 0 || (c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

std::string place_of_line(const std::string& where, size_t line) { return where + ", line " + std::to_string(line); }

std::vector<TomlLine> parse_flat_toml(std::string_view text, const std::string& where) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<TomlLine> lines;
  std::set<std::string_view> keys;
  for (size_t number = 1; !text.empty(); number++) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r') && end != text.npos) line.remove_suffix(1);
    const auto refuse = [&](const std::string& what, const std::string& expected) {
      bad_file(place_of_line(where, number), "not a recipe: " + what, expected);
    };
    if (!readable(line)) refuse("bytes that are no text", "TOML in UTF-8, one `key = value` a line");
    TomlLine next{.key = {}, .value = false, .line = number};
    if (Line(line, place_of_line(where, number)).read(next)) lines.push_back(std::move(next));
  }
  for (const TomlLine& l : lines)
    if (!keys.insert(l.key).second)
      bad_file(place_of_line(where, l.line), "not a recipe: '" + l.key + "' is there twice", "each key once");
  return lines;
}

}  // namespace glint

#include "glint/io/json_cursor.h"

#include <charconv>

#include "glint/base/error.h"
#include "glint/base/utf8.h"

namespace glint {
namespace {

void append_utf8(std::string& out, uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6)), tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12)), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18)), tail(12), tail(6), tail(0);
  }
}

// ASCII that stands for itself in a JSON string.
bool is_plain(char c) {
  const unsigned char u = static_cast<unsigned char>(c);
  return u >= 0x20 && u < 0x80 && c != '\\' && c != '"';
}

std::string hex_byte(unsigned char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {kDigits[c >> 4], kDigits[c & 15]};
}

}  // namespace

std::string json_quote(std::string_view s) {
  std::string out = "\"";
  for (size_t i = 0; i < s.size();) {
    const size_t n = utf8_length(s.substr(i));
    if (n == 0) throw Error({.what = "text is not UTF-8 at its byte " + std::to_string(i), .where = show(s)});
    const unsigned char c = static_cast<unsigned char>(s[i]);
    if (c == '"' || c == '\\')
      out += '\\', out += s[i];
    else if (c < 0x20 || c == 0x7F)
      out += "\\u00" + hex_byte(c);
    else
      out.append(s.substr(i, n));
    i += n;
  }
  return out + "\"";
}

std::string show(std::string_view s) {
  constexpr size_t kMost = 80;
  std::string out = "'";
  size_t i = 0;
  while (i < s.size() && i < kMost) {
    const size_t n = utf8_length(s.substr(i));
    const unsigned char c = static_cast<unsigned char>(s[i]);
    if (n == 0 || c < 0x20 || c == 0x7F)
      out += "\\x" + hex_byte(c);
    else
      out.append(s.substr(i, n));
    i += n ? n : 1;
  }
  return out + (i < s.size() ? "...'" : "'");
}

JsonCursor::JsonCursor(std::string_view text, std::string where, size_t first_byte, size_t max_depth)
    : text_(text), where_(std::move(where)), first_byte_(first_byte), depth_left_(max_depth) {}

void JsonCursor::fail(const std::string& what, size_t at, const std::string& expected) const {
  refuse(where_, at, what, expected);
}

void JsonCursor::unexpected(const std::string& expected) const {
  if (at_ >= text_.size()) fail("JSON ends too early", first_byte_ + at_, expected);
  const size_t n = utf8_length(text_.substr(at_));
  fail("unexpected " + show(text_.substr(at_, n ? n : 1)) + " in JSON", first_byte_ + at_, expected);
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
    at_++;
}

size_t JsonCursor::byte() {
  skip_space();
  return first_byte_ + at_;
}

void JsonCursor::take(char c, const char* expected) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != c) unexpected(expected);
  at_++;
}

void JsonCursor::open(char bracket, const char* expected) {
  const size_t at = byte();
  take(bracket, expected);
  if (depth_left_ == 0) fail("JSON is nested too deeply", at, "less nesting");
  depth_left_--;
}

bool JsonCursor::more(char bracket, bool first) {
  skip_space();
  if (at_ < text_.size() && text_[at_] == bracket) {
    at_++, depth_left_++;
    return false;
  }
  if (!first) take(',', bracket == '}' ? "',' or '}'" : "',' or ']'");
  skip_space();
  return true;
}

JsonCursor::Kind JsonCursor::peek() {
  skip_space();
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '{') return Kind::object;
  if (c == '[') return Kind::array;
  if (c == '"') return Kind::string;
  if (c == '-' || digit()) return Kind::number;
  if (c == 't' || c == 'f') return Kind::boolean;
  if (c == 'n') return Kind::null;
  unexpected("a value");
}

void JsonCursor::word(std::string_view expected) {
  if (text_.substr(at_, expected.size()) != expected) unexpected(std::string(expected));
  at_ += expected.size();
}

bool JsonCursor::boolean() {
  skip_space();
  const bool yes = at_ < text_.size() && text_[at_] == 't';
  word(yes ? "true" : "false");
  return yes;
}

void JsonCursor::null() {
  skip_space();
  word("null");
}

void JsonCursor::skip() {
  switch (peek()) {
    case Kind::object:
      return object([&](const std::string&, size_t) { skip(); });
    case Kind::array:
      return array([&] { skip(); });
    case Kind::string:
      string();
      return;
    case Kind::number:
      number();
      return;
    case Kind::boolean:
      boolean();
      return;
    case Kind::null:
      return null();
  }
}

void JsonCursor::finish() {
  skip_space();
  if (at_ < text_.size()) unexpected("the end of the JSON text");
}

std::string_view JsonCursor::number() {
  skip_space();
  const size_t begin = at_;
  const auto digits = [&] {
    if (!digit()) unexpected("a digit");
    while (digit()) at_++;
  };
  if (at_ < text_.size() && text_[at_] == '-') at_++;
  if (at_ < text_.size() && text_[at_] == '0')
    at_++;  // no digit may follow; what follows is the next token's business
  else
    digits();
  if (digit()) unexpected("a number without leading zeros");
  if (at_ < text_.size() && text_[at_] == '.') at_++, digits();
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    at_++;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) at_++;
    digits();
  }
  return text_.substr(begin, at_ - begin);
}

uint64_t JsonCursor::unsigned_integer() {
  const size_t at = byte();
  if (at_ >= text_.size() || (text_[at_] != '-' && !digit())) unexpected("a non-negative integer");
  const std::string_view text = number();
  uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    fail(show(text) + " is not a non-negative integer of 64 bits", at, "a non-negative integer");
  return value;
}

uint32_t JsonCursor::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++, at_++) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c >= '0' && c <= '9')
      value = value * 16 + static_cast<uint32_t>(c - '0');
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      value = value * 16 + static_cast<uint32_t>((c | 32) - 'a' + 10);
    else
      unexpected("four hexadecimal digits after \\u");
  }
  return value;
}

// After a backslash.
void JsonCursor::escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
  const size_t start = first_byte_ + at_ - 1;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == 'u') {
    at_++;
    uint32_t code = hex4();
    if (code >= 0xD800 && code < 0xDC00) {
      if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair in a string", start, "\\uDC00 to \\uDFFF next");
      at_ += 2;
      const uint32_t low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair in a string", start, "\\uDC00 to \\uDFFF next");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      fail("half of a surrogate pair in a string", start, "\\uD800 to \\uDBFF before it");
    }
    append_utf8(out, code);
  } else {
    const size_t i = at_ < text_.size() ? kNames.find(c) : std::string_view::npos;
    if (i == std::string_view::npos) unexpected("one of \" \\ / b f n r t u after a backslash");
    out += kBytes[i];
    at_++;
  }
}

std::string JsonCursor::string(const char* expected) {
  take('"', expected);
  // One look for the end first: the result is allocated once, never larger than its text.
  size_t end = at_;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) fail("string without an end", first_byte_ + at_ - 1, "a closing quote");
  std::string out;
  out.reserve(end - at_);
  while (at_ < end) {
    const size_t begin = at_;
    while (at_ < end && is_plain(text_[at_])) at_++;
    out.append(text_.substr(begin, at_ - begin));
    if (at_ == end) break;
    if (text_[at_] == '\\') {
      at_++;
      escape(out);
      continue;
    }
    if (static_cast<unsigned char>(text_[at_]) < 0x20)
      fail("control byte in a string", first_byte_ + at_, "an escape such as \\n");
    const size_t n = utf8_length(text_.substr(at_));
    if (n == 0) fail("text is not UTF-8", first_byte_ + at_, "UTF-8");
    out.append(text_.substr(at_, n));
    at_ += n;
  }
  take('"', "a closing quote");
  return out;
}

}  // namespace glint

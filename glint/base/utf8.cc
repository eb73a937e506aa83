#include "glint/base/utf8.h"

#include <algorithm>

namespace glint {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

size_t ascii_run(std::string_view text, size_t from) {
  size_t i = from;
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) i++;
  return i;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

size_t utf8_length(std::string_view s) {
  if (s.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and code points past U+10FFFF show in the second byte.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

uint64_t repair_utf8(std::string& text) {
  size_t good = 0;
  while ((good = ascii_run(text, good)) < text.size()) {
    const size_t n = utf8_length(std::string_view(text).substr(good));
    if (n == 0) break;
    good += n;
  }
  if (good == text.size()) return 0;
  uint64_t replaced = 0;
  std::string out = text.substr(0, good);
  for (size_t i = good; i < text.size();) {
    const size_t n = utf8_length(std::string_view(text).substr(i));
    if (n > 0) {
      out.append(text, i, n);
      i += n;
      continue;
    }
    // A lead byte and what belongs to it count as one stretch, a stray byte as one too.
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    const size_t most = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
    const size_t end = std::min(text.size(), i + (lead >= 0xf5 ? 1 : most));
    i++;
    while (i < end && continues(text[i])) i++;
    out += kReplacement;
    replaced++;
  }
  text = std::move(out);
  return replaced;
}

std::string printable(std::string text) {
  repair_utf8(text);
  for (size_t i = 0; i < text.size(); i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) text[i] = '?';
    // U+0080 to U+009F are control characters too.
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) text.replace(i, 2, 1, '?');
  }
  return text;
}

}  // namespace glint

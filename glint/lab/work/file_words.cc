#include "glint/lab/work/file_words.h"

#include <algorithm>
#include <string_view>

#include "glint/base/file.h"
#include "glint/base/sha256.h"

namespace glint {
namespace {

constexpr size_t kMostLetters = 50, kHashLetters = 8;
constexpr std::string_view kWordStart = "\u00b7";

// One word between spaces; `exact` becomes false when the result does not spell it.
std::string plain(std::string_view word, bool& exact) {
  if (word == "-") return "minus";
  if (word == "+") return "plus";
  exact = exact && !word.empty() && word != "minus" && word != "plus";
  std::string out;
  for (size_t i = 0; i < word.size(); i++) {
    const char c = word[i];
    if (word.substr(i).starts_with(kWordStart)) {
      out += '_';
      i += kWordStart.size() - 1;
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      out += c;
    } else {
      exact = false;
      if (c >= 'A' && c <= 'Z')
        out += static_cast<char>(c - 'A' + 'a');
      else if (!out.empty() && out.back() != '-')
        out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace

std::string file_word(const std::string& text) {
  bool exact = true;
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = plain(std::string_view(text).substr(at, space - at), exact);
    if (!word.empty()) out += (out.empty() ? "" : "-") + word;
    at = space + 1;
  }
  if (exact && out.size() <= kMostLetters) return out;
  out.resize(std::min(out.size(), kMostLetters));
  while (!out.empty() && out.back() == '-') out.pop_back();
  return (out.empty() ? "unit" : out) + "-" + sha256_hex(as_bytes(text)).substr(0, kHashLetters);
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:,+=@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace glint

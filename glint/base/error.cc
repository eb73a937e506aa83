#include "glint/base/error.h"

#include <algorithm>
#include <cctype>

namespace glint {
namespace {

std::string render(const ErrorParts& p) {
  std::string text = p.what;
  if (!p.where.empty()) text += "\n  where:    " + p.where;
  if (!p.expected.empty()) text += "\n  expected: " + p.expected;
  if (!p.hint.empty()) text += "\n  try:      " + p.hint;
  return text;
}

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, case-insensitive.
size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t n = a.size(), m = b.size();
  std::vector<std::vector<size_t>> d(n + 1, std::vector<size_t>(m + 1));
  const auto low = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (size_t i = 0; i <= n; i++) d[i][0] = i;
  for (size_t j = 0; j <= m; j++) d[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    for (size_t j = 1; j <= m; j++) {
      const size_t change = low(a[i - 1]) == low(b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && low(a[i - 1]) == low(b[j - 2]) && low(a[i - 2]) == low(b[j - 1]))
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[n][m];
}

}  // namespace

Error::Error(ErrorParts parts) : std::runtime_error(render(parts)), parts_(std::move(parts)) {}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kMaxWord = 64;  // longer than any name we know; keeps the distance cheap on hostile input
  if (word.size() > kMaxWord) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, (word.size() + 1) / 3) + 1;
  for (const std::string& c : candidates) {
    if (c.size() > kMaxWord) continue;
    size_t distance = edit_distance(word, c);
    if (distance == std::max(word.size(), c.size())) continue;  // not a letter in common
    if (word.size() >= 3 && c.size() > word.size() && edit_distance(word, c.substr(0, word.size())) == 0)
      distance = std::min<size_t>(distance, 1);
    if (distance < best_distance) best_distance = distance, best = c;
  }
  return best;
}

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return "did you mean " + near + "?";
  if (candidates.empty()) return "";
  std::string all = "one of ";
  for (size_t i = 0; i < candidates.size(); i++) all += (i ? ", " : "") + candidates[i];
  return all;
}

void bad_argument(const std::string& where, const std::string& what, const std::string& expected,
                  const std::string& hint) {
  throw Error({.code = ErrorCode::usage, .what = what, .where = where, .expected = expected, .hint = hint});
}

void bad_file(const std::string& where, const std::string& what, const std::string& expected, const std::string& hint) {
  throw Error({.code = ErrorCode::bad_file, .what = what, .where = where, .expected = expected, .hint = hint});
}

void refuse(const std::string& file, uint64_t byte, const std::string& what, const std::string& expected,
            const std::string& hint) {
  bad_file(file + ", byte " + std::to_string(byte), what, expected, hint);
}

}  // namespace glint

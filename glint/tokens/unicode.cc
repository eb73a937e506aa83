#include "glint/tokens/unicode.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "glint/base/utf8.h"
#include "glint/io/json_cursor.h"

namespace glint {
namespace {

struct CanonicalPair {
  uint32_t whole, first, second;
};

#include "glint/tokens/unicode_categories.inc"
#include "glint/tokens/unicode_compositions.inc"

// The value of the run that holds `c`, in a table of first << kBits | value; 0 before the first.
template <unsigned kBits, size_t kSize>
uint32_t run_value(const uint32_t (&runs)[kSize], char32_t c) {
  const uint32_t key = static_cast<uint32_t>(c) << kBits | ((1u << kBits) - 1);
  const auto after = std::upper_bound(std::begin(runs), std::end(runs), key);
  return after == std::begin(runs) ? 0 : *(after - 1) & ((1u << kBits) - 1);
}

uint32_t combining_class(char32_t c) { return c < 0x300 ? 0 : run_value<8>(kCombiningRuns, c); }

// Hangul syllables are L V or L V T, by arithmetic (Unicode, section 3.12).
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;

void decompose(char32_t c, std::u32string& out) {
  if (c < 0xC0) {
    out += c;
    return;
  }
  if (c >= kSyllables && c < kSyllables + kLeadCount * kVowelCount * kTailCount) {
    const char32_t s = c - kSyllables;
    out += kLeads + s / (kVowelCount * kTailCount);
    out += kVowels + s % (kVowelCount * kTailCount) / kTailCount;
    if (s % kTailCount != 0) out += kTails + s % kTailCount;
    return;
  }
  const auto pair = std::lower_bound(std::begin(kCanonicalPairs), std::end(kCanonicalPairs), static_cast<uint32_t>(c),
                                     [](const CanonicalPair& p, uint32_t key) { return p.whole < key; });
  if (pair == std::end(kCanonicalPairs) || pair->whole != c) {
    out += c;
    return;
  }
  decompose(pair->first, out);
  if (pair->second != 0) decompose(pair->second, out);
}

using ComposedTable = std::vector<CanonicalPair>;
ComposedTable composed_table() {
  ComposedTable table;
  for (const CanonicalPair& p : kCanonicalPairs)
    if (p.second != 0 && !std::binary_search(std::begin(kNotComposed), std::end(kNotComposed), p.whole))
      table.push_back(p);
  std::sort(table.begin(), table.end(), [](const CanonicalPair& a, const CanonicalPair& b) {
    return std::pair(a.first, a.second) < std::pair(b.first, b.second);
  });
  return table;
}

// The composition of two characters, or 0.
char32_t compose(char32_t a, char32_t b) {
  static const ComposedTable table = composed_table();  // a constant
  if (a >= kLeads && a < kLeads + kLeadCount && b >= kVowels && b < kVowels + kVowelCount)
    return kSyllables + ((a - kLeads) * kVowelCount + (b - kVowels)) * kTailCount;
  if (a >= kSyllables && a < kSyllables + kLeadCount * kVowelCount * kTailCount && (a - kSyllables) % kTailCount == 0 &&
      b > kTails && b < kTails + kTailCount)
    return a + (b - kTails);
  const std::pair<uint32_t, uint32_t> key(a, b);
  const auto at = std::lower_bound(table.begin(), table.end(), key, [](const CanonicalPair& p, const auto& k) {
    return std::pair(p.first, p.second) < k;
  });
  return at != table.end() && at->first == a && at->second == b ? at->whole : 0;
}

}  // namespace

CharacterClass character_class(char32_t c) { return static_cast<CharacterClass>(run_value<4>(kCategoryRuns, c)); }

bool is_white_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_word_character(char32_t c) {
  const CharacterClass k = character_class(c);
  if (is_letter(k) || k == CharacterClass::mark || k == CharacterClass::number) return true;
  if (c == '_' || c == 0x203F || c == 0x2040 || c == 0x2054 || c == 0xFE33 || c == 0xFE34 || c == 0xFF3F ||
      (c >= 0xFE4D && c <= 0xFE4F))
    return true;                                // connectors
  if (c == 0x200C || c == 0x200D) return true;  // joiners
  return (c >= 0x24B6 && c <= 0x24E9) ||        // letters in circles and squares
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

char32_t character_at(std::string_view text, size_t at, size_t& length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x80) {
    length = 1;
    return byte(0);
  }
  length = utf8_length(text.substr(at, 4));
  switch (length) {
    case 2:
      return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
    case 3:
      return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    case 4:
      return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    default:
      length = 1;
      return 0xFFFD;
  }
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

std::string lossy_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    if (const size_t n = utf8_length(bytes.substr(i, 4)); n > 0) {
      out.append(bytes.substr(i, n));
      i += n;
      continue;
    }
    // The longest beginning of a character: a lead byte and what may follow it.
    const auto byte = [&](size_t k) { return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0; };
    const unsigned lead = byte(0), second = byte(1);
    const size_t want = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 1;
    unsigned low = 0x80, high = 0xBF;  // of the second byte: no overlong forms, surrogates or beyond the end
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    size_t have = 1;
    if (want > 1 && second >= low && second <= high) {
      have = 2;
      while (have < want && (byte(have) & 0xC0) == 0x80) have++;
    }
    append_utf8(out, 0xFFFD);
    i += have;
  }
  return out;
}

std::string nfc(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  std::u32string all;
  for (size_t i = 0, n = 0; i < text.size(); i += n) decompose(character_at(text, i, n), all);
  // Marks in the order of their classes, stretches between starters (class 0).
  for (size_t i = 0; i < all.size();) {
    if (combining_class(all[i]) == 0) {
      i++;
      continue;
    }
    size_t end = i;
    while (end < all.size() && combining_class(all[end]) != 0) end++;
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
  // Each character joins the last starter unless something of its class or above, or a starter, is between.
  std::u32string composed;
  size_t starter = std::u32string::npos;
  uint32_t last_class = 0;
  for (const char32_t c : all) {
    const uint32_t k = combining_class(c);
    const bool adjacent = starter + 1 == composed.size();
    if (starter != std::u32string::npos && (adjacent || (last_class < k && last_class != 0))) {
      if (const char32_t whole = compose(composed[starter], c)) {
        composed[starter] = whole;
        continue;
      }
    }
    if (k == 0) starter = composed.size();
    last_class = k;
    composed += c;
  }
  std::string out;
  for (const char32_t c : composed) append_utf8(out, c);
  return out;
}

}  // namespace glint

#include "glint/tokens/piece_text.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "glint/tokens/bpe_tokenizer.h"
#include "glint/tokens/unicode.h"

namespace glint {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

int hex_digit(char c) {
  if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  const size_t digit = kHexDigits.find(c);
  return digit == kHexDigits.npos ? -1 : static_cast<int>(digit);
}

}  // namespace

std::string byte_name(unsigned char byte) { return {'<', '0', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15], '>'}; }

int named_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const int high = hex_digit(piece[3]), low = hex_digit(piece[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  assert(!from.empty());
  std::string out;
  for (size_t i = 0;;) {
    const size_t at = text.find(from, i);
    out.append(text.substr(i, at == text.npos ? text.npos : at - i));
    if (at == text.npos) return out;
    out.append(to);
    i = at + from.size();
  }
}

PieceIndex::PieceIndex(const std::vector<std::string>& pieces, std::vector<TokenId> ids) : by_text_(std::move(ids)) {
  std::sort(by_text_.begin(), by_text_.end(), [&](TokenId a, TokenId b) {
    const int order = pieces[a].compare(pieces[b]);
    return order < 0 || (order == 0 && a > b);
  });
  const auto equal = [&](TokenId a, TokenId b) { return pieces[a] == pieces[b]; };
  const auto twin = std::adjacent_find(by_text_.begin(), by_text_.end(), equal);
  if (twin != by_text_.end()) twin_ = *twin;
  by_text_.erase(std::unique(by_text_.begin(), by_text_.end(), equal), by_text_.end());
}

std::optional<TokenId> PieceIndex::find(const std::vector<std::string>& pieces, std::string_view text) const {
  const auto at = std::lower_bound(by_text_.begin(), by_text_.end(), text,
                                   [&](TokenId id, std::string_view t) { return pieces[id] < t; });
  if (at == by_text_.end() || pieces[*at] != text) return std::nullopt;
  return *at;
}

namespace {

// Printable bytes stand for themselves; the other 68 are the characters from U+0100 on.
constexpr bool is_printable_byte(unsigned b) {
  return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
}
constexpr std::array<uint16_t, 256> letter_table() {
  std::array<uint16_t, 256> table{};
  uint16_t next = 0x100;
  for (unsigned b = 0; b < 256; b++) table[b] = is_printable_byte(b) ? static_cast<uint16_t>(b) : next++;
  return table;
}
constexpr std::array<uint16_t, 256> kByteLetters = letter_table();
constexpr std::array<int16_t, 0x144> byte_table() {
  std::array<int16_t, 0x144> table{};
  for (auto& b : table) b = -1;
  for (unsigned b = 0; b < 256; b++) table[kByteLetters[b]] = static_cast<int16_t>(b);
  return table;
}
constexpr std::array<int16_t, 0x144> kLetterBytes = byte_table();

}  // namespace

char32_t byte_letter(unsigned char byte) { return kByteLetters[byte]; }

std::string byte_letters(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (const char c : bytes) append_utf8(out, byte_letter(static_cast<unsigned char>(c)));
  return out;
}

bool bytes_of_letters(std::string_view letters, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0, n = 0; i < letters.size(); i += n) {
    const char32_t c = character_at(letters, i, n);
    if (c >= kLetterBytes.size() || kLetterBytes[c] < 0) return false;
    bytes += static_cast<char>(kLetterBytes[c]);
  }
  return true;
}

}  // namespace glint

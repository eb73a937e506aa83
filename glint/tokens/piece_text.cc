#include "glint/tokens/piece_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <functional>

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

namespace {

uint32_t hash_of(std::string_view text) {
  const size_t hash = std::hash<std::string_view>()(text);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

PieceIndex::PieceIndex(const std::vector<std::string>& pieces, std::vector<TokenId> ids)
    : slots_(std::bit_ceil(2 * ids.size() + 1)) {
  for (const TokenId id : ids) {
    const uint32_t hash = hash_of(pieces[id]);
    Slot& slot = slots_[place(pieces, pieces[id], hash)];
    if (slot.id != kFree) twin_ = id;
    if (slot.id == kFree || slot.id < id) slot = {hash, id};
  }
}

size_t PieceIndex::place(const std::vector<std::string>& pieces, std::string_view text, uint32_t hash) const {
  const size_t last = slots_.size() - 1;
  size_t i = hash & last;
  while (slots_[i].id != kFree && (slots_[i].hash != hash || pieces[slots_[i].id] != text)) i = (i + 1) & last;
  return i;
}

std::optional<TokenId> PieceIndex::find(const std::vector<std::string>& pieces, std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const TokenId id = slots_[place(pieces, text, hash_of(text))].id;
  return id == kFree ? std::nullopt : std::optional(id);
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

#include <array>

#include "glint/tokens/bpe_tokenizer.h"
#include "glint/tokens/unicode.h"

namespace glint {
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

// What tokenizers ask of characters: their class, the bytes of UTF-8, and the normal form NFC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glint {

// As in a regular expression: \p{Lu}, \p{Ll}, \p{Lt}, \p{Lm}, \p{Lo}, \p{M}, \p{N}; the last in two parts,
// \p{Nd} with \p{Nl}, and \p{No}.
enum class CharacterClass : uint8_t { other, upper, lower, title, modifier, other_letter, mark, number, other_number };

CharacterClass character_class(char32_t c);
inline bool is_letter(CharacterClass k) { return k >= CharacterClass::upper && k <= CharacterClass::other_letter; }
inline bool is_number(CharacterClass k) { return k == CharacterClass::number || k == CharacterClass::other_number; }
bool is_white_space(char32_t c);     // \s
bool is_word_character(char32_t c);  // \w

// The character at `at`, which must be below text.size(), and its length. A byte that begins no well-formed
// sequence is a character of its own: U+FFFD, length 1.
char32_t character_at(std::string_view text, size_t at, size_t& length);
void append_utf8(std::string& out, char32_t c);

// Every longest beginning of a character that does not go on becomes one U+FFFD.
std::string lossy_utf8(std::string_view bytes);

// Canonical composition. Bytes that are not UTF-8 become U+FFFD.
std::string nfc(std::string_view text);

}  // namespace glint

#include "glint/tokens/tokenizer_stretch.h"

#include <algorithm>

#include "glint/tokens/sentencepiece_log.h"

namespace glint {
namespace {

// Never inside a character.
size_t cut_long_word(std::string_view text) {
  size_t end = std::min(text.size(), kMaxStretch);
  if (end < text.size())
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
  return end;
}

// Is the byte at `i` a space between two characters that are none? U+2581 counts as a space, too.
bool is_single_space(std::string_view text, size_t i) {
  if (text[i] != ' ' || i == 0 || i + 1 == text.size()) return false;
  return !is_text_space(text[i - 1]) && !is_text_space(text[i + 1]) &&
         !text.substr(0, i).ends_with(kPieceSpace) && !text.substr(i + 1).starts_with(kPieceSpace);
}

}  // namespace

TextStretch first_stretch(std::string_view text, const PieceModelInfo& info) {
  const size_t size = text.size();
  if (size <= kMaxStretch) return {text, size};
  if (info.remove_extra) {
    size_t space = kMaxStretch;
    while (space > 0 && !is_text_space(text[space - 1])) space--;
    if (space == 0) space = cut_long_word(text);
    return {text.substr(0, space), space};
  }
  if (!info.cuts_at_spaces) return {text, size};
  size_t space = kMaxStretch;
  while (space > 0 && !is_single_space(text, space)) space--;
  if (space == 0)
    for (space = kMaxStretch; space < size && !is_single_space(text, space);) space++;
  return {text.substr(0, space), std::min(size, space + (info.dummy_prefix ? 1 : 0))};
}

std::string_view first_word(std::string_view text) {
  const std::string_view near = text.substr(0, kMaxStretch + 4);  // a character may go on beyond
  const auto space = std::find_if(near.begin(), near.end(), is_text_space);
  const std::string_view word = near.substr(0, static_cast<size_t>(space - near.begin()));
  return word.substr(0, cut_long_word(word));
}

}  // namespace glint

// SentencePiece model files, looked through before SentencePiece sees them: it trusts what it loads, and a
// damaged table of characters makes it read past its end. The file is a protobuf message:
//
//   1 piece*          {1 text, 2 score (float), 3 type}
//   2 trainer_spec    {3 model type, 24 white space as suffix, 35 byte fallback, ...}
//   3 normalizer_spec {2 table of characters, 3 dummy prefix, 4 remove extra spaces, 5 escape spaces, ...}
//   5 denormalizer_spec
//
// The table of characters: u32 bytes of a trie | the trie, a double array of u32 units | replacements, each
// ended by a zero byte, that the trie's values point into.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace glint {

inline constexpr std::string_view kPieceSpace = "\xE2\x96\x81";  // U+2581 stands for a space

// SentencePiece takes about 150 bytes of memory per piece: with more, a small file could take more than it
// may.
inline constexpr size_t kMaxPieces = size_t{1} << 18;
inline constexpr size_t kMaxModelBytes = size_t{16} << 20;

struct PieceModelInfo {
  enum class Type { unigram = 1, bpe = 2 };
  Type type = Type::unigram;
  size_t pieces = 0;
  bool byte_fallback = false;
  // Words can be encoded alone: no piece crosses a space, and every word gets the same mark of its start.
  bool by_word = false;
  // A text can be cut before a single space: no piece has a space behind another character.
  bool cuts_at_spaces = false;
  bool dummy_prefix = true, remove_extra = true;  // a space before the text; of several spaces one
};

// Error (bad_file) with the byte and the rule for everything that SentencePiece could stumble over.
PieceModelInfo check_piece_model(std::span<const std::byte> file, const std::string& where);

}  // namespace glint

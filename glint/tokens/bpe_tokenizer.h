// A tokenizer with a list of merges, as tokenizer.json describes it: text is cut at added tokens, normalised,
// cut into words, and the characters of each word are merged by rank. Every step does what the `tokenizers`
// library does.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/tokens/pair_merges.h"
#include "glint/tokens/piece_text.h"
#include "glint/tokens/split_pattern.h"
#include "glint/tokens/tokenizer_model.h"

namespace glint {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool single_word = false, strip_left = false, strip_right = false, normalized = false, special = false;
};

struct NormalizerStep {
  enum class Kind { nfc, prepend, replace } kind = Kind::nfc;
  std::string from, to;  // prepend: `to`
};

struct SplitStep {
  enum class Kind { pattern, text, digits, byte_level, metaspace } kind = Kind::pattern;
  enum class Keep { isolated, with_previous, with_next, contiguous, removed } keep = Keep::isolated;
  enum class Prefix { never, first, always } prefix = Prefix::never;  // a space before the text
  SplitPattern pattern = SplitPattern::gpt2;
  std::string text;         // what is cut at; of metaspace what stands for a space
  bool one_by_one = false;  // digits
  bool splits = true;       // byte_level: by the pattern of GPT-2; metaspace: at spaces
};

struct DecoderStep {
  enum class Kind { byte_level, replace, byte_fallback, fuse, strip, metaspace } kind = Kind::fuse;
  std::string from, to;            // strip: `from`, one character
  size_t start = 0, stop = 0;      // strip: at most so many
  bool keeps_first_space = false;  // metaspace
};

// Neighbours with the ids left and right become the piece `id`.
struct BpeMerge {
  TokenId left = 0, right = 0;
  uint32_t rank = 0;
  TokenId id = 0;
};

struct BpeParts {
  std::vector<std::string> pieces;  // of the vocabulary, by id; empty: there is none
  std::vector<BpeMerge> merges;
  std::vector<AddedToken> added;
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  std::vector<DecoderStep> decoder;
  bool has_decoder = false;
  std::optional<TokenId> unknown;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

class BpeTokenizer : public TokenizerModel {
 public:
  explicit BpeTokenizer(BpeParts parts);

  size_t size() const override { return parts_.pieces.size(); }
  std::string piece(TokenId id) const override;
  std::optional<TokenId> find(std::string_view spelled) const override;
  bool is_byte(TokenId id) const override;
  bool is_control(TokenId id) const override { return special_[id]; }
  void encode(std::string_view text, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

  std::optional<TokenId> id_of(std::string_view piece) const;  // as the file spells it

 private:
  struct Segment {
    std::string text;
    bool at_start = false;  // nothing of the text stands before it
    std::optional<TokenId> token;
  };
  // Added tokens by their text, and what is needed to find the longest one at a place.
  struct Matcher {
    std::vector<std::pair<std::string, size_t>> texts;  // sorted; index into parts_.added
    std::vector<size_t> lengths;                        // of the texts, longest first
    bool first[256] = {};
  };
  Matcher matcher(bool normalized) const;
  std::vector<Segment> cut(const Matcher& matcher, Segment segment) const;
  std::string normalize(std::string text) const;
  std::vector<Segment> words(Segment segment) const;
  void encode_word(std::string_view word, std::vector<TokenId>& ids) const;
  std::vector<MergeSymbol> characters(std::string_view word) const;
  std::optional<TokenId> character_id(char32_t c, std::string_view text) const;

  BpeParts parts_;
  PieceIndex index_;                                     // of the vocabulary, without added tokens
  std::array<std::optional<TokenId>, 0x180> short_ids_;  // of single characters, up to the letters for bytes
  std::vector<bool> special_;
  bool byte_level_ = false;
  std::map<TokenId, std::string> normalized_texts_;   // of added tokens, where the normaliser changes them
  std::array<std::optional<TokenId>, 256> byte_ids_;  // of <0x00> to <0xFF>
  Matcher plain_, normalized_;
};

// GPT-2's letters for bytes: every byte has a printable character.
char32_t byte_letter(unsigned char byte);
std::string byte_letters(std::string_view bytes);
// False when a character stands for no byte; `bytes` is then undefined.
bool bytes_of_letters(std::string_view letters, std::string& bytes);

}  // namespace glint

// A tokenizer whose pieces have scores, as SentencePiece's BPE models do: of all neighbours that are a piece
// together, those of the highest score are joined first. llama2.c and GGUF files of the Llama family hold
// such lists without the rest of the model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/tokens/piece_text.h"
#include "glint/tokens/tokenizer_model.h"

namespace glint {

struct ScoreParts {
  enum class Type : uint8_t { normal, unknown, control, user, unused, byte };
  std::vector<std::string> pieces;  // spaces as `space`
  std::vector<float> scores;
  std::vector<Type> types;
  std::array<std::optional<TokenId>, 256> bytes;
  std::string space;        // what stands for a space in pieces
  bool space_first = true;  // a space before the text
};

class ScoreTokenizer : public TokenizerModel {
 public:
  explicit ScoreTokenizer(ScoreParts parts);

  size_t size() const override { return parts_.pieces.size(); }
  std::string piece(TokenId id) const override;
  std::optional<TokenId> find(std::string_view spelled) const override;
  bool is_byte(TokenId id) const override { return parts_.types[id] == ScoreParts::Type::byte; }
  bool is_control(TokenId id) const override { return parts_.types[id] == ScoreParts::Type::control; }
  void encode(std::string_view text, std::vector<TokenId>& ids) const override;
  std::string decode(std::span<const TokenId> ids) const override;

 private:
  std::optional<TokenId> id_of(std::string_view piece) const;
  // Where a space follows something else, after `from`; the end where none does.
  size_t next_word(std::string_view text, size_t from = 0) const;
  void encode_part(std::string_view text, std::vector<TokenId>& ids) const;  // spaces as in pieces
  int byte_of(TokenId id) const;                                             // -1 when it stands for none
  size_t user_piece(std::string_view text, TokenId& id) const;               // the longest one that begins it; 0: none

  ScoreParts parts_;
  PieceIndex index_;  // of equal texts the later id alone
  size_t longest_ = 0;
  std::vector<size_t> user_lengths_;  // of pieces of type user, longest first
  bool user_first_[256] = {};         // what they begin with
  // Bytes that a piece has before the space of a next word: a text cannot be cut between these.
  bool crossed_[256] = {};
};

}  // namespace glint

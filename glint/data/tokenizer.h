// Text to ids and back: a SentencePiece model that folds case and NFKC. Spaces and line feeds alike become
// one space, so that decode(encode(text)) is the lower-case text with single spaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/tokens.h"

namespace glint {

enum class TokenizerKind { bpe, unigram };
std::string_view name(TokenizerKind kind);
TokenizerKind parse_tokenizer_kind(std::string_view word);

struct TokenizerOptions {
  TokenizerKind kind = TokenizerKind::bpe;
  size_t vocab = 4096;
  // 256 of the pieces stand for bytes, so that no character is lost; off, rare characters are unknown.
  bool byte_fallback = true;
  double coverage = 0.9999;  // share of the characters of the sample that get a piece each
};

// Cheap to copy: copies share the model. Const functions may be called from any thread.
class Tokenizer {
 public:
  Tokenizer() = default;  // holds nothing: to be assigned to, or where there is none
  bool empty() const { return impl_ == nullptr; }

  // `next` gives a text a call, false at the end. The same texts and options give the same bytes. Error
  // (usage) when the texts are too few for the vocabulary or it is too small for their characters.
  static Tokenizer train(const std::function<bool(std::string&)>& next, const TokenizerOptions& options);
  // Error (bad_file) for what is no model, is damaged, or lacks an end piece (eos).
  static Tokenizer parse(std::string model, const std::string& where = "memory");
  static Tokenizer read(const std::string& path);

  size_t size() const;  // of the vocabulary, at most kMaxPieces
  TokenId end() const;
  TokenId unknown() const;
  TokenizerKind kind() const;
  bool byte_fallback() const;
  bool is_byte(TokenId id) const;
  bool is_control(TokenId id) const;

  std::vector<TokenId> encode(std::string_view text) const;
  // Ids of marks (end) are left out. All ids must be below size().
  std::string decode(std::span<const TokenId> ids) const;
  // As the model has it: "\u2581" (a low block) stands for a space, "<0x0A>" for a byte.
  const std::string& piece(TokenId id) const;
  // The piece of a whole word ("happy" finds "\u2581happy"), or the piece spelled so.
  std::optional<TokenId> find(std::string_view word) const;

  const std::string& model() const;   // the bytes of the file
  const std::string& sha256() const;  // of them, hex

 private:
  friend class TextEncoder;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// Encodes much text: remembers the words it has seen. Gives what Tokenizer::encode gives. One a thread.
class TextEncoder {
 public:
  explicit TextEncoder(Tokenizer tokenizer);
  ~TextEncoder();
  TextEncoder(TextEncoder&&) noexcept;
  // Appends the ids of `text`.
  void encode(std::string_view text, std::vector<TokenId>& ids);

 private:
  struct Cache;
  Tokenizer tokenizer_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace glint

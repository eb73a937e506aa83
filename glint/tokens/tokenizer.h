// Text to ids and back. glint's own tokenizers are SentencePiece models that fold case and NFKC: spaces and
// line feeds alike become one space, so that decode(encode(text)) is the lower-case text with single spaces.
// Those of other models are read as they are and do what the programs they come from do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/tokens.h"
#include "glint/tokens/piece_model.h"

namespace glint {

class TokenizerModel;
class WeightFile;

enum class TokenizerKind { bpe, unigram };
std::string_view name(TokenizerKind kind);
TokenizerKind parse_tokenizer_kind(std::string_view word);

enum class TokenizerFormat { sentencepiece, json, llama2c, gguf };
// "SentencePiece", "tokenizer.json", "tokenizer.bin of llama2.c", "inside the GGUF file"
std::string_view name(TokenizerFormat format);

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
  bool empty() const { return model_ == nullptr; }

  // Each call of `next` gives one text; it returns false at the end. The same texts and options give the
  // same bytes. Error (usage) when the texts are too few for the vocabulary or it is too small for their
  // characters.
  static Tokenizer train(const std::function<bool(std::string&)>& next, const TokenizerOptions& options);
  // Any of the formats, by its first bytes: a SentencePiece model (*.model), tokenizer.json (BPE),
  // tokenizer.bin of llama2.c. Error (bad_file) for what is none, is damaged, or needs a step that glint does
  // not have.
  static Tokenizer parse(std::string model, const std::string& where = "memory");
  // A file of these formats; also the tokenizer inside a GGUF file. With tokenizer.json the names of the
  // marks come from tokenizer_config.json beside it, where there is one.
  static Tokenizer read(const std::string& path);
  // The tokenizer of a model: the one inside the file, else tokenizer.json, tokenizer.model or tokenizer.bin
  // in its folder; empty() when there is none.
  static Tokenizer of_model(const WeightFile& file);
  // Where that one is: the model itself, or a file in its folder; "" when there is none.
  static std::string file_of_model(const WeightFile& file);

  size_t size() const;  // of the vocabulary, at most kMaxVocab
  // The pieces that stand for the beginning and the end of a text; tokenizer.json alone does not name the
  // end.
  std::optional<TokenId> begin() const;
  bool has_end() const;
  TokenId end() const;  // Error (bad_file) when there is none
  std::optional<TokenId> unknown() const;
  // What the tokenizer's own rule puts before a text: the beginning, or nothing.
  std::span<const TokenId> prefix() const;
  TokenizerFormat format() const;
  TokenizerKind kind() const;
  bool byte_fallback() const;
  bool is_byte(TokenId id) const;
  bool is_control(TokenId id) const;  // a mark, which no text has

  // Without prefix() and end.
  std::vector<TokenId> encode(std::string_view text) const;
  // Ids of marks (end) are left out. All ids must be below size().
  std::string decode(std::span<const TokenId> ids) const;
  // The same way in every format: "\u2581" (a low block) stands for a space, "<0x0A>" for a byte.
  std::string piece(TokenId id) const;
  // The piece of a whole word ("happy" finds "\u2581happy"), or the piece spelled so.
  std::optional<TokenId> find(std::string_view word) const;

  const std::string& model() const;   // the bytes of the file; of one inside a GGUF file such a file without tensors
  const std::string& sha256() const;  // of them, hex; inside a GGUF file of its lists

 private:
  friend class TextEncoder;
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}
  std::shared_ptr<const TokenizerModel> model_;
};

// Encodes much text: remembers the words it has seen. Gives what Tokenizer::encode gives. One per
// thread.
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

// Where a long text can be cut so that its parts, encoded one by one, give the ids of the whole.

inline constexpr size_t kMaxStretch = size_t{1} << 16;

struct TextStretch {
  std::string_view text;  // to be encoded
  size_t bytes = 0;       // how much of the whole is done with it
};

// Words up to kMaxStretch bytes, or as much of a longer one. Models that keep every space are cut at a single
// space, which the next part gets back as its dummy prefix; where that cannot be, the whole text is one part.
TextStretch first_stretch(std::string_view text, const PieceModelInfo& info);
// One word, or kMaxStretch bytes of a longer one.
std::string_view first_word(std::string_view text);

}  // namespace glint

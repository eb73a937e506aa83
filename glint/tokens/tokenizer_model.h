// What stands behind a Tokenizer: one class per kind of file, all with the same questions. Const functions
// may be called from any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/tokens.h"
#include "glint/io/weight_file.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

class TokenizerModel {
 public:
  virtual ~TokenizerModel() = default;

  virtual size_t size() const = 0;
  virtual std::string piece(TokenId id) const = 0;
  // The piece that piece() spells so.
  virtual std::optional<TokenId> find(std::string_view spelled) const = 0;
  virtual bool is_byte(TokenId id) const = 0;
  virtual bool is_control(TokenId id) const = 0;
  virtual void encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
  virtual std::string decode(std::span<const TokenId> ids) const = 0;

  // What the file says of the whole.
  TokenizerFormat format = TokenizerFormat::sentencepiece;
  TokenizerKind kind = TokenizerKind::bpe;
  bool byte_fallback = false;
  // Words can be encoded alone: no piece crosses a space, and every word gets the same mark of its start.
  bool by_word = false;
  std::optional<TokenId> begin_id, end_id, unknown_id;
  std::vector<TokenId> prefix;  // what the rule of the tokenizer puts before a text
  std::string file_bytes;       // of a tokenizer inside a GGUF file those of a GGUF file with the tokenizer alone
  std::string sha256;           // of them; inside a GGUF file of its lists
};

// The readers, by format. Errors are (bad_file) and name `where`.
std::shared_ptr<TokenizerModel> parse_sentencepiece(const std::string& bytes, const std::string& where);
// `config`: the text of tokenizer_config.json beside it, or "".
std::shared_ptr<TokenizerModel> parse_tokenizer_json(std::string_view text, const std::string& where,
                                                     std::string_view config = {},
                                                     const std::string& config_where = {});
std::shared_ptr<TokenizerModel> parse_tokenizer_bin(std::string_view bytes, const std::string& where);
// Null when the file has none.
std::shared_ptr<TokenizerModel> gguf_tokenizer(const WeightFile& file);

}  // namespace glint

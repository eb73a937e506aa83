#include <sentencepiece_processor.h>

#include <algorithm>
#include <cassert>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/sentencepiece_log.h"
#include "glint/tokens/tokenizer.h"
#include "glint/tokens/tokenizer_model.h"

namespace glint {
namespace {

class SentencePieceTokenizer : public TokenizerModel {
 public:
  SentencePieceTokenizer(const std::string& model, const std::string& where)
      : info_(check_piece_model(as_bytes(model), where)) {
    silence_sentencepiece();
    std::string message;
    try {
      const sentencepiece::util::Status status = processor_.LoadFromSerializedProto(model);
      if (!status.ok()) message = status.message();
    } catch (const std::exception& e) {
      message = e.what();
    }
    if (message.empty() && static_cast<size_t>(processor_.GetPieceSize()) != info_.pieces)
      message = "the number of pieces changed while it was loaded";
    if (!message.empty())
      bad_file(where, "SentencePiece cannot use the tokenizer: " + message,
               "a file that SentencePiece or `tokenize()` wrote");
    if (processor_.eos_id() < 0) bad_file(where, "the tokenizer has no end piece", "a model trained with an eos piece");
    format = TokenizerFormat::sentencepiece;
    kind = info_.type == PieceModelInfo::Type::bpe ? TokenizerKind::bpe : TokenizerKind::unigram;
    byte_fallback = info_.byte_fallback;
    by_word = info_.by_word;
    end_id = static_cast<TokenId>(processor_.eos_id());
    unknown_id = static_cast<TokenId>(processor_.unk_id());
    if (processor_.bos_id() >= 0) {
      begin_id = static_cast<TokenId>(processor_.bos_id());
      prefix = {*begin_id};
    }
  }

  size_t size() const override { return info_.pieces; }
  std::string piece(TokenId id) const override { return processor_.IdToPiece(static_cast<int>(id)); }
  std::optional<TokenId> find(std::string_view spelled) const override {
    const int id = processor_.PieceToId(spelled);
    if (id < 0 || static_cast<TokenId>(id) == *unknown_id) return std::nullopt;
    return static_cast<TokenId>(id);
  }
  bool is_byte(TokenId id) const override { return processor_.IsByte(static_cast<int>(id)); }
  bool is_control(TokenId id) const override { return processor_.IsControl(static_cast<int>(id)); }

  // In stretches: SentencePiece takes about a hundred bytes of memory for a byte of text.
  void encode(std::string_view text, std::vector<TokenId>& ids) const override {
    std::vector<int> scratch;
    while (!text.empty()) {
      const TextStretch part = first_stretch(text, info_);
      const sentencepiece::util::Status status = processor_.Encode(part.text, &scratch);
      if (!status.ok()) throw Error({.what = "cannot encode a text: " + std::string(status.message())});
      for (const int id : scratch) ids.push_back(static_cast<TokenId>(id));
      text.remove_prefix(part.bytes);
    }
  }

  std::string decode(std::span<const TokenId> ids) const override {
    const std::vector<int> wide(ids.begin(), ids.end());
    assert(std::all_of(wide.begin(), wide.end(), [&](int id) { return static_cast<size_t>(id) < size(); }));
    std::string text;
    const sentencepiece::util::Status status = processor_.Decode(wide, &text);
    if (!status.ok()) throw Error({.what = "cannot decode ids: " + std::string(status.message())});
    return text;
  }

 private:
  PieceModelInfo info_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::shared_ptr<TokenizerModel> parse_sentencepiece(const std::string& bytes, const std::string& where) {
  return std::make_shared<SentencePieceTokenizer>(bytes, where);
}

}  // namespace glint

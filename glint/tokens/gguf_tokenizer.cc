// The tokenizer inside a GGUF file: lists of pieces, scores, types and merges in the metadata. The kind
// `llama` is a SentencePiece BPE model, `gpt2` a byte-level one whose way of cutting words has a name.
#include <cmath>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/io/json.h"
#include "glint/io/json_cursor.h"
#include "glint/tokens/bpe_tokenizer.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/score_tokenizer.h"

namespace glint {
namespace {

// Types of pieces in GGUF, which are those of SentencePiece.
constexpr int64_t kGgufNormal = 1, kGgufUnknown = 2, kGgufControl = 3, kGgufUser = 4, kGgufUnused = 5, kGgufByte = 6;

// What tokenizer.ggml.pre means.
struct PreName {
  std::string_view name;
  SplitPattern pattern;
  bool digits, nfc, ignore_merges, begins;
};
constexpr PreName kPreNames[] = {
    {"gpt-2", SplitPattern::gpt2, false, false, false, false},
    {"gpt2", SplitPattern::gpt2, false, false, false, false},
    {"olmo", SplitPattern::gpt2, false, true, false, false},
    {"smollm", SplitPattern::gpt2, true, false, false, false},
    {"starcoder", SplitPattern::gpt2, true, false, false, false},
    {"llama-bpe", SplitPattern::llama3, false, false, true, true},
    {"llama3", SplitPattern::llama3, false, false, true, true},
    {"llama-v3", SplitPattern::llama3, false, false, true, true},
    {"dbrx", SplitPattern::llama3, false, false, false, false},
    {"smaug-bpe", SplitPattern::llama3, false, false, false, false},
    {"qwen2", SplitPattern::qwen2, false, true, false, false},
    {"deepseek-r1-qwen", SplitPattern::qwen2, false, true, false, false},
    {"stablelm2", SplitPattern::qwen2, false, false, false, false},
    {"qwen35", SplitPattern::marks, false, true, false, false},
    {"gpt-4o", SplitPattern::gpt4o, false, false, false, false},
    {"llama4", SplitPattern::gpt4o, false, false, false, false},
    {"tekken", SplitPattern::tekken, false, false, true, true},
};

class GgufTokenizerReader {
 public:
  explicit GgufTokenizerReader(const WeightFile& file) : file_(file), fields_(file.metadata(), file.where()) {}

  std::shared_ptr<TokenizerModel> read() {
    if (!fields_.has("tokenizer.ggml.model")) return nullptr;
    const auto kind = fields_.required<std::string>("tokenizer.ggml.model");
    tokens_ = &list("tokenizer.ggml.tokens", StoredArray::Kind::text);
    if (tokens_->size() > kMaxVocab)
      refuse_list("tokenizer.ggml.tokens", "has " + std::to_string(tokens_->size()) + " pieces",
                  "at most " + std::to_string(kMaxVocab));
    std::shared_ptr<TokenizerModel> model;
    if (kind == "llama")
      model = scores();
    else if (kind == "gpt2")
      model = merges();
    else
      fields_.fail("tokenizer.ggml.model", "names the tokenizer " + show(kind) + ", which is not supported",
                   "llama or gpt2");
    model->format = TokenizerFormat::gguf;
    model->begin_id = token("tokenizer.ggml.bos_token_id");
    model->end_id = token("tokenizer.ggml.eos_token_id");
    const bool begins = fields_.optional<bool>("tokenizer.ggml.add_bos_token", begins_);
    if (begins && model->begin_id) model->prefix = {*model->begin_id};
    model->sha256 = hash();
    model->file_bytes = file_.tokenizer_bytes();
    return model;
  }

 private:
  [[noreturn]] void refuse_list(const char* key, const std::string& what, const std::string& expected) const {
    fields_.fail(key, what, expected);
  }

  const StoredArray* find_list(const char* key, StoredArray::Kind kind) const {
    const StoredArray* a = file_.array(key);
    if (a && a->kind() != kind) refuse_list(key, "is a list of another kind", "texts, or numbers");
    return a;
  }
  const StoredArray& list(const char* key, StoredArray::Kind kind) const {
    const StoredArray* a = find_list(key, kind);
    if (!a) refuse_list(key, "is missing", "a file with this list");
    return *a;
  }
  const StoredArray& list_for_tokens(const char* key, StoredArray::Kind kind) const {
    const StoredArray& a = list(key, kind);
    if (a.size() != tokens_->size())
      refuse_list(key, "has " + std::to_string(a.size()) + " entries",
                  std::to_string(tokens_->size()) + ", one for each piece");
    return a;
  }

  // Absent, and beyond the vocabulary (some writers store 2^32 - 1), mean that there is none.
  std::optional<TokenId> token(const char* key) const {
    if (!fields_.has(key)) return std::nullopt;
    const auto id = fields_.required<uint64_t>(key);
    if (id >= tokens_->size()) return std::nullopt;
    return static_cast<TokenId>(id);
  }

  std::shared_ptr<TokenizerModel> scores() {
    using Type = ScoreParts::Type;
    if (fields_.optional<bool>("tokenizer.ggml.remove_extra_whitespaces", false))
      fields_.fail("tokenizer.ggml.remove_extra_whitespaces", "is true", "false: spaces are kept as they are");
    const StoredArray& values = list_for_tokens("tokenizer.ggml.scores", StoredArray::Kind::real);
    const StoredArray& types = list_for_tokens("tokenizer.ggml.token_type", StoredArray::Kind::integer);
    ScoreParts parts;
    parts.space = kPieceSpace;
    parts.space_first = fields_.optional<bool>("tokenizer.ggml.add_space_prefix", true);
    std::optional<TokenId> unknown;
    parts.pieces.reserve(tokens_->size());
    parts.scores.reserve(tokens_->size());
    parts.types.reserve(tokens_->size());
    for (size_t i = 0; i < tokens_->size(); i++) {
      const int64_t type = types.integer(i);
      if (type < kGgufNormal || type > kGgufByte)
        refuse_list("tokenizer.ggml.token_type", "has the type " + std::to_string(type), "1 to 6");
      constexpr Type kTypes[] = {Type::normal, Type::unknown, Type::control, Type::user, Type::unused, Type::byte};
      const std::string_view piece = tokens_->text(i);
      if (std::isnan(values.real(i))) refuse_list("tokenizer.ggml.scores", "has a score that is no number", "numbers");
      // Writers store the spaces of pieces that people chose as they are.
      parts.pieces.push_back(type == kGgufUser ? replaced(piece, " ", kPieceSpace) : std::string(piece));
      parts.scores.push_back(static_cast<float>(values.real(i)));
      parts.types.push_back(kTypes[type - 1]);
      if (type == kGgufUnknown && !unknown) unknown = static_cast<TokenId>(i);
      if (type == kGgufByte) parts.bytes[byte_of(piece)] = static_cast<TokenId>(i);
    }
    const auto model = std::make_shared<ScoreTokenizer>(std::move(parts));
    model->unknown_id = unknown;
    begins_ = true;
    return model;
  }
  unsigned char byte_of(std::string_view piece) const {
    const int byte = named_byte(piece);
    if (byte < 0)
      refuse_list("tokenizer.ggml.tokens", "has a piece " + show(piece) + " of the type byte", "<0x00> to <0xFF>");
    return static_cast<unsigned char>(byte);
  }

  std::shared_ptr<TokenizerModel> merges() {
    const auto name = fields_.required<std::string>("tokenizer.ggml.pre");
    const PreName* pre = nullptr;
    for (const PreName& known : kPreNames)
      if (known.name == name) pre = &known;
    if (!pre)
      fields_.fail("tokenizer.ggml.pre", "is " + show(name) + ", which is not supported",
                   "gpt-2, olmo, smollm, starcoder, llama-bpe, dbrx, qwen2, stablelm2, qwen35, gpt-4o, "
                   "llama4 or tekken");
    BpeParts parts;
    parts.ignore_merges = pre->ignore_merges;
    begins_ = pre->begins;
    if (pre->nfc) parts.normalizer.push_back({NormalizerStep::Kind::nfc, "", ""});
    if (pre->digits) {
      SplitStep digits;
      digits.kind = SplitStep::Kind::digits;
      digits.one_by_one = true;
      parts.splits.push_back(digits);
    }
    SplitStep words, bytes;
    words.pattern = pre->pattern;
    bytes.kind = SplitStep::Kind::byte_level;
    bytes.splits = false;
    if (fields_.optional<bool>("tokenizer.ggml.add_space_prefix", false)) bytes.prefix = SplitStep::Prefix::always;
    parts.splits.push_back(words);
    parts.splits.push_back(bytes);
    DecoderStep decoder;
    decoder.kind = DecoderStep::Kind::byte_level;
    parts.decoder.push_back(decoder);
    parts.has_decoder = true;
    add_pieces(parts);
    add_merges(parts);
    return std::make_shared<BpeTokenizer>(std::move(parts));
  }

  void add_pieces(BpeParts& parts) const {
    const StoredArray& types = list_for_tokens("tokenizer.ggml.token_type", StoredArray::Kind::integer);
    for (size_t i = 0; i < tokens_->size(); i++) {
      const int64_t type = types.integer(i);
      parts.pieces.emplace_back(tokens_->text(i));
      if (type != kGgufControl && type != kGgufUser) continue;
      AddedToken token;
      token.content = parts.pieces.back();
      token.id = static_cast<TokenId>(i);
      token.special = type == kGgufControl;
      parts.added.push_back(std::move(token));
    }
  }
  void add_merges(BpeParts& parts) const {
    std::vector<TokenId> ids(parts.pieces.size());
    std::iota(ids.begin(), ids.end(), TokenId{0});
    const PieceIndex index(parts.pieces, std::move(ids));
    const auto id_of = [&](std::string_view piece) { return index.find(parts.pieces, piece); };
    const StoredArray& texts = list("tokenizer.ggml.merges", StoredArray::Kind::text);
    if (texts.size() > kMaxVocab)
      refuse_list("tokenizer.ggml.merges", "has " + std::to_string(texts.size()) + " entries",
                  "at most " + std::to_string(kMaxVocab));
    parts.merges.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); i++) {
      const std::string_view both = texts.text(i);
      const size_t space = both.find(' ', 1);
      const auto left = space == both.npos ? std::nullopt : id_of(both.substr(0, space));
      const auto right = space == both.npos ? std::nullopt : id_of(both.substr(space + 1));
      const auto whole = left && right ? id_of(parts.pieces[*left] + parts.pieces[*right]) : std::nullopt;
      if (!whole) refuse_list("tokenizer.ggml.merges", "has " + show(both), "two pieces with a space between them");
      parts.merges.push_back({*left, *right, static_cast<uint32_t>(i), *whole});
    }
  }

  // Of all texts, each with its length: files with the same pieces have the same hash.
  std::string hash() const {
    Sha256 sum;
    for (const char* key : {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
      const StoredArray* texts = find_list(key, StoredArray::Kind::text);
      for (size_t i = 0; texts && i < texts->size(); i++) {
        const uint64_t length = texts->text(i).size();
        sum.update(std::as_bytes(std::span(&length, 1)));
        sum.update(as_bytes(texts->text(i)));
      }
    }
    return hex(sum.finish());
  }

  const WeightFile& file_;
  JsonFields fields_;
  const StoredArray* tokens_ = nullptr;
  bool begins_ = false;
};

}  // namespace

std::shared_ptr<TokenizerModel> gguf_tokenizer(const WeightFile& file) { return GgufTokenizerReader(file).read(); }

}  // namespace glint

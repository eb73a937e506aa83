#include "glint/tokens/tokenizer.h"

#include <algorithm>
#include <cassert>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/io/json.h"
#include "glint/io/weight_contents.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/sentencepiece_log.h"
#include "glint/tokens/tokenizer_model.h"
#include "glint/tokens/word_memory.h"

namespace glint {
namespace {

constexpr size_t kMaxTokenizerBytes = size_t{64} << 20;  // a tokenizer.json of 262,000 pieces has 33 MB
constexpr size_t kMaxTokenizerConfig = size_t{4} << 20;

bool is_json(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

// tokenizer.bin begins with the length of its longest piece, a small number of 32 bits: its third and fourth
// byte are 0. A SentencePiece model begins with the tag of a piece (10) and its length, then the tag of its
// text.
bool is_tokenizer_bin(std::string_view bytes) { return bytes.size() >= 12 && bytes[2] == 0 && bytes[3] == 0; }

[[noreturn]] void refuse_gguf(const std::string& where) {
  bad_file(where, "there is no tokenizer in the file", "a GGUF file with tokenizer.ggml.model");
}

std::shared_ptr<TokenizerModel> parse_any(std::string bytes, const std::string& where, std::string_view config,
                                          const std::string& config_where) {
  std::shared_ptr<TokenizerModel> model;
  if (bytes.size() > kMaxTokenizerBytes)
    bad_file(where, "the tokenizer has " + std::to_string(bytes.size()) + " bytes",
             "at most " + std::to_string(kMaxTokenizerBytes >> 20) + " MB");
  if (bytes.starts_with("GGUF")) {
    model = gguf_tokenizer(WeightFile(std::make_shared<WeightContents>(parse_gguf(as_bytes(bytes), where))));
    if (!model) refuse_gguf(where);
    model->file_bytes = std::move(bytes);
    return model;
  }
  if (is_json(bytes))
    model = parse_tokenizer_json(bytes, where, config, config_where);
  else if (is_tokenizer_bin(bytes))
    model = parse_tokenizer_bin(bytes, where);
  else
    model = parse_sentencepiece(bytes, where);
  model->sha256 = sha256_hex(as_bytes(bytes));
  model->file_bytes = std::move(bytes);
  return model;
}

std::string beside(const std::string& path, const char* file) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return (folder.empty() ? "." : folder) + "/" + file;
}

}  // namespace

std::string_view name(TokenizerKind kind) { return kind == TokenizerKind::bpe ? "bpe" : "unigram"; }

TokenizerKind parse_tokenizer_kind(std::string_view word) {
  if (word == "bpe") return TokenizerKind::bpe;
  if (word == "unigram") return TokenizerKind::unigram;
  throw Error({.code = ErrorCode::usage,
               .what = "unknown kind of tokenizer '" + std::string(word) + "'",
               .expected = suggest(word, {"bpe", "unigram"})});
}

std::string_view name(TokenizerFormat format) {
  static constexpr std::string_view kNames[] = {"SentencePiece", "tokenizer.json", "tokenizer.bin of llama2.c",
                                                "inside the GGUF file"};
  return kNames[static_cast<size_t>(format)];
}

Tokenizer Tokenizer::parse(std::string model, const std::string& where) {
  return Tokenizer(parse_any(std::move(model), where, {}, {}));
}

Tokenizer Tokenizer::read(const std::string& path) {
  const MappedFile map(path);
  const std::string_view text(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size());
  if (text.starts_with("GGUF")) {
    const std::shared_ptr<TokenizerModel> model = gguf_tokenizer(open_gguf(path));
    if (!model) refuse_gguf(path);
    return Tokenizer(model);
  }
  if (text.size() > kMaxTokenizerBytes) read_file(path, kMaxTokenizerBytes);  // says so
  const std::string config = beside(path, "tokenizer_config.json");
  std::string names;
  if (is_json(text) && exists(config)) names = read_file(config, kMaxTokenizerConfig);
  return Tokenizer(parse_any(std::string(text), path, names, config));
}

std::string Tokenizer::file_of_model(const WeightFile& file) {
  if (file.format() == WeightFormat::gguf && file.metadata().contains("tokenizer.ggml.model")) return file.where();
  const bool is_folder = std::filesystem::is_directory(file.where());
  for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer.bin"}) {
    const std::string path = is_folder ? file.where() + "/" + name : beside(file.where(), name);
    if (exists(path)) return path;
  }
  return {};
}

Tokenizer Tokenizer::of_model(const WeightFile& file) {
  const std::string path = file_of_model(file);
  if (path.empty()) return {};
  return path == file.where() ? Tokenizer(gguf_tokenizer(file)) : read(path);
}

size_t Tokenizer::size() const { return model_->size(); }
std::optional<TokenId> Tokenizer::begin() const { return model_->begin_id; }
bool Tokenizer::has_end() const { return model_->end_id.has_value(); }
TokenId Tokenizer::end() const {
  if (!has_end())
    bad_file(std::string(name(format())), "the tokenizer names no end piece",
             "a tokenizer with an end, or tokenizer_config.json with `eos_token` beside it");
  return *model_->end_id;
}
std::optional<TokenId> Tokenizer::unknown() const { return model_->unknown_id; }
std::span<const TokenId> Tokenizer::prefix() const { return model_->prefix; }
TokenizerFormat Tokenizer::format() const { return model_->format; }
TokenizerKind Tokenizer::kind() const { return model_->kind; }
bool Tokenizer::byte_fallback() const { return model_->byte_fallback; }
bool Tokenizer::is_byte(TokenId id) const { return model_->is_byte(id); }
bool Tokenizer::is_control(TokenId id) const { return model_->is_control(id); }
const std::string& Tokenizer::model() const { return model_->file_bytes; }
const std::string& Tokenizer::sha256() const { return model_->sha256; }

std::string Tokenizer::piece(TokenId id) const {
  assert(id < size());
  return model_->piece(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view word) const {
  if (const auto id = model_->find(std::string(kPieceSpace) + std::string(word))) return id;
  return model_->find(word);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  model_->encode(text, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const { return model_->decode(ids); }

struct TextEncoder::Cache {
  WordMemory words;
};

TextEncoder::TextEncoder(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)), cache_(std::make_unique<Cache>()) {}
TextEncoder::~TextEncoder() = default;
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;

void TextEncoder::encode(std::string_view text, std::vector<TokenId>& ids) {
  const TokenizerModel& model = *tokenizer_.model_;
  if (!model.by_word) return model.encode(text, ids);
  while (!text.empty()) {
    if (is_text_space(text[0])) {
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = first_word(text);
    text.remove_prefix(word.size());
    cache_->words.encode(word, ids, [&](std::string_view w, std::vector<TokenId>& to) { model.encode(w, to); });
  }
}

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
  return !is_text_space(text[i - 1]) && !is_text_space(text[i + 1]) && !text.substr(0, i).ends_with(kPieceSpace) &&
         !text.substr(i + 1).starts_with(kPieceSpace);
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

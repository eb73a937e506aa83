#include "glint/data/tokenizer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <system_error>
#include <unordered_map>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/room.h"
#include "glint/base/sha256.h"
#include "glint/data/piece_model.h"

// SentencePiece exports it, but installs no header that says so.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);
}

namespace glint {
namespace {

namespace sp = sentencepiece;

constexpr int kSilent = 4;  // above fatal: the library must not print
constexpr const char* kEndPiece = "<|endoftext|>";
// Longer stretches are encoded in parts: SentencePiece takes about a hundred bytes of memory a byte of text.
constexpr size_t kMaxStretch = size_t{1} << 16;
constexpr size_t kCachedWords = size_t{1} << 16, kCachedWordBytes = 48;

// SentencePiece trains on threads of its own, where memory that it does not get ends the process. So it is
// asked for when all text is read and the threads are not there yet. About twice what was measured: the
// places from which malloc serves two threads, and so many bytes for a byte of text; the unigram trainer also
// builds a lattice of a whole story.
constexpr size_t kThreadsRoom = size_t{160} << 20;
constexpr size_t kBpeRoom = 8, kUnigramRoom = 48, kLatticeRoom = 2048;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The BPE trainer of SentencePiece ends the process at a word of 65,536 characters. Normalisation may make a
// few of one, so longer stretches without a space than this get one.
constexpr size_t kMaxTrainedWord = size_t{1} << 14;

void split_long_words(std::string& text) {
  if (text.size() <= kMaxTrainedWord) return;
  std::string out;
  size_t word = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // a character
    if (is_space(c)) {
      word = 0;
    } else if (++word > kMaxTrainedWord && begins) {
      out += ' ';
      word = 1;
    }
    out += c;
  }
  text = std::move(out);
}

class Sentences : public sp::SentenceIterator {
 public:
  Sentences(const std::function<bool(std::string&)>& next, TokenizerKind kind) : next_(next), kind_(kind) {
    Next();
  }
  bool done() const override { return done_; }
  void Next() override {
    done_ = !next_(value_);
    if (done_) return check_room();
    split_long_words(value_);
    bytes_ += value_.size();
    longest_ = std::max(longest_, value_.size());
  }
  const std::string& value() const override { return value_; }
  sp::util::Status status() const override { return {}; }

 private:
  void check_room() const {
    const size_t room =
        kThreadsRoom +
        (kind_ == TokenizerKind::bpe ? kBpeRoom * bytes_ : kUnigramRoom * bytes_ + kLatticeRoom * longest_);
    if (!room_for(room))
      throw Error(
          {.what = "there is no memory to train a tokenizer on " + std::to_string(bytes_) + " bytes of text",
           .expected = "room for " + std::to_string(room >> 20) + " MB more",
           .hint = "a smaller sample"});
  }

  const std::function<bool(std::string&)>& next_;
  TokenizerKind kind_;
  size_t bytes_ = 0, longest_ = 0;
  std::string value_;
  bool done_ = false;
};

// The number that follows `mark` in a message of SentencePiece, "" when there is none.
std::string number_after(const std::string& message, const std::string& mark) {
  const size_t at = message.find(mark);
  if (at == message.npos) return "";
  const size_t first = message.find_first_of("0123456789", at + mark.size());
  if (first == message.npos) return "";
  return message.substr(first, message.find_first_not_of("0123456789", first) - first);
}

[[noreturn]] void refuse_training(const std::string& message, const TokenizerOptions& options) {
  const std::string vocab = std::to_string(options.vocab);
  const std::string most = number_after(message, "a value <="), least = number_after(message, " vs ");
  if (!most.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "the text has too few different words for " + vocab + " pieces",
                 .where = "`vocab=" + vocab + "`",
                 .expected = "at most " + most,
                 .hint = "more text, or `vocab=" + most + "`"});
  if (!least.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = vocab + " pieces are too few for the characters of the text",
                 .where = "`vocab=" + vocab + "`",
                 .expected = "at least " + least,
                 .hint = options.byte_fallback
                             ? "a larger `vocab`, or `byte_fallback=false` (saves 256 pieces)"
                             : "a larger `vocab`"});
  throw Error({.code = ErrorCode::usage, .what = "cannot train the tokenizer: " + message});
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

struct Tokenizer::Impl {
  sp::SentencePieceProcessor processor;
  PieceModelInfo info;
  std::string model, sha256;
  size_t size = 0;
  TokenId end = 0, unknown = 0;

  // A stretch of at most kMaxStretch bytes.
  void encode(std::string_view text, std::vector<int>& scratch, std::vector<TokenId>& ids) const {
    const sp::util::Status status = processor.Encode(text, &scratch);
    if (!status.ok()) throw Error({.what = "cannot encode a text: " + std::string(status.message())});
    for (const int id : scratch) ids.push_back(static_cast<TokenId>(id));
  }
};

// The first part of `text`: words up to kMaxStretch bytes, or one word, or as much of a longer one.
static std::string_view first_stretch(std::string_view text, bool one_word) {
  size_t end = text.size();
  if (one_word || end > kMaxStretch) {
    end = std::min(end, kMaxStretch);
    if (one_word) {
      const auto space =
          std::find_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), is_space);
      end = static_cast<size_t>(space - text.begin());
    } else {
      size_t space = end;
      while (space > 0 && !is_space(text[space - 1])) space--;
      if (space > 0) return text.substr(0, space);
    }
    if (end == kMaxStretch && end < text.size())  // never inside a character
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
  }
  return text.substr(0, end);
}

Tokenizer Tokenizer::train(const std::function<bool(std::string&)>& next, const TokenizerOptions& options) {
  sp::logging::SetMinLogLevel(kSilent);
  Sentences sentences(next, options.kind);
  if (sentences.done())
    throw Error({.code = ErrorCode::bad_file, .what = "there is no text to train a tokenizer on"});
  if (options.vocab > kMaxPieces)
    throw Error({.code = ErrorCode::usage,
                 .what = "a vocabulary of " + std::to_string(options.vocab) + " is too large",
                 .where = "vocab",
                 .expected = "at most " + std::to_string(kMaxPieces)});
  const std::unordered_map<std::string, std::string> arguments = {
      {"model_type", std::string(name(options.kind))},
      {"vocab_size", std::to_string(options.vocab)},
      {"normalization_rule_name", "nmt_nfkc_cf"},
      {"character_coverage", std::to_string(options.coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"max_sentence_length", "1073741824"},  // longer ones would be left out
      // The sums of the unigram trainer depend on this number, so it is not the number of processors.
      {"num_threads", "2"},
      {"unk_id", "0"},
      {"eos_id", "1"},
      {"bos_id", "-1"},
      {"pad_id", "-1"},
      {"eos_piece", kEndPiece},
      {"minloglevel", std::to_string(kSilent)}};
  std::string model;
  std::string message;
  try {
    const sp::util::Status status = sp::SentencePieceTrainer::Train(arguments, &sentences, &model);
    if (!status.ok()) message = status.message();
  } catch (const Error&) {
    throw;  // of `next`, and for want of room
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& e) {
    throw Error({.what = std::string("cannot start the threads that train a tokenizer: ") + e.what()});
  } catch (const std::exception& e) {
    message = e.what();
  }
  if (!message.empty()) refuse_training(message, options);
  return parse(std::move(model), "the tokenizer just trained");
}

Tokenizer Tokenizer::parse(std::string model, const std::string& where) {
  sp::logging::SetMinLogLevel(kSilent);
  const auto impl = std::make_shared<Impl>();
  impl->info = check_piece_model(as_bytes(model), where);
  std::string message;
  try {
    const sp::util::Status status = impl->processor.LoadFromSerializedProto(model);
    if (!status.ok()) message = status.message();
  } catch (const std::exception& e) {
    message = e.what();
  }
  if (message.empty() && static_cast<size_t>(impl->processor.GetPieceSize()) != impl->info.pieces)
    message = "the number of pieces changed while it was loaded";
  if (!message.empty())
    throw Error({.code = ErrorCode::bad_file,
                 .what = "SentencePiece cannot use the tokenizer: " + message,
                 .where = where,
                 .expected = "a file that SentencePiece or `tokenize()` wrote"});
  if (impl->processor.eos_id() < 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the tokenizer has no end piece",
                 .where = where,
                 .expected = "a model trained with an eos piece"});
  impl->size = impl->info.pieces;
  impl->end = static_cast<TokenId>(impl->processor.eos_id());
  impl->unknown = static_cast<TokenId>(impl->processor.unk_id());
  impl->sha256 = sha256_hex(as_bytes(model));
  impl->model = std::move(model);
  Tokenizer tokenizer;
  tokenizer.impl_ = impl;
  return tokenizer;
}

Tokenizer Tokenizer::read(const std::string& path) { return parse(read_file(path, kMaxModelBytes), path); }

size_t Tokenizer::size() const { return impl_->size; }
TokenId Tokenizer::end() const { return impl_->end; }
TokenId Tokenizer::unknown() const { return impl_->unknown; }
TokenizerKind Tokenizer::kind() const {
  return impl_->info.type == PieceModelInfo::Type::bpe ? TokenizerKind::bpe : TokenizerKind::unigram;
}
bool Tokenizer::byte_fallback() const { return impl_->info.byte_fallback; }
bool Tokenizer::is_byte(TokenId id) const { return impl_->processor.IsByte(id); }
bool Tokenizer::is_control(TokenId id) const { return impl_->processor.IsControl(id); }
const std::string& Tokenizer::model() const { return impl_->model; }
const std::string& Tokenizer::sha256() const { return impl_->sha256; }

const std::string& Tokenizer::piece(TokenId id) const {
  assert(id < size());
  return impl_->processor.IdToPiece(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view word) const {
  for (const std::string& spelled : {std::string(kPieceSpace) + std::string(word), std::string(word)}) {
    const int id = impl_->processor.PieceToId(spelled);
    if (id >= 0 && static_cast<TokenId>(id) != impl_->unknown) return static_cast<TokenId>(id);
  }
  return std::nullopt;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  std::vector<int> scratch;
  while (!text.empty()) {
    const std::string_view part = first_stretch(text, false);
    impl_->encode(part, scratch, ids);
    text.remove_prefix(part.size());
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  const std::vector<int> wide(ids.begin(), ids.end());
  assert(std::all_of(wide.begin(), wide.end(), [&](int id) { return static_cast<size_t>(id) < size(); }));
  std::string text;
  const sp::util::Status status = impl_->processor.Decode(wide, &text);
  if (!status.ok()) throw Error({.what = "cannot decode: " + std::string(status.message())});
  return text;
}

struct TextEncoder::Cache {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  struct Span {
    uint32_t first, count;
  };
  std::unordered_map<std::string, Span, Hash, std::equal_to<>> words;
  std::vector<TokenId> ids;  // of all of them
  std::vector<int> scratch;
};

TextEncoder::TextEncoder(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), cache_(std::make_unique<Cache>()) {}
TextEncoder::~TextEncoder() = default;
TextEncoder::TextEncoder(TextEncoder&&) noexcept = default;

void TextEncoder::encode(std::string_view text, std::vector<TokenId>& ids) {
  const Tokenizer::Impl& impl = *tokenizer_.impl_;
  Cache& c = *cache_;
  const bool by_word = impl.info.by_word;
  while (!text.empty()) {
    if (by_word && is_space(text[0])) {
      text.remove_prefix(1);
      continue;
    }
    const std::string_view part = first_stretch(text, by_word);
    text.remove_prefix(part.size());
    if (!by_word || part.size() > kCachedWordBytes) {
      impl.encode(part, c.scratch, ids);
      continue;
    }
    auto at = c.words.find(part);
    if (at == c.words.end()) {
      if (c.words.size() == kCachedWords) c.words.clear(), c.ids.clear();
      const size_t first = c.ids.size();
      impl.encode(part, c.scratch, c.ids);
      const Cache::Span span{static_cast<uint32_t>(first), static_cast<uint32_t>(c.ids.size() - first)};
      at = c.words.emplace(std::string(part), span).first;
    }
    const auto from = c.ids.begin() + at->second.first;
    ids.insert(ids.end(), from, from + at->second.count);
  }
}

}  // namespace glint

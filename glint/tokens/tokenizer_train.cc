#include <sentencepiece_trainer.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <unordered_map>

#include "glint/base/error.h"
#include "glint/base/memory_room.h"
#include "glint/tokens/piece_model.h"
#include "glint/tokens/sentencepiece_log.h"
#include "glint/tokens/tokenizer.h"

namespace glint {
namespace {

namespace sp = sentencepiece;

constexpr const char* kEndPiece = "<|endoftext|>";

// SentencePiece trains on threads of its own, where memory that it does not get ends the process. So it is
// asked for when all text is read and the threads are not there yet. About twice what was measured: the
// places from which malloc serves two threads, and so many bytes for a byte of text; the unigram trainer also
// builds a lattice of a whole story.
constexpr size_t kThreadsRoom = size_t{160} << 20;
constexpr size_t kBpeRoom = 8, kUnigramRoom = 48, kLatticeRoom = 2048;

// The BPE trainer of SentencePiece ends the process at a word of 65,536 characters. Normalisation may make a
// few of one, so longer stretches without a space than this get one.
constexpr size_t kMaxTrainedWord = size_t{1} << 14;

void split_long_words(std::string& text) {
  if (text.size() <= kMaxTrainedWord) return;
  std::string out;
  size_t word = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // a character
    if (is_text_space(c)) {
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
  Sentences(const std::function<bool(std::string&)>& next, TokenizerKind kind) : next_(next), kind_(kind) { Next(); }
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
    const size_t room = kThreadsRoom + (kind_ == TokenizerKind::bpe ? kBpeRoom * bytes_
                                                                    : kUnigramRoom * bytes_ + kLatticeRoom * longest_);
    if (!room_for(room))
      throw Error({.what = "there is no memory to train a tokenizer on " + std::to_string(bytes_) + " bytes of text",
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
    bad_argument("`vocab=" + vocab + "`", "the text has too few different words for " + vocab + " pieces",
                 "at most " + most, "more text, or `vocab=" + most + "`");
  if (!least.empty())
    bad_argument(
        "`vocab=" + vocab + "`", vocab + " pieces are too few for the characters of the text", "at least " + least,
        options.byte_fallback ? "a larger `vocab`, or `byte_fallback=false` (saves 256 pieces)" : "a larger `vocab`");
  throw Error({.code = ErrorCode::usage, .what = "cannot train the tokenizer: " + message});
}

}  // namespace

Tokenizer Tokenizer::train(const std::function<bool(std::string&)>& next, const TokenizerOptions& options) {
  silence_sentencepiece();
  Sentences sentences(next, options.kind);
  if (sentences.done()) throw Error({.code = ErrorCode::bad_file, .what = "there is no text to train a tokenizer on"});
  if (options.vocab > kMaxPieces)
    bad_argument("vocab", "a vocabulary of " + std::to_string(options.vocab) + " is too large",
                 "at most " + std::to_string(kMaxPieces));
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
      {"minloglevel", std::to_string(kSentencePieceSilent)}};
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

}  // namespace glint

#include "glint/data/text_data.h"

#include <filesystem>
#include <vector>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/base/utf8.h"
#include "glint/data/story_file.h"
#include "glint/data/tales.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

std::string checksum_of(const TextData& data) {
  return sha256_hex(
      as_bytes(data.train.tokenizer_hash() + "\n" + data.train.checksum() + "\n" + data.valid.checksum() + "\n"));
}

Corpus tell(const TextDataOptions& options, TextEncoder& encoder, const Tokenizer& tokenizer, uint64_t first,
            size_t count) {
  std::vector<std::vector<TokenId>> stories(count);
  for (size_t i = 0; i < count; i++) encoder.encode(tale(options.tale_seed, first + i), stories[i]);
  return Corpus::parse(corpus_bytes(stories, tokenizer.size(), tokenizer.sha256()), kTales);
}

TextData make_tales(const TextDataOptions& options) {
  if (options.tale_train == 0 || options.tale_valid == 0)
    throw Error({.code = ErrorCode::usage, .what = "cannot tell 0 tales", .expected = "at least 1 of each"});
  TextData data;
  data.name = kTales;
  data.origin = "built in, seed " + std::to_string(options.tale_seed);
  uint64_t next = 0;
  // The tales are ASCII: bytes as a last resort would only take pieces away.
  data.tokenizer = Tokenizer::train(
      [&](std::string& text) {
        if (next == options.tale_train) return false;
        text = tale(options.tale_seed, next++);
        return true;
      },
      {.vocab = options.tale_vocab, .byte_fallback = false, .coverage = 1});
  TextEncoder encoder(data.tokenizer);
  data.train = tell(options, encoder, data.tokenizer, 0, options.tale_train);
  data.valid = tell(options, encoder, data.tokenizer, kTaleValidStart, options.tale_valid);
  data.end = data.tokenizer.end();
  data.checksum = checksum_of(data);
  return data;
}

Corpus corpus_of(TokenStories stories, size_t vocab, const std::string& tokenizer_hash, const std::string& part) {
  try {
    if (stories.empty())
      throw Error({.code = ErrorCode::usage, .what = "there are no stories", .expected = "at least one"});
    return Corpus::parse(corpus_bytes(stories, vocab, tokenizer_hash), "memory", CorpusCheck::content);
  } catch (const Error& e) {
    ErrorParts parts = e.parts();
    parts.where = part + (parts.where.empty() ? "" : ", " + parts.where);
    throw Error(parts);
  }
}

TextData text_data_of(TokenStories train, TokenStories valid, const Vocabulary& vocabulary,
                      const std::string& tokenizer_hash, const std::string& name) {
  if (vocabulary.size < 2 || vocabulary.end >= vocabulary.size)
    bad_argument(
        "vocabulary",
        "the end token " + std::to_string(vocabulary.end) + " in a vocabulary of " + std::to_string(vocabulary.size),
        "at least 2 tokens, and the end token one of them");
  TextData data;
  data.name = name;
  data.origin = "memory";
  data.train = corpus_of(train, vocabulary.size, tokenizer_hash, "train");
  data.valid = corpus_of(valid, vocabulary.size, tokenizer_hash, "valid");
  data.end = vocabulary.end;
  data.checksum = checksum_of(data);
  return data;
}

void require(const Tokenizer& tokenizer) {
  if (tokenizer.empty()) bad_argument("tokenizer", "the tokenizer holds nothing", "one that was read or trained");
}

std::vector<std::vector<TokenId>> encoded(std::span<const std::string> texts, TextEncoder& encoder) {
  std::vector<std::vector<TokenId>> stories(texts.size());
  for (size_t i = 0; i < texts.size(); i++) {
    std::string text = texts[i];
    repair_utf8(text);
    encoder.encode(text, stories[i]);
  }
  return stories;
}

std::string in(const std::string& folder, const char* file) { return (fs::path(folder) / file).string(); }

}  // namespace

void check_fits(const Corpus& corpus, const Tokenizer& tokenizer, const std::string& corpus_path,
                const std::string& tokenizer_path) {
  if (corpus.tokenizer_hash() != tokenizer.sha256() || corpus.vocab() != tokenizer.size())
    bad_file(corpus_path, "the corpus was made with another tokenizer",
             "that of " + tokenizer_path + " (SHA-256 " + tokenizer.sha256() + ")",
             "`tokenize(TEXT, tokenizer=" + tokenizer_path + ", out=DIR)`");
}

bool has_corpus_files(const std::string& folder) {
  std::error_code ignored;
  for (const char* file : {kTokenizerFile, kTrainFile, kValidFile, kCorpusInfoFile})
    if (fs::is_regular_file(fs::path(folder) / file, ignored)) return true;
  return false;
}

bool is_text_data(const std::string& name_or_dir) { return name_or_dir == kTales || has_corpus_files(name_or_dir); }

TextData load_text_data(const std::string& name_or_dir, const TextDataOptions& options) {
  if (name_or_dir == kTales) return make_tales(options);
  std::error_code ignored;
  if (!fs::is_directory(name_or_dir, ignored)) {
    const bool path_like = name_or_dir.find('/') != std::string::npos;
    if (path_like) exists(name_or_dir);  // an Error of its own when the system does not tell
    const bool file = fs::exists(name_or_dir, ignored);
    throw Error({.code = path_like || file ? ErrorCode::bad_file : ErrorCode::usage,
                 .what = file        ? "this is a file, not a tokenized corpus"
                         : path_like ? "no such folder"
                                     : "no text is called " + name_or_dir,
                 .where = path_like || file ? name_or_dir : "data",
                 .expected = "tales, or a folder that `tokenize()` made",
                 .hint = file ? "`tokenize(" + name_or_dir + ", out=DIR)`, then `data=DIR`"
                              : "`tokenize(TEXT, out=" + name_or_dir + ")`"});
  }
  std::string missing;
  for (const char* file : {kTokenizerFile, kTrainFile, kValidFile})
    if (!fs::is_regular_file(in(name_or_dir, file), ignored)) {
      exists(in(name_or_dir, file));
      missing += (missing.empty() ? " (no " : ", ") + std::string(file);
    }
  if (!missing.empty())
    bad_file(name_or_dir + missing + ")", "the folder is not a tokenized corpus",
             "tokenizer.model, train.bin and valid.bin", "`tokenize(TEXT, out=" + name_or_dir + ")`");
  TextData data;
  data.name = data.origin = name_or_dir;
  data.tokenizer = Tokenizer::read(in(name_or_dir, kTokenizerFile));
  data.train = Corpus::open(in(name_or_dir, kTrainFile), options.check);
  data.valid = Corpus::open(in(name_or_dir, kValidFile), options.check);
  for (const auto& [corpus, file] : {std::pair(&data.train, kTrainFile), std::pair(&data.valid, kValidFile)}) {
    check_fits(*corpus, data.tokenizer, in(name_or_dir, file), in(name_or_dir, kTokenizerFile));
    if (corpus->stories() == 0)
      bad_file(in(name_or_dir, file), "the corpus has no stories", "at least one",
               "`tokenize(TEXT, out=" + name_or_dir + ", force=true)`");
  }
  data.end = data.tokenizer.end();
  data.checksum = checksum_of(data);
  return data;
}

TextData make_text_data(std::span<const std::string> train, std::span<const std::string> valid,
                        const Tokenizer& tokenizer, const std::string& name) {
  require(tokenizer);
  TextEncoder encoder(tokenizer);
  const std::vector<std::vector<TokenId>> train_ids = encoded(train, encoder), valid_ids = encoded(valid, encoder);
  return make_text_data(train_ids, valid_ids, tokenizer, name);
}

TextData make_text_data(TokenStories train, TokenStories valid, const Tokenizer& tokenizer, const std::string& name) {
  require(tokenizer);
  TextData data = text_data_of(train, valid, {tokenizer.size(), tokenizer.end()}, tokenizer.sha256(), name);
  data.tokenizer = tokenizer;
  return data;
}

TextData make_text_data(TokenStories train, TokenStories valid, const Vocabulary& vocabulary, const std::string& name) {
  return text_data_of(train, valid, vocabulary, std::string(kNoTokenizer), name);
}

}  // namespace glint

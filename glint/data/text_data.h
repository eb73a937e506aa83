// Text for language models: the built-in tales, a folder that `glint tokenize` made, or what a program has in
// memory.
//
//   DIR/tokenizer.model  DIR/train.bin  DIR/valid.bin  DIR/corpus.json (counts, options, sources, checksums)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/data/batches.h"
#include "glint/data/corpus.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

class ThreadPool;

struct TextData {
  std::string name;     // "tales", the folder as it was given, or the name of what was in memory
  Tokenizer tokenizer;  // empty when the data came as ids of no tokenizer
  Corpus train, valid;
  TokenId end = 0;  // begins and ends every row
  // SHA-256 of the three checksums (tokenizer, train, valid), a line each. Hex.
  std::string checksum;
  std::string origin;  // the folder, "built in" or "memory"
  size_t vocab() const { return train.vocab(); }
};

// Rows as a model that is trained on these stories reads them: after what its tokenizer puts before a text, or
// after the end piece, and with the end at the end.
inline TextRows story_rows(const TextData& data, size_t context) {
  return {data.tokenizer.empty() ? std::span<const TokenId>() : data.tokenizer.prefix(), data.end, context};
}

struct TextDataOptions {
  uint64_t tale_seed = 0;  // the tales are the same for every training seed unless this is set
  size_t tale_train = 2000, tale_valid = 200, tale_vocab = 512;
  CorpusCheck check = CorpusCheck::full;
};

inline constexpr const char* kTales = "tales";
inline constexpr const char* kTokenizerFile = "tokenizer.model";
inline constexpr const char* kTrainFile = "train.bin";
inline constexpr const char* kValidFile = "valid.bin";
inline constexpr const char* kCorpusInfoFile = "corpus.json";
inline constexpr uint64_t kCorpusInfoVersion = 2;  // 1 had no checksum of the file itself

// `tales` or a folder. Error: `usage` for another word, `bad_file` for a folder that is no corpus, with the
// command that makes one, and for files that do not belong together.
TextData load_text_data(const std::string& name_or_dir, const TextDataOptions& options = {});

// From texts, encoded as those of files are: bytes that are not UTF-8 become U+FFFD. Error (usage) when there
// are none on either side, and for a text without a token.
TextData make_text_data(std::span<const std::string> train, std::span<const std::string> valid,
                        const Tokenizer& tokenizer, const std::string& name = "texts");

// What ids mean where there is no tokenizer.
struct Vocabulary {
  size_t size = 0;
  TokenId end = 0;  // begins and ends every story; not to be part of `train` and `valid`
};
// From ids, of a tokenizer or of none: then the run has no tokenizer.model. Error (usage) for empty stories,
// ids outside the vocabulary, and when there are no stories on either side.
using TokenStories = std::span<const std::vector<TokenId>>;
TextData make_text_data(TokenStories train, TokenStories valid, const Tokenizer& tokenizer,
                        const std::string& name = "tokens");
TextData make_text_data(TokenStories train, TokenStories valid, const Vocabulary& vocabulary,
                        const std::string& name = "tokens");

// True for what load_text_data would take: `tales`, or a folder with one of the files of a corpus.
bool is_text_data(const std::string& name_or_dir);
bool has_corpus_files(const std::string& folder);

// Error (bad_file) when the corpus was not made with this tokenizer.
void check_fits(const Corpus& corpus, const Tokenizer& tokenizer, const std::string& corpus_path,
                const std::string& tokenizer_path);

// A text in pieces that fit into a model's window: each token counts in one of them, and those after the
// first piece have half a window or more before them.

struct TextWindow {
  size_t first = 0, count = 0;  // tokens of the text
  size_t from = 0;              // of these, those that count
};

inline std::vector<TextWindow> text_windows(size_t tokens, size_t window) {
  std::vector<TextWindow> out;
  const size_t most = std::min(window, tokens);
  for (size_t done = 0; done < tokens;) {
    const size_t first = done == 0 ? 0 : std::min(done - window / 2, tokens - most);
    out.push_back({first, most, done - first});
    done = first + most;
  }
  return out;
}

}  // namespace glint

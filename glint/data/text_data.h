// Text for language models: the built-in tales, or a folder that `glint tokenize` made.
//
//   DIR/tokenizer.model  DIR/train.bin  DIR/valid.bin  DIR/corpus.json (counts, options, sources, checksums)
#pragma once

#include <cstdint>
#include <string>

#include "glint/data/corpus.h"
#include "glint/data/tokenizer.h"

namespace glint {

class ThreadPool;

struct TextData {
  std::string name;  // "tales", or the folder as it was given
  Tokenizer tokenizer;
  Corpus train, valid;
  // SHA-256 of the three checksums (tokenizer, train, valid), a line each. Hex.
  std::string checksum;
  std::string origin;  // the folder, or "built in"
};

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

// `tales` or a folder. Error: `usage` for another word, `bad_file` for a folder that is no corpus, with the
// command that makes one, and for files that do not belong together.
TextData load_text_data(const std::string& name_or_dir, const TextDataOptions& options = {});

// True for what load_text_data would take: `tales`, or a folder with one of the files of a corpus.
bool is_text_data(const std::string& name_or_dir);
bool has_corpus_files(const std::string& folder);

// Error (bad_file) when the corpus was not made with this tokenizer.
void check_fits(const Corpus& corpus, const Tokenizer& tokenizer, const std::string& corpus_path,
                const std::string& tokenizer_path);

}  // namespace glint

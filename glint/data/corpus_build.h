// From text files to a corpus folder: trains a tokenizer on a sample, then encodes every story, in bounded
// memory and on all threads. The files do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/threads.h"
#include "glint/data/story_file.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

struct BuildProgress {
  enum class Stage { copy, sample, train, encode };  // copy: what cannot be read twice
  Stage stage = Stage::sample;
  uint64_t stories = 0;
  uint64_t bytes = 0;            // of text
  uint64_t done = 0, total = 0;  // bytes of the files, or tales; total 0: not known
};

struct CorpusBuild {
  std::vector<std::string> texts = {};  // "-": stdin
  std::vector<std::string> valid_texts = {};
  size_t tales = 0;            // instead of texts: so many built-in tales
  double valid_share = 0.02;   // of the stories of `texts`, when there are no valid_texts: evenly spread
  std::string out = {};        // the folder
  std::string tokenizer = {};  // a file; "": train one
  TokenizerOptions training = {};
  size_t sample = 100000;                                 // stories that the tokenizer is trained on
  uint64_t seed = 0;                                      // of the sample and of the tales
  bool force = false;                                     // replace a corpus that is there
  std::function<bool(const BuildProgress&)> report = {};  // false: stop, with Error (interrupted)
};

struct CorpusPart {
  StoryCounts counts;
  uint64_t stories = 0, tokens = 0, unknown = 0, byte_pieces = 0;
  uint64_t cut = 0;            // stories whose row is cut at a context of kSummaryContext
  size_t median = 0, p95 = 0;  // tokens per story
  std::string checksum = {};
};
inline constexpr size_t kSummaryContext = 256;

struct CorpusBuildResult {
  Tokenizer tokenizer;
  bool trained = false;
  uint64_t sampled = 0;
  CorpusPart train, valid;
  double train_seconds = 0, encode_seconds = 0;  // of the tokenizer; of all stories
};

// Writes tokenizer.model, train.bin, valid.bin and, last, corpus.json. Error (usage) when the folder holds a
// corpus already and `force` is not set, or a run; Error (bad_file) for what is wrong with a file or when
// there are no stories. That all files can be read is checked before any work, and a folder that was made for
// nothing goes away again.
CorpusBuildResult build_corpus(FileSystem& files, ThreadPool& pool, const CorpusBuild& build);

}  // namespace glint

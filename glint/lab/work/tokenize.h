// From text files to a corpus that language models are trained on.
#pragma once

#include <string>

#include "glint/data/corpus_build.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"

namespace glint {

struct TokenizeResult {
  std::string out;  // the folder
  CorpusBuildResult build;

  double stories_per_second() const;  // that were encoded
  double bytes_per_second() const;
};

// A part of a whole; 0 of nothing.
double share_of(uint64_t part, uint64_t whole);

// Writes the corpus into request.out; `report` of the request is not used, the engine is told. Error (usage)
// without a text, with texts and tales, and without a folder.
TokenizeResult tokenize(const Engine& engine, const CorpusBuild& request);
OrderedJson to_json(const TokenizeResult& result);

}  // namespace glint

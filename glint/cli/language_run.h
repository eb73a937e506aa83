// A finished run of a language model and its tokenizer, for the verbs that use it.
#pragma once

#include <string>

#include "glint/data/tokenizer.h"
#include "glint/model/language_file.h"

namespace glint::cli {

struct LanguageRun {
  std::string directory;
  LanguageModel model;
  Tokenizer tokenizer;
};

// Error (bad_file) for what is no run of a language model, for a run that has no weights yet, and for a
// tokenizer that is not the one of the run.
LanguageRun load_language_run(const std::string& directory);

}  // namespace glint::cli

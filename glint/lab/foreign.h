// Language models of other programs: files and folders that other programs wrote, with their tokenizers. They
// are taken wherever a run is, by their path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/data/tokenizer.h"
#include "glint/lab/engine.h"
#include "glint/model/family_pass.h"

namespace glint {

// Whether the path is a model of another program: a file of weights, or a folder whose config.json names a
// family. False for what glint wrote, and for what is no model at all.
bool is_foreign(const std::string& path);

// Where the results of a model of another program go unless it is said: "stories15M-reading", in the folder
// where the program is.
std::string reading_folder(const std::string& path);

// Error (bad_file) when it is one: `what` cannot take such a model yet.
void refuse_foreign(const std::string& path, const std::string& what);

// Error (bad_file) for a mixture of experts, where all of a model would be run or read.
[[noreturn]] void refuse_mixture(const std::string& path);

struct ForeignModel {
  std::string path;
  FamilyModel model;
  Tokenizer tokenizer;                     // empty: there is none
  std::optional<ErrorParts> refused = {};  // why the one that lies there is not used
  std::vector<TokenId> ends() const;       // tokens that end a text: EOS and BOS
  // What the model reads for a text: the tokenizer's own beginning, then the text; no end.
  std::vector<TokenId> tokens(const std::string& text) const;
  size_t window() const { return model.window(); }
};

// `tokenizer`: a file instead of the one inside the model or beside it. Error (bad_file) when it has another
// number of tokens than the model, or other tokens than the model's own tokenizer, or when there is none and
// `needed`. When it is not needed, one that lies there and is wrong counts as none: `refused`.
ForeignModel open_foreign(const std::string& path, const std::string& tokenizer = {}, bool needed = true);
// Error (bad_file) when there is none.
void need_tokenizer(const ForeignModel& model);
// Says that the tokenizer that lies there is not used, where that is so.
void note_tokenizer(const Engine& engine, const ForeignModel& model);

}  // namespace glint

// Stories one after the other as the tokens that a language model reads, whatever they come from: a file,
// texts in memory, the stories of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/data/story_file.h"
#include "glint/data/text_data.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/work/engine.h"

namespace glint {

class StorySource {
 public:
  // `texts` where there are any; else the file `data`; else the stories that the run is measured on. Keeps
  // references. Error (bad_file) for a file that cannot be read.
  StorySource(LanguageRun& run, const std::vector<std::string>& texts, const std::string& data);

  // With the marks that begin a story; false at the end. Stories without a token are left out.
  bool next(std::vector<TokenId>& tokens);
  size_t marks() const { return marks_.size(); }  // that begin every story
  const std::string& name() const { return name_; }

  // How far it is, in what: bytes of a file, else stories.
  uint64_t done() const;
  uint64_t total() const { return total_; }
  const char* unit() const { return reader_ ? "bytes" : "stories"; }

 private:
  bool next_story(std::vector<TokenId>& tokens);

  LanguageRun& run_;
  const std::vector<std::string>& texts_;
  std::optional<StoryReader> reader_;
  std::vector<TokenId> marks_;
  std::string name_;
  uint64_t next_ = 0, total_ = 0;
};

// The text that a language model is read on when that is no corpus: the stories of a file, or the built-in
// tales.

// `train` has stories that calibrate and `valid` stories that readings are measured on, about `tokens` tokens
// each; no token is in both. The stories of a file go to the two by turns, those longer than `longest` tokens
// piece by piece; a text of one piece is cut in the middle. "" and "tales" are the built-in tales. Error
// (bad_file) for a text that is too short.
TextData reading_text(const Engine& engine, const std::string& file, const Tokenizer& tokenizer, size_t tokens,
                      size_t longest);

}  // namespace glint

// Stories one after the other as the tokens that a language model reads, whatever they come from: a file,
// texts in memory, the stories of a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "glint/data/story_file.h"
#include "glint/lab/models/language_run.h"

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

}  // namespace glint

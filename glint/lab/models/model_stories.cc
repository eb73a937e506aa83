#include "glint/lab/models/model_stories.h"

#include <filesystem>

#include "glint/base/utf8.h"

namespace glint {

StorySource::StorySource(LanguageRun& run, const std::vector<std::string>& texts, const std::string& data)
    : run_(run), texts_(texts), marks_(run.beginning()) {
  std::error_code ignored;
  if (!texts.empty()) {
    name_ = texts.size() == 1 ? "the text" : "the texts";
    total_ = texts.size();
  } else if (std::filesystem::is_regular_file(data, ignored)) {
    name_ = printable(data);
    total_ = repeatable_size(data);
    reader_.emplace(data);
  } else {
    name_ = run.samples();
    total_ = run.stories().valid.stories();
  }
}

uint64_t StorySource::done() const { return reader_ ? reader_->consumed() : next_; }

bool StorySource::next_story(std::vector<TokenId>& tokens) {
  if (reader_) {
    std::string story;
    if (!reader_->next(story)) return false;
    tokens = run_.tokenizer().encode(story);
    return true;
  }
  if (next_ == total_) return false;
  const uint64_t at = next_++;
  if (!texts_.empty()) {
    std::string text = texts_[at];
    repair_utf8(text);
    tokens = run_.tokenizer().encode(text);
  } else {
    tokens = run_.stories().valid.story(at).ids();
  }
  return true;
}

bool StorySource::next(std::vector<TokenId>& tokens) {
  do
    if (!next_story(tokens)) return false;
  while (tokens.empty());
  tokens.insert(tokens.begin(), marks_.begin(), marks_.end());
  return true;
}

}  // namespace glint

#include "glint/lab/models/model_stories.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/data/story_file.h"
#include "glint/data/tales.h"

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

namespace {

using Stories = std::vector<std::vector<TokenId>>;

// The two halves of what is read, each filled up to a number of tokens.
class TextHalves {
 public:
  TextHalves(size_t tokens, size_t longest) : tokens_(tokens), longest_(std::max<size_t>(longest, 2)) {}

  bool full(size_t half) const { return count_[half] >= tokens_; }
  // A story, or its pieces, to the half whose turn it is.
  void add(std::vector<TokenId> ids) {
    for (size_t first = 0; first < ids.size() && !(full(0) && full(1)); first += longest_)
      add_piece(turn_++ % 2, std::span(ids).subspan(first, std::min(longest_, ids.size() - first)));
  }
  void add_piece(size_t half, std::span<const TokenId> piece) {
    if (piece.size() < 2 || full(half)) return;
    halves_[half].emplace_back(piece.begin(), piece.end());
    count_[half] += piece.size();
  }
  // One piece is all there is: its two halves.
  void cut_single() {
    if (!halves_[1].empty() || halves_[0].size() != 1 || halves_[0][0].size() < 4) return;
    const std::vector<TokenId> all = std::move(halves_[0][0]);
    halves_[0].clear(), count_[0] = 0;
    add_piece(0, std::span(all).first(all.size() / 2));
    add_piece(1, std::span(all).subspan(all.size() / 2));
  }
  const Stories& operator[](size_t half) const { return halves_[half]; }

 private:
  size_t tokens_, longest_, turn_ = 0, count_[2] = {};
  Stories halves_[2];
};

void add_file(const Engine& engine, const std::string& path, const Tokenizer& tokenizer, TextHalves& halves) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    bad_argument(path, "this is a folder, not a text",
                 "a file with text; stories are separated by " + std::string(kEndOfText));
  StoryReader reader(path);
  for (std::string story; !(halves.full(0) && halves.full(1)) && reader.next(story);) {
    engine.check_stop();
    halves.add(tokenizer.encode(story));
  }
  halves.cut_single();
  if (halves[1].empty()) bad_file(path, "the text is too short to measure on", "a few stories");
}

}  // namespace

TextData reading_text(const Engine& engine, const std::string& file, const Tokenizer& tokenizer, size_t tokens,
                      size_t longest) {
  TextHalves halves(tokens, longest);
  const bool tales = file.empty() || file == kTales;
  if (tales) {
    for (size_t half = 0; half < 2; half++)
      for (uint64_t i = half * kTaleValidStart; !halves.full(half); i++) {
        const std::vector<TokenId> ids = tokenizer.encode(tale(0, i));
        halves.add_piece(half, std::span(ids).first(std::min(ids.size(), longest)));
      }
  } else {
    add_file(engine, file, tokenizer, halves);
  }
  TextData data = make_text_data(halves[0], halves[1], Vocabulary{tokenizer.size(), 0}, tales ? kTales : file);
  data.tokenizer = tokenizer;
  data.origin = tales ? "built in" : file;
  return data;
}

}  // namespace glint

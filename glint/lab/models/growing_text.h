// The text of one story as it grows, in whole characters.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "glint/lab/models/generate.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

class StoryStream {
 public:
  StoryStream(const GenerateRequest& request, const Tokenizer& tokenizer, std::vector<TokenId> ids)
      : give_(request.on_text), tokenizer_(tokenizer), ids_(std::move(ids)) {
    show(false);
  }
  void add(TokenId id) {
    ids_.push_back(id);
    show(false);
  }
  void finish() { show(true); }

 private:
  void show(bool all) {
    const std::string text = tokenizer_.decode(ids_);
    size_t end = text.size();
    // Bytes of a character that is not complete yet look like this.
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    while (!all && std::string_view(text).substr(0, end).ends_with(kReplacement)) end -= kReplacement.size();
    if (end <= shown_) return;
    give_(std::string_view(text).substr(shown_, end - shown_));
    shown_ = end;
  }
  const std::function<void(std::string_view)>& give_;
  const Tokenizer& tokenizer_;
  std::vector<TokenId> ids_;
  size_t shown_ = 0;
};

}  // namespace glint

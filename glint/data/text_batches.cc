#include "glint/data/text_batches.h"

#include <algorithm>
#include <cassert>

namespace glint {

void TextRows::reserve(size_t rows) {
  ids_.reserve(rows * (context_ + 1));
  rows_.reserve(rows);
}

size_t TextRows::row_tokens(size_t length) const {
  return std::min(before_.size() + length + after_.size() - 1, context_);
}

std::span<const TokenRow> TextRows::fill(const Corpus& corpus, std::span<const uint32_t> stories) {
  tokens_ = 0;
  for (const uint32_t s : stories) tokens_ += row_tokens(corpus.story(s).size());
  // Sized before the spans are made, which must not move.
  ids_.resize(tokens_ + stories.size());
  rows_.clear();
  TokenId* at = ids_.data();
  for (const uint32_t s : stories) {
    const StoredStory story = corpus.story(s);
    const size_t n = row_tokens(story.size()), begin = before_.size();
    std::copy(before_.begin(), before_.end(), at);
    story.copy({at + begin, std::min(n + 1 - begin, story.size())});
    if (n + 1 > begin + story.size()) std::copy(after_.begin(), after_.end(), at + begin + story.size());
    rows_.push_back({{at, n}, {at + 1, n}});
    at += n + 1;
  }
  assert(at == ids_.data() + ids_.size());
  return rows_;
}

std::span<const TokenRow> TextRows::fill_first(const Corpus& corpus, size_t tokens) {
  std::vector<uint32_t> stories;
  for (size_t total = 0; stories.size() < corpus.stories() && total < tokens;) {
    stories.push_back(static_cast<uint32_t>(stories.size()));
    total += row_tokens(corpus.story(stories.back()).size());
  }
  return fill(corpus, stories);
}

}  // namespace glint

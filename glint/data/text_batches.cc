#include "glint/data/text_batches.h"

#include <algorithm>
#include <cassert>

namespace glint {

void TextRows::reserve(size_t rows) {
  ids_.reserve(rows * (context_ + 1));
  rows_.reserve(rows);
}

std::span<const TextRow> TextRows::fill(const Corpus& corpus, std::span<const uint32_t> stories) {
  tokens_ = 0;
  for (const uint32_t s : stories) tokens_ += text_row_tokens(corpus.story(s).size(), context_);
  // Sized before the spans are made, which must not move.
  ids_.resize(tokens_ + stories.size());
  rows_.clear();
  uint16_t* at = ids_.data();
  for (const uint32_t s : stories) {
    const std::span<const uint16_t> story = corpus.story(s);
    const size_t n = text_row_tokens(story.size(), context_);
    *at = end_;
    std::copy_n(story.data(), std::min(n, story.size()), at + 1);
    if (n > story.size()) at[n] = end_;
    rows_.push_back({{at, n}, {at + 1, n}});
    at += n + 1;
  }
  assert(at == ids_.data() + ids_.size());
  return rows_;
}

}  // namespace glint

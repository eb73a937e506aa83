#include "glint/data/batches.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>

#include "glint/base/error.h"
#include "glint/base/rng.h"

namespace glint {

std::vector<uint32_t> epoch_order(uint64_t seed, uint32_t epoch, size_t n) {
  if (n > std::numeric_limits<uint32_t>::max())
    throw Error({.code = ErrorCode::usage,
                 .what = "a set of " + std::to_string(n) + " samples is too large",
                 .expected = "below 2^32 samples"});
  return Rng(seed, Stream::shuffle, epoch).permutation(static_cast<uint32_t>(n));
}

size_t batch_count(size_t n, size_t batch_size, LastBatch last) {
  const size_t whole = batch_size == 0 ? 0 : n / batch_size;
  const bool partial = batch_size != 0 && n % batch_size != 0 && last == LastBatch::keep;
  if (whole + partial == 0)
    bad_argument("batch", "no batch of " + std::to_string(batch_size) + " in " + std::to_string(n) + " samples",
                 "1 to " + std::to_string(n));
  return whole + partial;
}

BatchRange batch_range(size_t n, size_t batch_size, size_t index) {
  assert(batch_size > 0 && index <= (n - 1) / batch_size);
  const size_t first = index * batch_size;
  return {first, std::min(batch_size, n - first)};
}

std::span<const uint32_t> batch_of(std::span<const uint32_t> order, size_t batch_size, size_t index) {
  const BatchRange range = batch_range(order.size(), batch_size, index);
  return order.subspan(range.first, range.count);
}

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

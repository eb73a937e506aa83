// Which samples a training step sees: one shuffle per epoch, cut into batches of equal size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glint/data/corpus.h"

namespace glint {

// A permutation of 0..n-1 that depends on (seed, epoch, n) alone, so that a run resumes at any epoch.
std::vector<uint32_t> epoch_order(uint64_t seed, uint32_t epoch, size_t n);

struct BatchRange {
  size_t first = 0, count = 0;
};

enum class LastBatch { drop, keep };  // what to do with a last batch that is not full

// Error (usage) when there is not one batch to give: batch_size 0, or above n with `drop`.
size_t batch_count(size_t n, size_t batch_size, LastBatch last);
BatchRange batch_range(size_t n, size_t batch_size, size_t index);

// The samples of batch `index` of an epoch.
std::span<const uint32_t> batch_of(std::span<const uint32_t> order, size_t batch_size, size_t index);

// Rows that a language model is trained on: one story per row, begun and ended by the end piece, cut at
// `context`.
//
//   input  = [end, t0, t1, ..., tn]      target = [t0, t1, ..., tn, end]
//
// With a tokenizer that puts something else before a text that begins the input. A model of another program reads a story after what its tokenizer puts there, and no end:
//
//   input  = [begin, t0, ..., tn-1]      target = [t0, t1, ..., tn]

// Tokens of the row of a story of `length` ids: at most context.
inline size_t text_row_tokens(size_t length, size_t context) { return length + 1 < context ? length + 1 : context; }

// The rows of one batch, in a buffer that is used again: batches allocate nothing once it is large enough.
class TextRows {
 public:
  TextRows(TokenId end, size_t context) : before_(1, end), after_(1, end), context_(context) {}
  TextRows(std::span<const TokenId> before, TokenId end, size_t context)
      : before_(before.begin(), before.end()), after_(1, end), context_(context) {
    if (before_.empty()) before_ = after_;
  }
  TextRows(std::span<const TokenId> before, size_t context)
      : before_(before.begin(), before.end()), context_(context) {}

  // Rows of these stories, in this order, of 1 to context tokens; valid until the next call.
  std::span<const TokenRow> fill(const Corpus& corpus, std::span<const uint32_t> stories);
  // Rows of the first stories that hold `tokens` tokens together, or of all.
  std::span<const TokenRow> fill_first(const Corpus& corpus, size_t tokens);
  // The sum of the lengths of the rows in the last batch.
  size_t tokens() const { return tokens_; }
  size_t context() const { return context_; }
  // Room for any batch of that many rows.
  void reserve(size_t rows);

 private:
  size_t row_tokens(size_t length) const;

  std::vector<TokenId> before_, after_;
  size_t context_, tokens_ = 0;
  std::vector<TokenId> ids_;  // input and target of a row overlap: before, t0 ... tn, after
  std::vector<TokenRow> rows_;
};

}  // namespace glint

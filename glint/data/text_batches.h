// Rows that a language model is trained on: one story per row, begun and ended by the end piece, cut at
// `context`.
//
//   input  = [end, t0, t1, ..., tn]      target = [t0, t1, ..., tn, end]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "glint/data/corpus.h"

namespace glint {

// Tokens of the row of a story of `length` ids: at most context.
inline size_t text_row_tokens(size_t length, size_t context) {
  return length + 1 < context ? length + 1 : context;
}

// The rows of one batch, in a buffer that is used again: batches allocate nothing once it is large enough.
class TextRows {
 public:
  TextRows(TokenId end, size_t context) : end_(end), context_(context) {}

  // Rows of these stories, in this order, of 1 to context tokens; valid until the next call.
  std::span<const TokenRow> fill(const Corpus& corpus, std::span<const uint32_t> stories);
  // Rows of the first stories that hold `tokens` tokens together, or of all.
  std::span<const TokenRow> fill_first(const Corpus& corpus, size_t tokens);
  // Of the last batch: the sum of the rows' lengths.
  size_t tokens() const { return tokens_; }
  size_t context() const { return context_; }
  // Room for any batch of that many rows.
  void reserve(size_t rows);

 private:
  TokenId end_;
  size_t context_, tokens_ = 0;
  std::vector<TokenId> ids_;  // input and target of a row overlap: end, t0 ... tn, end
  std::vector<TokenRow> rows_;
};

}  // namespace glint

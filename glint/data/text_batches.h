// Rows that a language model is trained on: one story per row, begun and ended by the end piece, cut at
// `context`.
//
//   input  = [end, t0, t1, ..., tn]      target = [t0, t1, ..., tn, end]
//
// A model of another program reads a story after what its tokenizer puts there, and no end:
//
//   input  = [begin, t0, ..., tn-1]      target = [t0, t1, ..., tn]
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
  TextRows(TokenId end, size_t context) : before_(1, end), after_(1, end), context_(context) {}
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

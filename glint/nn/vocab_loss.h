// The head over a vocabulary with its loss: logits = u H^T, H [vocab, d]; loss_i = -log
// softmax(logits_i)[target_i].
//   d_logits = scale (softmax - onehot)      du = d_logits H      dH += d_logits^T u
// With a teacher the target is (1 - share) onehot + share softmax of the teacher's logits.
// The columns are cut into blocks and the rows into chunks. A chunk's exponentials are kept, block after
// block; the logits of a batch are never in memory, and exp is computed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/base/arena.h"
#include "glint/base/tokens.h"
#include "glint/nn/linear.h"

namespace glint {

class VocabHead {
 public:
  static constexpr size_t kBlock = 192;  // columns: whole panels and whole register tiles
  static constexpr size_t kRows = 144;   // the most rows of a chunk

  VocabHead() = default;
  VocabHead(const Products& products, size_t vocab, size_t d, bool training);

  size_t vocab() const { return vocab_; }
  size_t blocks() const { return blocks_.size(); }
  size_t first(size_t block) const { return block * kBlock; }
  size_t columns(size_t block) const { return blocks_[block].rows(); }
  const PackedWeights& block(size_t i) const { return blocks_[i]; }

  // The work of packing, in pieces that threads can share; h [vocab, d].
  size_t pieces() const { return pieces_; }
  void pack(const Products& products, ConstMatrixView<float> h, size_t piece);

 private:
  size_t vocab_ = 0, pieces_ = 0;
  std::vector<PackedWeights> blocks_;
};

// One worker's memory for a chunk of rows.
class VocabScratch {
 public:
  VocabScratch() = default;
  VocabScratch(Arena& arena, const VocabHead& head);
  static size_t bytes(const VocabHead& head);

  MatrixView<float> exps(size_t block, size_t rows, size_t cols) const {
    return exps_[block].row_range(0, rows).col_range(0, cols);
  }
  MatrixView<float> d_logits(size_t rows, size_t cols) const { return d_logits_.row_range(0, rows).col_range(0, cols); }
  const MatrixView<float>& top() const { return top_; }
  const MatrixView<float>& sum() const { return sum_; }
  const std::span<float>& target() const { return target_; }

 private:
  std::vector<MatrixView<float>> exps_;     // a block each: [kRows, kBlock]
  MatrixView<float> d_logits_, top_, sum_;  // [kRows, kBlock], [blocks, kRows] twice
  std::span<float> target_;                 // [kRows]
};

// Rows of a chunk, at most kRows; one thread. hit_i: the first largest logit is the target's.
void vocab_loss_forward(const Products& products, const VocabHead& head, ConstMatrixView<float> u,
                        std::span<const TokenId> targets, const VocabScratch& memory, std::span<float> losses,
                        std::span<uint8_t> hits, std::span<std::byte> scratch);
// A teacher whose forward pass of the same chunk is done.
struct VocabTeacher {
  const VocabScratch* memory = nullptr;
  float share = 0;
};

// After the forward pass of the same chunk. du is overwritten, dh is added to.
void vocab_loss_backward(const Products& products, const VocabHead& head, ConstMatrixView<float> u,
                         std::span<const TokenId> targets, float scale, const VocabScratch& memory,
                         MatrixView<float> du, MatrixView<float> dh, std::span<std::byte> scratch,
                         const VocabTeacher& teacher = {});
void vocab_logits(const Products& products, const VocabHead& head, ConstMatrixView<float> u, MatrixView<float> logits,
                  std::span<std::byte> scratch);

}  // namespace glint

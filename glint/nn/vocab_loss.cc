#include "glint/nn/vocab_loss.h"

#include "glint/base/error.h"
#include "glint/nn/embedding.h"

namespace glint {

VocabHead::VocabHead(const Products& products, size_t vocab, size_t d, bool training) : vocab_(vocab) {
  for (size_t first = 0; first < vocab; first += kBlock) {
    blocks_.emplace_back(products, std::min(kBlock, vocab - first), d, training);
    pieces_ += blocks_.back().pieces();
  }
}

void VocabHead::pack(const Products& products, ConstMatrixView<float> h, size_t piece) {
  check_argument(h.rows() == vocab_ && piece < pieces_, "VocabHead::pack", "h [vocab, d] and a piece below pieces()");
  const size_t each = blocks_[0].pieces(), i = std::min(piece / each, blocks_.size() - 1);
  blocks_[i].pack(products, h.row_range(first(i), columns(i)), piece - i * each);
}

size_t VocabScratch::bytes(const VocabHead& head) {
  return (head.blocks() + 1) * Arena::bytes_for_padded(VocabHead::kRows, VocabHead::kBlock) +
         2 * Arena::bytes_for<float>(head.blocks() * VocabHead::kRows) + Arena::bytes_for<float>(VocabHead::kRows);
}

VocabScratch::VocabScratch(Arena& arena, const VocabHead& head) {
  for (size_t i = 0; i < head.blocks(); i++) exps_.push_back(arena.padded(VocabHead::kRows, VocabHead::kBlock));
  d_logits_ = arena.padded(VocabHead::kRows, VocabHead::kBlock);
  top_ = arena.matrix<float>(head.blocks(), VocabHead::kRows);
  sum_ = arena.matrix<float>(head.blocks(), VocabHead::kRows);
  target_ = arena.alloc<float>(VocabHead::kRows);
}

void vocab_loss_forward(const Products& products, const VocabHead& head, ConstMatrixView<float> u,
                        std::span<const TokenId> targets, const VocabScratch& memory, std::span<float> losses,
                        std::span<uint8_t> hits, std::span<std::byte> scratch) {
  const Kernels& k = products.kernels();
  const size_t rows = u.rows();
  check_argument(rows <= VocabHead::kRows && targets.size() == rows && losses.size() == rows && hits.size() == rows,
                 "vocab_loss_forward", "at most kRows rows, each with a target, a loss and a hit");
  check_tokens(targets, head.vocab());
  for (size_t b = 0; b < head.blocks(); b++) {
    const size_t first = head.first(b), cols = head.columns(b);
    const MatrixView<float> x = memory.exps(b, rows, cols);
    linear_forward(products, u, head.block(b), x, scratch);
    for (size_t i = 0; i < rows; i++) {
      if (targets[i] < first || targets[i] >= first + cols) continue;
      const float* row = x.row_ptr(i);
      const size_t target = targets[i] - first;
      memory.target()[i] = row[target];
      bool beaten = !(row[target] == row[target]);
      for (size_t j = 0; j < target; j++) beaten |= row[j] >= row[target];
      for (size_t j = target + 1; j < cols; j++) beaten |= row[j] > row[target];
      hits[i] = !beaten;
    }
    k.exp_rows(rows, cols, x.data(), x.stride(), memory.top().row_ptr(b), memory.sum().row_ptr(b));
  }
  for (size_t b = 0; b < head.blocks(); b++) {
    const float* top = memory.top().row_ptr(b);
    for (size_t i = 0; i < rows; i++) {
      const size_t own = targets[i] / VocabHead::kBlock;
      if (b < own ? top[i] >= memory.target()[i] : b > own && top[i] > memory.target()[i]) hits[i] = 0;
    }
  }
  k.xent_from_blocks(rows, head.blocks(), memory.top().stride(), memory.top().data(), memory.sum().data(),
                     memory.target().data(), losses.data());
}

void vocab_loss_backward(const Products& products, const VocabHead& head, ConstMatrixView<float> u,
                         std::span<const TokenId> targets, float scale, const VocabScratch& memory,
                         MatrixView<float> du, MatrixView<float> dh, std::span<std::byte> scratch,
                         const VocabTeacher& teacher) {
  const Kernels& k = products.kernels();
  const size_t rows = u.rows();
  check_argument(rows <= VocabHead::kRows && targets.size() == rows && du.rows() == rows && dh.rows() == head.vocab(),
                 "vocab_loss_backward", "the rows of the forward pass, du [rows, d], dh [vocab, d]");
  for (size_t b = 0; b < head.blocks(); b++) {
    const size_t first = head.first(b), cols = head.columns(b);
    const MatrixView<float> exps = memory.exps(b, rows, cols), d = memory.d_logits(rows, cols);
    float* factor = memory.sum().row_ptr(b);
    for (size_t i = 0; i < rows; i++) factor[i] *= scale;
    k.scale_rows(rows, cols, factor, exps.data(), exps.stride(), d.data(), d.stride());
    for (size_t i = 0; i < rows; i++)
      if (targets[i] >= first && targets[i] < first + cols) d(i, targets[i] - first) -= scale * (1 - teacher.share);
    if (teacher.memory) {
      const MatrixView<float> theirs = teacher.memory->exps(b, rows, cols);
      const float* their_factor = teacher.memory->sum().row_ptr(b);
      for (size_t i = 0; i < rows; i++) {
        const float by = their_factor[i] * scale * teacher.share;
        for (size_t j = 0; j < cols; j++) d(i, j) -= by * theirs(i, j);
      }
    }
    linear_backward(products, d, head.block(b), du, b > 0, scratch);
    weight_gradient(products, d, u, dh.row_range(first, cols), true, scratch);
  }
}

void vocab_logits(const Products& products, const VocabHead& head, ConstMatrixView<float> u, MatrixView<float> logits,
                  std::span<std::byte> scratch) {
  check_argument(logits.rows() == u.rows() && logits.cols() == head.vocab(), "vocab_logits",
                 "logits [rows of u, vocab]");
  for (size_t b = 0; b < head.blocks(); b++)
    linear_forward(products, u, head.block(b), logits.col_range(head.first(b), head.columns(b)), scratch);
}

}  // namespace glint

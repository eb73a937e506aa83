// One sequence through the language model, forward and backward, on one thread: what each worker of the
// engine has. Within a layer, rows go in chunks through norm, products, gate and gradients of the weights
// while they are in L2; only attention takes the sequence as a whole. Error (numeric) when a sum or a product
// overflows. The engine checks what its caller gives; here that is taken for granted.
#pragma once

#include "glint/model/family_pass.h"
#include "glint/model/transformer.h"
#include "glint/nn/attention.h"
#include "glint/nn/rotary.h"
#include "glint/nn/vocab_loss.h"

namespace glint {

// The weights as the products want them; shared by all workers.
struct TransformerWeights {
  TransformerWeights(const TransformerConfig& config, const Products& products, bool training);

  struct Block {
    PackedWeights qkv, o, mlp_w, mlp_p;
    std::span<const float> qkv_bias = {}, q_norm = {}, k_norm = {};
  };
  ConstMatrixView<float> wte;
  std::vector<Block> blocks;
  VocabHead head;
  RotaryTable rotary;
  Attention attention;
};

class SequencePass {
 public:
  SequencePass(const TransformerConfig& config, const TransformerParams& params, const TransformerWeights& weights,
               const Products& products, bool training);

  // Losses of the row's tokens, and how many were predicted.
  uint64_t forward(const TokenRow& row, std::span<float> losses, std::span<std::byte> scratch);
  // The same, and adds scale times the gradient of the sum of the losses to `gradients`.
  uint64_t forward_backward(const TokenRow& row, float scale, std::span<float> losses, std::span<float> gradients,
                            std::span<std::byte> scratch);
  // From now on the backward pass aims at the target and, by `share`, at what this other pass says of the row.
  void learn_from(SequencePass& teacher, float share) { teacher_ = &teacher, share_ = share; }
  // `halves`: both products of the GLU, [tokens, 2h]; may be empty.
  void trace(std::span<const TokenId> tokens, size_t layer, MatrixView<float> mlp_input, MatrixView<float> halves,
             std::span<std::byte> scratch);
  void logits(std::span<const TokenId> tokens, MatrixView<float> out, std::span<std::byte> scratch);
  // The last of the tokens.
  ResidualTrace follow(std::span<const TokenId> tokens, std::span<std::byte> scratch);

 private:
  // What the backward pass needs of a layer: [context, ...], inverse and lse [context], [heads, context]. With norms
  // of queries and keys these as they are before the weights, [context, q + k], and their [heads of both, context].
  struct Layer {
    MatrixView<float> u1, qkv, a, u2, z, y, lse, qk, qk_inverse;
    std::span<float> inverse1, inverse2;
  };
  void normalise(MatrixView<float> x, MatrixView<float> u, std::span<float> inverse) const;
  static size_t layer_bytes(const TransformerConfig& config);
  Range chunk(size_t index) const;
  size_t chunks() const;
  const Layer& layer(size_t i) const { return layers_[training_ ? i : 0]; }

  void embed(std::span<const TokenId> tokens);
  // A block: attention over the whole sequence, then its output projection and the GLU, chunk by chunk.
  // `last`, when given, is told of the last token.
  void block_forward(size_t i, std::span<std::byte> scratch, ResidualTrace* last = nullptr);
  void attention_forward(size_t i, std::span<std::byte> scratch);
  void head_norms_forward(size_t i, Range rows);
  void head_norms_backward(size_t i, Range rows, std::span<float> gradients);
  void projection_forward(size_t i, Range rows, std::span<std::byte> scratch);
  void mlp_forward(size_t i, Range rows, std::span<std::byte> scratch);
  void blocks_forward(size_t count, std::span<std::byte> scratch, ResidualTrace* last = nullptr);
  void check_numbers(size_t i) const;
  void block_backward(size_t i, std::span<float> gradients, std::span<std::byte> scratch);
  void mlp_backward(size_t i, Range rows, std::span<float> gradients, std::span<std::byte> scratch);
  void projection_backward(size_t i, Range rows, std::span<float> gradients, std::span<std::byte> scratch);
  void attention_backward(size_t i, std::span<float> gradients, std::span<std::byte> scratch);
  // dx += the gradient through u = norm(x); du is overwritten.
  void add_norm_gradient(MatrixView<float> u, std::span<const float> inverse, Range rows, MatrixView<float> du);
  MatrixView<float> temporary(Range rows, size_t width) const;
  MatrixView<float> final_norm(Range rows);
  // The scores of rows whose blocks are done, for a pass that learns from this one.
  const VocabScratch& scores(Range rows, std::span<const TokenId> targets, std::span<std::byte> scratch);
  uint64_t head(const TokenRow& row, float scale, std::span<float> losses, std::span<float> gradients,
                std::span<std::byte> scratch);

  const TransformerConfig& config_;
  const TransformerParams& params_;
  const TransformerWeights& weights_;
  const Products& products_;
  bool training_;
  SequencePass* teacher_ = nullptr;
  float share_ = 0;
  size_t tokens_ = 0;  // of the sequence at hand

  Arena arena_;
  MatrixView<float> x_;  // the residual stream
  std::vector<Layer> layers_;
  MatrixView<float> final_, temporary_;  // of a chunk: [kRows, d], [kRows, d or h]
  std::span<float> final_inverse_;
  MatrixView<float> dx_, da_, d_qkv_;  // [context, ...]
  std::span<uint8_t> hits_;            // of a chunk
  VocabScratch vocab_;
  std::span<float> attention_scratch_;
};

}  // namespace glint

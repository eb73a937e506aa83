// Next-token logits of many stories at once, one token per step, with the keys and values of the tokens
// before kept (a KV cache). What a story computes does not depend on the other stories, on their number or on
// the threads: every sum has an order of its own.
//
// A slot holds one story: per layer and head the keys as panels [room / nr, head_dim, nr] and the values
// [room, head_dim], so that scores and sums are products with the cache in place.
#pragma once

#include <span>
#include <vector>

#include "glint/model/transformer.h"
#include "glint/nn/rotary.h"

namespace glint {

// Error (usage) for what does not fit: a token that is not in the vocabulary, a slot that is full or not
// there. Error (numeric) when a sum or a product overflows.
class Generator {
 public:
  // `room`: the most tokens that a slot takes, at most the context; 0: the context. What is computed does not
  // depend on it. Allocates here only: slot_bytes a slot.
  Generator(const TransformerConfig& config, const Compute& compute, size_t slots, size_t room = 0);
  // About 8 * layers * room * d_model bytes, and the numbers of one token.
  static size_t slot_bytes(const TransformerConfig& config, const Kernels& kernels, size_t room);

  // Packs them; to be called once before the first step. Keeps the pointer.
  void set_weights(std::span<const float> weights);

  const TransformerConfig& config() const { return config_; }
  size_t slots() const { return positions_.size(); }
  size_t position(size_t slot) const { return positions_[checked(slot)]; }  // tokens fed so far
  size_t room() const { return room_; }
  bool full(size_t slot) const { return position(slot) == room_; }
  void clear(size_t slot) { positions_[checked(slot)] = 0; }
  void copy(size_t from, size_t to);

  // Feeds tokens[i] to slot slots[i]; the slots differ and are not full. Gives the logits [tokens, vocab]
  // that follow, valid and writable until the next call; without `logits` an empty view, and quicker.
  MatrixView<float> step(std::span<const uint32_t> slots, std::span<const TokenId> tokens, bool logits = true);

 private:
  struct Block {
    PackedWeights qkv, o, mlp_w, mlp_p;
    std::span<const float> qkv_bias = {}, q_norm = {}, k_norm = {};
  };
  // Rows that go through all layers on one thread: a register tile of the products.
  size_t group_rows() const { return compute_.kernels().mr; }
  size_t checked(size_t slot) const;
  void check_step(std::span<const uint32_t> slots, std::span<const TokenId> tokens);
  // Of a head of keys and values.
  float* keys(size_t slot, size_t layer, size_t head);
  float* values(size_t slot, size_t layer, size_t head);
  void pack(PackedWeights& packed, ConstMatrixView<float> w, size_t norm);
  void head_norms(const Block& block, MatrixView<float> qkv) const;
  void layers(Range rows, std::span<const uint32_t> slots, std::span<const TokenId> tokens, size_t worker);
  void attend(size_t row, size_t slot, size_t layer, size_t worker);

  TransformerConfig config_;
  const Compute& compute_;
  size_t room_;
  TransformerParams params_;
  std::span<const float> weights_;
  float scale_, eps_;
  RotaryTable rotary_;
  std::vector<Block> blocks_;
  std::vector<PackedWeights> head_;  // in blocks of the vocabulary, which threads share
  size_t value_stride_;              // of a head's values: whole panels
  size_t key_floats_, head_floats_;  // keys of a head; keys and values
  Matrix<float> cache_;              // [slots, layers * heads * head_floats]
  std::vector<size_t> positions_;
  std::vector<uint64_t> step_of_;  // of a slot: the last step that fed it
  uint64_t steps_ = 0;
  Matrix<float> x_, u_, qkv_, a_, z_, y_, logits_, inverse_;  // [slots, ...]
  Matrix<float> scores_;                                      // [workers, room]
};

}  // namespace glint

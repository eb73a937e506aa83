// Many texts through a model layer by layer: what the GLUs of layers 0, 1, 2 ... read at every token, for the
// price of one run through the model and the memory of one stream.
//
//   LayerPass pass(model, compute, rows, most);
//   pass.inputs(0); pass.inputs(3);        // forward; an earlier layer begins again
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "glint/base/tokens.h"
#include "glint/model/family_pass.h"

namespace glint {

class LayerPass {
 public:
  // Of the first of these rows that hold `most` tokens together. Keeps the model and the compute. Error
  // (usage) for tokens outside the vocabulary.
  LayerPass(const FamilyModel& model, const Compute& compute, std::span<const TokenRow> rows, size_t most);

  size_t tokens() const { return ids_.size(); }
  // Tokens of the first texts that hold `most` together.
  size_t first_rows(size_t most) const;
  std::optional<size_t> layer() const { return layer_; }  // that was asked for last
  // [tokens, d], after the norm before the GLU but before the weights of that norm; valid until another layer
  // is asked for.
  const Matrix<float>& inputs(size_t layer);
  // Layers that were computed so far, of so many texts each.
  size_t layers_computed() const { return computed_; }

 private:
  // Some texts that go through a layer together.
  struct Batch {
    size_t first = 0, rows = 0;  // of the stream
    std::vector<TextRowsOf> texts;
  };
  void advance();

  const FamilyModel& model_;
  std::vector<TokenId> ids_;
  std::vector<size_t> lengths_;
  std::vector<Batch> batches_;
  std::optional<FamilyPass> pass_;
  Matrix<float> stream_, inputs_;
  std::optional<size_t> layer_;  // that the inputs are of
  size_t computed_ = 0;
};

}  // namespace glint

#include "glint/model/layer_pass.h"

#include <algorithm>

#include "glint/nn/embedding.h"

namespace glint {

LayerPass::LayerPass(const FamilyModel& model, const Compute& compute, std::span<const TokenRow> rows, size_t most)
    : model_(model) {
  size_t longest = 1;
  for (const TokenRow& row : rows) {
    if (ids_.size() >= most) break;
    ids_.insert(ids_.end(), row.input.begin(), row.input.end());
    lengths_.push_back(row.input.size());
    longest = std::max(longest, row.input.size());
  }
  check_tokens(ids_, model.vocab());
  // Short texts share a batch; a long one goes through in several, one after the other.
  size_t texts = 1, at = 0;
  for (const size_t length : lengths_)
    for (size_t first = 0; first < length;) {
      Batch* batch = batches_.empty() ? nullptr : &batches_.back();
      if (!batch || batch->rows == FamilyPass::kChunk || (first == 0 && batch->rows + length > FamilyPass::kChunk) ||
          first > 0)
        batch = &batches_.emplace_back(Batch{.first = at, .rows = 0, .texts = {}});
      const size_t count = std::min(length - first, FamilyPass::kChunk - batch->rows);
      batch->texts.push_back({.text = batch->texts.size(), .rows = {batch->rows, count}, .position = first});
      batch->rows += count, first += count, at += count;
      texts = std::max(texts, batch->texts.size());
    }
  size_t widest = 1;
  for (const Batch& b : batches_) widest = std::max(widest, b.rows);
  pass_.emplace(model, compute, longest, FamilyPass::Shape{.rows = widest, .texts = texts, .one_layer = true});
  const size_t d = model.config().d_model;
  stream_ = Matrix<float>(ids_.size(), d), inputs_ = Matrix<float>(ids_.size(), d);
}

size_t LayerPass::first_rows(size_t most) const {
  size_t sum = 0;
  for (size_t i = 0; i < lengths_.size() && sum < most; i++) sum += lengths_[i];
  return sum;
}

void LayerPass::advance() {
  const size_t next = layer_ ? *layer_ + 1 : 0;
  if (next == 0) pass_->embed(ids_, stream_);
  for (const Batch& b : batches_)
    pass_->layer_of(next, b.texts, stream_.view().row_range(b.first, b.rows),
                    inputs_.view().row_range(b.first, b.rows));
  layer_ = next;
  computed_++;
}

const Matrix<float>& LayerPass::inputs(size_t layer) {
  check_argument(layer < model_.config().layers, "inputs", "a layer of the model");
  if (layer_ && *layer_ > layer) layer_.reset();
  while (layer_ != layer) advance();
  return inputs_;
}

}  // namespace glint

#include "glint/model/classifier.h"

#include <cassert>

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/nn/glu.h"
#include "glint/nn/loss.h"

namespace glint {
namespace {

constexpr float kNormEps = 1e-8f;

LayerParams add_layer(ParamTable& table, const std::string& name, size_t rows, size_t cols, bool bias) {
  LayerParams layer;
  layer.weight = table.add({.name = name + ".weight", .rows = rows, .cols = cols, .fan_in = cols});
  if (bias)
    layer.bias = table.add(
        {.name = name + ".bias", .rows = 1, .cols = rows, .vector = true, .decay = false, .fan_in = cols});
  return layer;
}

}  // namespace

void check(const ClassifierConfig& c) {
  check_range("layers", c.layers, 1, 64);
  check_range("d_model", c.d_model, 1, 16384);
  check_range("d_hidden", c.hidden(), 1, 16384);
  check(c.gate.params);
  if (c.residual && c.hidden() != c.d_model)
    throw Error({.code = ErrorCode::usage,
                 .what = "a residual needs layers as wide as the model",
                 .where = "residual",
                 .expected = "`d_hidden` equal to `d_model` (" + std::to_string(c.d_model) + ")"});
}

ClassifierParams classifier_params(const ClassifierConfig& c) {
  ClassifierParams p;
  p.embed = add_layer(p.table, "embed", c.d_model, c.inputs, c.bias);
  for (size_t i = 0; i < c.layers; i++)
    p.blocks.push_back(add_layer(p.table, "blocks." + std::to_string(i), 2 * c.hidden(),
                                 i == 0 ? c.d_model : c.hidden(), c.bias));
  p.head = add_layer(p.table, "head", c.classes, c.hidden(), c.bias);
  return p;
}

ClassifierEngine::ClassifierEngine(const ClassifierConfig& config, const Compute& compute, size_t max_batch,
                                   bool training)
    : config_(config), compute_(compute), max_batch_(max_batch), params_(classifier_params(config)) {
  const Products& products = compute.products;
  const auto spec = [&](const LayerParams& l) -> const ParamSpec& { return params_.table[l.weight]; };
  embed_ = PackedWeights(products, spec(params_.embed).rows, spec(params_.embed).cols, false);
  for (const LayerParams& b : params_.blocks)
    blocks_.emplace_back(products, spec(b).rows, spec(b).cols, training);
  head_ = PackedWeights(products, spec(params_.head).rows, spec(params_.head).cols, training);

  const size_t n = config.layers, b = max_batch;
  const auto width = [&](size_t state) { return state == 0 ? config_.d_model : config_.hidden(); };
  size_t bytes = Arena::bytes_for_padded(b, config.inputs) + Arena::bytes_for_padded(b, config.classes) +
                 Arena::bytes_for_padded(b, config.d_model) + 2 * Arena::bytes_for<float>(b);
  const bool norm = config.norm == Norm::rms;
  for (size_t i = 0; i <= n; i++) bytes += Arena::bytes_for_padded(b, width(i));
  for (size_t i = 0; i < n; i++)
    bytes += Arena::bytes_for_padded(b, 2 * config.hidden()) +
             (norm ? Arena::bytes_for_padded(b, width(i)) + Arena::bytes_for<float>(b) : 0);
  const size_t chunk = chunk_rows(b), widest = std::max(config.d_model, config.hidden());
  bytes += 2 * compute.pool.size() * Arena::bytes_for_padded(chunk, widest);
  arena_ = Arena(bytes);

  input_ = arena_.padded(b, config.inputs);
  logits_ = arena_.padded(b, config.classes);
  d_embed_ = arena_.padded(b, config.d_model);
  for (size_t i = 0; i <= n; i++) states_.push_back(arena_.padded(b, width(i)));
  for (size_t i = 0; i < n; i++) {
    z_.push_back(arena_.padded(b, 2 * config.hidden()));
    normed_.push_back(norm ? arena_.padded(b, width(i)) : states_[i]);
    inverse_.push_back(norm ? arena_.matrix<float>(b, 1) : MatrixView<float>());
  }
  for (size_t i = 0; i < 2 * compute.pool.size(); i++) d_state_.push_back(arena_.padded(chunk, widest));
  losses_ = arena_.alloc<float>(b);
  hits_ = arena_.alloc<uint8_t>(b);

  if (!training) return;
  for (size_t layer = 0; layer < n + 2; layer++) {
    const LayerParams& l = layer == 0 ? params_.embed : layer <= n ? params_.blocks[layer - 1] : params_.head;
    const size_t count = weight_gradient_tiles(products, spec(l).rows);
    for (size_t t = 0; t < count; t++) tiles_.push_back({layer, t});
    if (l.bias != kNoParam) tiles_.push_back({layer, kNoParam});
  }
}

void ClassifierEngine::set_weights(std::span<const float> weights) {
  assert(weights.size() == params_.table.floats());
  weights_ = weights;
  const size_t n = blocks_.size();
  size_t total = embed_.pieces() + head_.pieces();
  for (const PackedWeights& b : blocks_) total += b.pieces();
  compute_.pool.for_tiles(total, [&](size_t piece, size_t) {
    for (size_t layer = 0; layer < n + 2; layer++) {
      PackedWeights& packed = layer == 0 ? embed_ : layer <= n ? blocks_[layer - 1] : head_;
      const LayerParams& l = layer == 0   ? params_.embed
                             : layer <= n ? params_.blocks[layer - 1]
                                          : params_.head;
      if (piece < packed.pieces()) {
        packed.pack(compute_.products, params_.table.view(weights_, l.weight), piece);
        return;
      }
      piece -= packed.pieces();
    }
  });
}

void ClassifierEngine::forward_chunk(Range rows, const RowSource& source, std::span<std::byte> scratch) {
  const Products& products = compute_.products;
  const Kernels& k = compute_.kernels();
  const auto cut = [&](const MatrixView<float>& m) { return m.row_range(rows.first, rows.count); };
  const auto add_bias = [&](size_t bias, MatrixView<float> y) {
    if (bias != kNoParam)
      k.add_bias(y.rows(), y.cols(), weights_.data() + params_.table[bias].offset, y.data(), y.stride());
  };
  for (size_t i = 0; i < rows.count; i++) source(rows.first + i, input_.row_ptr(rows.first + i));
  linear_forward(products, cut(input_), embed_, cut(states_[0]), scratch);
  add_bias(params_.embed.bias, cut(states_[0]));
  for (size_t i = 0; i < blocks_.size(); i++) {
    const MatrixView<float> x = cut(states_[i]), u = cut(normed_[i]), z = cut(z_[i]), y = cut(states_[i + 1]);
    if (config_.norm == Norm::rms)
      k.rmsnorm_forward(x.rows(), x.cols(), x.data(), x.stride(), kNormEps, u.data(), u.stride(),
                        inverse_[i].row_ptr(rows.first));
    linear_forward(products, u, blocks_[i], z, scratch);
    add_bias(params_.blocks[i].bias, z);
    gate_forward(k, config_.gate, z, y);
    if (config_.residual) k.add_rows(y.rows(), y.cols(), x.data(), x.stride(), y.data(), y.stride());
  }
  linear_forward(products, cut(states_.back()), head_, cut(logits_), scratch);
  add_bias(params_.head.bias, cut(logits_));
}

void ClassifierEngine::backward_chunk(Range rows, std::span<const uint8_t> labels, size_t batch,
                                      size_t worker, std::span<std::byte> scratch) {
  const Products& products = compute_.products;
  const Kernels& k = compute_.kernels();
  const size_t n = blocks_.size();
  const auto cut = [&](const MatrixView<float>& m) { return m.row_range(rows.first, rows.count); };
  const auto temporary = [&](size_t which, size_t width) {
    return d_state_[2 * worker + which].row_range(0, rows.count).col_range(0, width);
  };
  softmax_loss_backward(k, cut(logits_), labels.subspan(rows.first, rows.count), batch, cut(logits_),
                        losses_.subspan(rows.first, rows.count), hits_.subspan(rows.first, rows.count));
  MatrixView<float> dy = temporary(n % 2, config_.hidden());
  linear_backward(products, cut(logits_), head_, dy, false, scratch);
  for (size_t i = n; i-- > 0;) {
    const MatrixView<float> x = cut(states_[i]), z = cut(z_[i]);
    const MatrixView<float> dx = i == 0 ? cut(d_embed_) : temporary(i % 2, x.cols());
    gate_backward(k, config_.gate, z, dy, z);
    linear_backward(products, z, blocks_[i], dx, false, scratch);
    if (config_.norm == Norm::rms) {
      const MatrixView<float> u = cut(normed_[i]);
      k.rmsnorm_backward(x.rows(), x.cols(), u.data(), u.stride(), inverse_[i].row_ptr(rows.first), dx.data(),
                         dx.stride(), dx.data(), dx.stride());
    }
    if (config_.residual) k.add_rows(dx.rows(), dx.cols(), dy.data(), dy.stride(), dx.data(), dx.stride());
    dy = dx;
  }
}

void ClassifierEngine::weight_gradients(size_t rows, std::span<float> gradients) {
  const size_t n = blocks_.size();
  compute_.pool.for_tiles(tiles_.size(), [&](size_t index, size_t worker) {
    const GradientTile t = tiles_[index];
    const LayerParams& l = t.layer == 0   ? params_.embed
                           : t.layer <= n ? params_.blocks[t.layer - 1]
                                          : params_.head;
    const MatrixView<float>& x = t.layer == 0 ? input_ : t.layer <= n ? normed_[t.layer - 1] : states_[n];
    const MatrixView<float>& dy = t.layer == 0 ? d_embed_ : t.layer <= n ? z_[t.layer - 1] : logits_;
    if (t.tile == kNoParam) {
      float* sums = gradients.data() + params_.table[l.bias].offset;
      std::fill_n(sums, dy.cols(), 0.0f);
      compute_.kernels().column_sums(rows, dy.cols(), dy.data(), dy.stride(), sums);
    } else {
      weight_gradient_tile(compute_.products, dy.row_range(0, rows), x.row_range(0, rows),
                           params_.table.view(gradients, l.weight), t.tile, compute_.scratch[worker]);
    }
  });
}

BatchResult ClassifierEngine::sum_results(size_t rows) const {
  BatchResult result;
  result.loss = compute_.kernels().sum(rows, losses_.data());
  for (size_t i = 0; i < rows; i++) result.correct += hits_[i];
  return result;
}

BatchResult ClassifierEngine::evaluate(size_t rows, const RowSource& source,
                                       std::span<const uint8_t> labels) {
  assert(rows <= max_batch_ && labels.size() >= rows);
  compute_.pool.for_tiles(chunk_count(rows), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(rows, chunk);
    forward_chunk(r, source, compute_.scratch[worker]);
    softmax_loss_forward(compute_.kernels(), logits_.row_range(r.first, r.count),
                         labels.subspan(r.first, r.count), losses_.subspan(r.first, r.count),
                         hits_.subspan(r.first, r.count));
  });
  return sum_results(rows);
}

BatchResult ClassifierEngine::forward_backward(size_t rows, const RowSource& source,
                                               std::span<const uint8_t> labels, std::span<float> gradients) {
  assert(rows <= max_batch_ && labels.size() >= rows && gradients.size() == params_.table.floats());
  compute_.pool.for_tiles(chunk_count(rows), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(rows, chunk);
    forward_chunk(r, source, compute_.scratch[worker]);
    backward_chunk(r, labels, rows, worker, compute_.scratch[worker]);
  });
  weight_gradients(rows, gradients);
  return sum_results(rows);
}

}  // namespace glint

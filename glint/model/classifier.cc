#include "glint/model/classifier.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/range.h"
#include "glint/nn/glu.h"
#include "glint/nn/loss.h"
#include "glint/nn/norm.h"

namespace glint {
namespace {

// Layer 0: embed, 1..n: blocks, n + 1: head.
template <class T, class Blocks>
T& of_layer(size_t layer, T& embed, Blocks& blocks, T& head) {
  return layer == 0 ? embed : layer <= blocks.size() ? blocks[layer - 1] : head;
}

LayerParams add_layer(ParamTable& table, const std::string& name, size_t rows, size_t cols, bool bias) {
  LayerParams layer;
  layer.weight = table.add({.name = name + ".weight", .rows = rows, .cols = cols, .fan_in = cols});
  if (bias)
    layer.bias =
        table.add({.name = name + ".bias", .rows = 1, .cols = rows, .vector = true, .decay = false, .fan_in = cols});
  return layer;
}

}  // namespace

void check(const ClassifierConfig& c) {
  check_range("inputs", c.inputs, 1, size_t{1} << 20);
  check_range("classes", c.classes, 2, size_t{1} << 16);
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
    p.blocks.push_back(
        add_layer(p.table, "blocks." + std::to_string(i), 2 * c.hidden(), i == 0 ? c.d_model : c.hidden(), c.bias));
  p.head = add_layer(p.table, "head", c.classes, c.hidden(), c.bias);
  return p;
}

ClassifierEngine::ClassifierEngine(const ClassifierConfig& config, const Compute& compute, size_t max_batch,
                                   bool training)
    : config_((check(config), config)),
      compute_(compute),
      max_batch_(max_batch),
      training_(training),
      params_(classifier_params(config)) {
  if (max_batch == 0) bad_argument("max_batch", "a batch of 0 rows", "at least 1");
  const Products& products = compute.products;
  const auto spec = [&](const LayerParams& l) -> const ParamSpec& { return params_.table[l.weight]; };
  embed_ = PackedWeights(products, spec(params_.embed).rows, spec(params_.embed).cols, false);
  for (const LayerParams& b : params_.blocks) blocks_.emplace_back(products, spec(b).rows, spec(b).cols, training);
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
    inverse_.push_back(norm ? arena_.alloc<float>(b) : std::span<float>());
  }
  for (size_t i = 0; i < 2 * compute.pool.size(); i++) d_state_.push_back(arena_.padded(chunk, widest));
  losses_ = arena_.alloc<float>(b);
  hits_ = arena_.alloc<uint8_t>(b);

  if (!training) return;
  for (size_t layer = 0; layer < n + 2; layer++) {
    const LayerParams& l = of_layer(layer, params_.embed, params_.blocks, params_.head);
    const size_t count = weight_gradient_tiles(products, spec(l).rows);
    const size_t cols = spec(l).cols;
    for (size_t t = 0; t < count; t++) {
      const Range rows = weight_gradient_rows(products, spec(l).rows, t);
      tiles_.push_back({layer, t});
      pieces_.push_back({spec(l).offset + rows.first * cols, rows.count * cols});
    }
    if (l.bias == kNoParam) continue;
    tiles_.push_back({layer, kNoParam});
    pieces_.push_back({params_.table[l.bias].offset, params_.table[l.bias].size()});
  }
}

void ClassifierEngine::set_weights(std::span<const float> weights) {
  params_.table.check_buffer(weights, "set_weights");
  weights_ = weights;
  const StopScope whole(compute_.pool, {});  // half of the weights packed would be those of no model
  const size_t n = blocks_.size();
  size_t total = embed_.pieces() + head_.pieces();
  for (const PackedWeights& b : blocks_) total += b.pieces();
  compute_.pool.for_tiles(total, [&](size_t piece, size_t) {
    for (size_t layer = 0; layer < n + 2; layer++) {
      PackedWeights& packed = of_layer(layer, embed_, blocks_, head_);
      const LayerParams& l = of_layer(layer, params_.embed, params_.blocks, params_.head);
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
  const auto bias = [&](const LayerParams& l) {
    return l.bias == kNoParam ? std::span<const float>() : params_.table.view(weights_, l.bias).row(0);
  };
  for (size_t i = 0; i < rows.count; i++) source(rows.first + i, input_.row_ptr(rows.first + i));
  linear_forward(products, cut(input_), embed_, cut(states_[0]), scratch, bias(params_.embed));
  for (size_t i = 0; i < blocks_.size(); i++) {
    const MatrixView<float> x = cut(states_[i]), u = cut(normed_[i]), z = cut(z_[i]), y = cut(states_[i + 1]);
    if (config_.norm == Norm::rms) norm_forward(k, x, u, inverse_[i].subspan(rows.first, rows.count));
    glu_forward(products, config_.gate, u, blocks_[i], z, y, scratch, bias(params_.blocks[i]));
    if (config_.residual) k.add_rows(y.rows(), y.cols(), x.data(), x.stride(), y.data(), y.stride());
  }
  linear_forward(products, cut(states_.back()), head_, cut(logits_), scratch, bias(params_.head));
}

void ClassifierEngine::backward_chunk(Range rows, std::span<const uint32_t> labels, size_t batch, size_t worker,
                                      std::span<std::byte> scratch) {
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
    glu_backward(products, config_.gate, dy, blocks_[i], z, dx, false, scratch);
    if (config_.norm == Norm::rms)
      norm_backward(k, cut(normed_[i]), inverse_[i].subspan(rows.first, rows.count), dx, dx);
    if (config_.residual) k.add_rows(dx.rows(), dx.cols(), dy.data(), dy.stride(), dx.data(), dx.stride());
    dy = dx;
  }
}

void ClassifierEngine::weight_gradients(size_t rows, bool accumulate, Range tiles, std::span<float> gradients) {
  // All of them at once are cut as is fastest; single ones must be the rows that pieces_ says.
  const bool whole = tiles.count == tiles_.size() && !accumulate;
  compute_.pool.for_tiles(tiles.count, [&](size_t index, size_t worker) {
    const GradientTile t = tiles_[tiles.first + index];
    const LayerParams& l = of_layer(t.layer, params_.embed, params_.blocks, params_.head);
    const MatrixView<float>& x = of_layer(t.layer, input_, normed_, states_.back());
    const MatrixView<float>& dy = of_layer(t.layer, d_embed_, z_, logits_);
    if (t.tile == kNoParam) {
      float* sums = gradients.data() + params_.table[l.bias].offset;
      if (!accumulate) std::fill_n(sums, dy.cols(), 0.0f);
      compute_.kernels().column_sums(rows, dy.cols(), dy.data(), dy.stride(), sums);
    } else {
      const ConstMatrixView<float> dy_rows = dy.row_range(0, rows), x_rows = x.row_range(0, rows);
      const MatrixView<float> dw = params_.table.view(gradients, l.weight);
      if (whole)
        weight_gradient_tile(compute_.products, dy_rows, x_rows, dw, t.tile, compute_.scratch[worker]);
      else
        weight_gradient_band(compute_.products, dy_rows, x_rows, dw, t.tile, accumulate, compute_.scratch[worker]);
    }
  });
}

void ClassifierEngine::check_batch(size_t rows, const RowSource& source, std::span<const uint32_t> labels) const {
  if (weights_.empty()) bad_argument("set_weights", "the engine has no weights yet", "set_weights before a batch");
  if (!source) bad_argument("source", "there is no source of rows", "a function that writes a row");
  if (rows > max_batch_)
    bad_argument("rows", "a batch of " + std::to_string(rows) + " rows",
                 "at most " + std::to_string(max_batch_) + ", which the engine was made for");
  if (labels.size() < rows)
    bad_argument("labels", std::to_string(labels.size()) + " labels for " + std::to_string(rows) + " rows",
                 "a label for every row");
  check_labels(labels.first(rows), config_.classes);
}

// Of a chunk that went forward. The left halves, because a gate that saturates hides what became infinite;
// what else overflows comes through to the next norm or to the logits.
void ClassifierEngine::check_numbers(Range rows) const {
  const auto cut = [&](const MatrixView<float>& m) { return m.row_range(rows.first, rows.count); };
  for (size_t i = 0; i < blocks_.size(); i++)
    if (!all_finite(cut(z_[i]).col_range(0, config_.hidden()))) throw_overflow("layer " + std::to_string(i + 1));
  if (!all_finite(cut(logits_))) throw_overflow("the logits");
}

BatchResult ClassifierEngine::sum_results(size_t rows) const {
  BatchResult result;
  result.loss = compute_.kernels().sum(rows, losses_.data());
  if (!std::isfinite(result.loss)) throw_overflow("the loss");
  for (size_t i = 0; i < rows; i++) result.correct += hits_[i];
  return result;
}

BatchResult ClassifierEngine::evaluate(size_t rows, const RowSource& source, std::span<const uint32_t> labels) {
  check_batch(rows, source, labels);
  compute_.pool.for_tiles(chunk_count(rows), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(rows, chunk);
    forward_chunk(r, source, compute_.scratch[worker]);
    check_numbers(r);
    softmax_loss_forward(compute_.kernels(), logits_.row_range(r.first, r.count), labels.subspan(r.first, r.count),
                         losses_.subspan(r.first, r.count), hits_.subspan(r.first, r.count));
  });
  return sum_results(rows);
}

BatchResult ClassifierEngine::forward_backward(size_t rows, const RowSource& source, std::span<const uint32_t> labels,
                                               std::span<float> gradients, MatrixView<float> logits) {
  if (!training_) bad_argument("forward_backward", "the engine was not made for training", "training = true");
  check_batch(rows, source, labels);
  if (rows == 0) bad_argument("rows", "a batch of 0 rows has no gradient", "at least 1");
  params_.table.check_buffer(gradients, "gradients");
  if (!logits.empty() && (logits.rows() != rows || logits.cols() != config_.classes))
    throw Error(
        {.code = ErrorCode::usage,
         .what = "the place for the logits is " + std::to_string(logits.rows()) + " x " + std::to_string(logits.cols()),
         .where = "logits",
         .expected = std::to_string(rows) + " x " + std::to_string(config_.classes) + ", rows by classes"});
  forward_backward_rows(rows, rows, source, labels, logits);
  weight_gradients(rows, false, {0, tiles_.size()}, gradients);
  return sum_results(rows);
}

BatchResult ClassifierEngine::forward_backward(size_t rows, const RowSource& source, std::span<const uint32_t> labels,
                                               std::span<float> gradients, const BatchShare& share) {
  if (!training_) bad_argument("forward_backward", "the engine was not made for training", "training = true");
  check_batch(rows, source, labels);
  if (share.first + rows > share.total || share.total == 0)
    bad_argument("share", "rows beyond the batch", "rows of a batch that has some");
  params_.table.check_buffer(gradients, "gradients");
  forward_backward_rows(rows, share.total, source, labels, {});
  share.sum(pieces_, compute_.pool.size(), gradients,
            [&](Range tiles) { weight_gradients(rows, share.first > 0, tiles, gradients); });
  return sum_results(rows);
}

void ClassifierEngine::forward_backward_rows(size_t rows, size_t total, const RowSource& source,
                                             std::span<const uint32_t> labels, MatrixView<float> logits) {
  compute_.pool.for_tiles(chunk_count(rows), [&](size_t chunk, size_t worker) {
    const Range r = chunk_range(rows, chunk);
    forward_chunk(r, source, compute_.scratch[worker]);
    check_numbers(r);
    for (size_t i = r.first; i < r.first + r.count && !logits.empty(); i++)
      std::ranges::copy(logits_.row(i), logits.row_ptr(i));
    backward_chunk(r, labels, total, worker, compute_.scratch[worker]);
  });
}

ConstMatrixView<float> ClassifierEngine::layer_input(size_t i) const { return normed_[checked_layer(i)]; }
ConstMatrixView<float> ClassifierEngine::state(size_t i) const { return states_[checked_layer(i)]; }

size_t ClassifierEngine::checked_layer(size_t i) const {
  if (i >= blocks_.size())
    bad_argument("layer", "there is no layer " + std::to_string(i), "below " + std::to_string(blocks_.size()));
  return i;
}

}  // namespace glint

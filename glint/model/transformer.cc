#include "glint/model/transformer.h"

#include "glint/base/error.h"
#include "glint/base/range.h"
#include "glint/model/sequence_pass.h"
#include "glint/nn/embedding.h"

namespace glint {
namespace {

// Floats of the gradients that a process hands to the next at once: 128 KB, so that a chain of processes is
// soon at work, and a message costs more than its beginning.
constexpr size_t kChainPiece = size_t{1} << 15;

void add(const TextResult& part, TextResult& total) {
  total.loss += part.loss;
  total.correct += part.correct;
  total.tokens += part.tokens;
}

}  // namespace

void check(const TransformerConfig& c) {
  check_range("vocab", c.vocab, 2, kMaxVocab);
  check_range("layers", c.layers, 1, 64);
  check_range("d_model", c.d_model, 2, 16384);
  check_range("d_hidden", c.hidden(), 1, 16384);
  check_range("heads", c.heads, 1, 1024);
  check_range("context", c.context, kMinContext, kMaxContext);
  if (c.d_model % (2 * c.heads) != 0)
    throw Error({.code = ErrorCode::usage,
                 .what = "`d_model` = " + std::to_string(c.d_model) + " cannot be cut into " + std::to_string(c.heads) +
                         " heads",
                 .where = "heads",
                 .expected = "`d_model` a multiple of twice `heads`, because positions turn pairs of numbers"});
  check(c.gate.params);
}

TransformerParams transformer_params(const TransformerConfig& c) {
  TransformerParams p;
  const auto add = [&](const std::string& name, size_t rows, size_t cols) {
    return p.table.add({.name = name + ".weight", .rows = rows, .cols = cols, .fan_in = cols});
  };
  const size_t d = c.d_model, h = c.hidden();
  p.wte = p.table.add({.name = "transformer.wte.weight", .rows = c.vocab, .cols = d, .fan_in = 0});
  for (size_t i = 0; i < c.layers; i++) {
    const std::string block = "transformer.h." + std::to_string(i);
    TransformerParams::Block b;
    b.qkv = add(block + ".attn.qkv", 3 * d, d);
    b.o = add(block + ".attn.o", d, d);
    b.mlp_w = add(block + ".mlp.w", 2 * h, d);
    b.mlp_p = add(block + ".mlp.p", d, h);
    p.blocks.push_back(b);
  }
  p.head = add("lm_head", c.vocab, d);
  return p;
}

TransformerEngine::TransformerEngine(const TransformerConfig& config, const Compute& compute, size_t max_rows,
                                     bool training, size_t max_lanes)
    : config_((check(config), config)),
      compute_(compute),
      training_(training),
      params_(transformer_params(config)),
      weights_(std::make_unique<TransformerWeights>(config, compute.products, training)),
      lanes_(max_rows),
      losses_(max_rows, config.context) {
  if (max_rows == 0) bad_argument("max_rows", "0 rows at once", "at least 1");
  for (size_t i = 0; i < compute.pool.size(); i++)
    passes_.push_back(std::make_unique<SequencePass>(config_, params_, *weights_, compute.products, training));
  cut_.reserve(max_rows);
  const size_t floats = params_.table.floats();
  for (size_t i = 0; training && i < std::min(max_rows, max_lanes ? max_lanes : max_rows); i++)
    lanes_[i].gradients = Matrix<float>(1, floats);
  for (size_t first = 0; training && first < floats; first += kChainPiece)
    pieces_.push_back({first, std::min(kChainPiece, floats - first)});
  const auto add = [&](PackedWeights* packed, size_t param, size_t pieces) {
    for (size_t i = 0; i < pieces; i++) tasks_.push_back({packed, param, i});
  };
  for (size_t i = 0; i < config.layers; i++) {
    TransformerWeights::Block& b = weights_->blocks[i];
    const TransformerParams::Block& p = params_.blocks[i];
    for (const auto& [packed, param] :
         {std::pair(&b.qkv, p.qkv), std::pair(&b.o, p.o), std::pair(&b.mlp_w, p.mlp_w), std::pair(&b.mlp_p, p.mlp_p)})
      add(packed, param, packed->pieces());
  }
  add(nullptr, params_.head, weights_->head.pieces());
}

TransformerEngine::~TransformerEngine() = default;

void TransformerEngine::set_weights(std::span<const float> weights) {
  params_.table.check_buffer(weights, "set_weights");
  weights_->wte = params_.table.view(weights, params_.wte);
  const StopScope whole(compute_.pool, {});  // half of the weights packed would be those of no model
  compute_.pool.for_tiles(tasks_.size(), [&](size_t i, size_t) {
    const PackTask& t = tasks_[i];
    const ConstMatrixView<float> w = params_.table.view(weights, t.param);
    if (t.weights)
      t.weights->pack(compute_.products, w, t.piece);
    else
      weights_->head.pack(compute_.products, w, t.piece);
  });
}

void TransformerEngine::check_row(const TokenRow& row, bool targets) const {
  if (weights_->wte.empty()) bad_argument("set_weights", "the engine has no weights yet", "set_weights before a row");
  const size_t n = row.input.size();
  if (n == 0 || n > config_.context)
    bad_argument("rows", "a row of " + std::to_string(n) + " tokens",
                 "from 1 to " + std::to_string(config_.context) + ", the context");
  check_tokens(row.input, config_.vocab);
  if (!targets) return;
  if (row.target.size() != n)
    bad_argument("rows", std::to_string(row.target.size()) + " targets for " + std::to_string(n) + " tokens",
                 "a target for every token");
  check_tokens(row.target, config_.vocab);
}

TextResult TransformerEngine::sum_results(size_t lanes) const {
  TextResult total;
  for (size_t i = 0; i < lanes; i++) add(lanes_[i].result, total);
  return total;
}

TextResult TransformerEngine::evaluate(std::span<const TokenRow> rows, const RowLosses& each) {
  TextResult total;
  for (const TokenRow& row : rows) check_row(row, true);
  for (size_t first = 0; first < rows.size(); first += lanes_.size()) {
    const size_t count = std::min(lanes_.size(), rows.size() - first);
    compute_.pool.for_tiles(count, [&](size_t i, size_t worker) {
      const TokenRow& row = rows[first + i];
      const std::span<float> losses = losses_.view().row(i).first(row.input.size());
      lanes_[i].result = {.correct = passes_[worker]->forward(row, losses, compute_.scratch[worker]),
                          .tokens = row.input.size()};
      lanes_[i].result.loss = compute_.kernels().sum(losses.size(), losses.data());
    });
    add(sum_results(count), total);
    for (size_t i = 0; each && i < count; i++)
      each(first + i, losses_.view().row(i).first(rows[first + i].input.size()));
  }
  return total;
}

TextResult TransformerEngine::forward_backward(std::span<const TokenRow> rows, std::span<float> gradients) {
  if (!training_) bad_argument("forward_backward", "the engine was not made for training", "training = true");
  params_.table.check_buffer(gradients, "gradients");
  const auto length = [&](size_t i) { return rows[i].input.size(); };
  cut_into_lanes(rows.size(), length, lanes_.size(), cut_);
  uint64_t tokens = 0;
  for (const TokenRow& row : rows) tokens += row.input.size();
  pass_lanes(rows, cut_, tokens);
  sum_gradients(cut_.size(), true, gradients, {0, gradients.size()});
  return sum_results(cut_.size());
}

TextResult TransformerEngine::forward_backward(std::span<const TokenRow> rows, std::span<float> gradients,
                                               const LaneShare& share) {
  if (!training_) bad_argument("forward_backward", "the engine was not made for training", "training = true");
  params_.table.check_buffer(gradients, "gradients");
  const size_t lanes = share.lanes.size();
  if (lanes > lanes_.size() || (lanes > 0 && lanes_[lanes - 1].gradients.size() == 0))
    bad_argument("share", std::to_string(lanes) + " lanes", "at most as many as the engine was made for");
  pass_lanes(rows, share.lanes, share.tokens);
  share.sum(pieces_, 1, gradients, [&](Range pieces) {
    const Range last = pieces_[pieces.first + pieces.count - 1];
    const size_t first = pieces_[pieces.first].first;
    sum_gradients(lanes, share.first == 0, gradients, {first, last.first + last.count - first});
  });
  return sum_results(lanes);
}

void TransformerEngine::pass_lanes(std::span<const TokenRow> rows, std::span<const Range> lanes, uint64_t tokens) {
  for (const TokenRow& row : rows) check_row(row, true);
  const float scale = static_cast<float>(1 / static_cast<double>(std::max<uint64_t>(tokens, 1)));
  compute_.pool.for_tiles(lanes.size(), [&](size_t i, size_t worker) {
    Lane& lane = lanes_[i];
    lane.result = {};
    std::fill_n(lane.gradients.data(), lane.gradients.size(), 0.0f);
    for (const TokenRow& row : rows.subspan(lanes[i].first, lanes[i].count)) {
      const std::span<float> losses = losses_.view().row(i).first(row.input.size());
      TextResult one{.tokens = row.input.size()};
      one.correct =
          passes_[worker]->forward_backward(row, scale, losses, lane.gradients.span(), compute_.scratch[worker]);
      one.loss = compute_.kernels().sum(losses.size(), losses.data());
      add(one, lane.result);
    }
  });
}

void TransformerEngine::sum_gradients(size_t lanes, bool begin, std::span<float> gradients, Range floats) {
  constexpr size_t kPiece = 4096;  // floats: 16 KB stay in L1 while the lanes are added
  compute_.pool.for_tiles((floats.count + kPiece - 1) / kPiece, [&](size_t tile, size_t) {
    const size_t first = floats.first + tile * kPiece;
    const size_t count = std::min(kPiece, floats.first + floats.count - first);
    float* out = gradients.data() + first;
    if (lanes == 0 && begin) std::fill_n(out, count, 0.0f);
    for (size_t i = 0; i < lanes; i++) {
      const float* part = lanes_[i].gradients.data() + first;
      if (i == 0 && begin)
        std::copy_n(part, count, out);
      else
        compute_.kernels().add_rows(1, count, part, count, out, count);
    }
  });
}

void TransformerEngine::check_layer(size_t layer) const {
  if (layer >= config_.layers)
    bad_argument("layer", "there is no layer " + std::to_string(layer), "below " + std::to_string(config_.layers));
}

void TransformerEngine::trace(const TokenRow& row, size_t layer, MatrixView<float> mlp_input) {
  trace(std::span(&row, 1), layer, mlp_input);
}

void TransformerEngine::trace(std::span<const TokenRow> rows, size_t layer, MatrixView<float> mlp_input) {
  check_layer(layer);
  std::vector<size_t> first;
  size_t tokens = 0;
  for (const TokenRow& row : rows) {
    check_row(row, false);
    first.push_back(tokens);
    tokens += row.input.size();
  }
  check_argument(mlp_input.rows() == tokens && mlp_input.cols() == config_.d_model, "trace",
                 "mlp_input [tokens, d_model]");
  compute_.pool.for_tiles(rows.size(), [&](size_t i, size_t worker) {
    passes_[worker]->trace(rows[i].input, layer, mlp_input.row_range(first[i], rows[i].input.size()),
                           compute_.scratch[worker]);
  });
}

ResidualTrace TransformerEngine::follow(const TokenRow& row) {
  check_row(row, false);
  return passes_[0]->follow(row.input, compute_.scratch[0]);
}

void TransformerEngine::logits(const TokenRow& row, MatrixView<float> out) {
  check_row(row, false);
  check_argument(out.rows() == row.input.size() && out.cols() == config_.vocab, "logits", "out [tokens, vocab]");
  passes_[0]->logits(row.input, out, compute_.scratch[0]);
}

}  // namespace glint

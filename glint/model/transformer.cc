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

std::vector<Field> fields_of(LlamaShape& s) {
  return {
      Field("kv-heads", s.kv_heads, "heads of keys and values, which heads of queries share; 0: as many as these")
          .range(0, 1024)
          .language(),
      Field("d-head", s.d_head, "width of a head; 0: the width of the embedding by the heads")
          .range(0, 1024)
          .language(),
      Field("norm-weights", s.norm_weights, "norms have weights").language(),
      Field("tied-head", s.tied_head, "the head is the embedding").language(),
      Field("qkv-bias", s.qkv_bias, "biases of queries, keys and values").language(),
      Field("head-norms", s.head_norms, "each query and key is normalised, with weights").language(),
      Field("damped", s.damped, "what attention adds is divided by the root of twice the layers").language(),
      Field("norm-eps", s.norm_eps, "added to the mean square in a norm").range(0, 1).language(),
      Field("theta", s.theta, "base of the frequencies of rotary positions").range(1, 1e12).language(),
      Field("rotary-scaling", s.rotary_scaling,
            "of these for longer texts: linear:FACTOR, llama3:FACTOR,LOW,HIGH,ORIGINAL or divisors:ONE PER PAIR")
          .language(),
  };
}

void check(const TransformerConfig& c) {
  check_range("vocab", c.vocab, 2, kMaxVocab);
  check_range("layers", c.layers, 1, 64);
  check_range("d_model", c.d_model, 2, 16384);
  check_range("d_hidden", c.hidden(), 1, 16384);
  check_range("heads", c.heads, 1, 1024);
  check_range("context", c.context, kMinContext, kMaxContext);
  check_range("kv_heads", c.keys(), 1, c.heads);
  check_range("d_head", c.head_dim(), 1, 1024);
  if (c.heads % c.keys() != 0)
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(c.heads) + " heads of queries cannot share " + std::to_string(c.keys()) +
                         " of keys and values",
                 .where = "kv_heads",
                 .expected = "`heads` a multiple of `kv_heads`"});
  if (c.shape.d_head % 2 != 0)
    throw Error({.code = ErrorCode::usage,
                 .what = "a head of " + std::to_string(c.shape.d_head) + " numbers",
                 .where = "d_head",
                 .expected = "an even width, because positions turn pairs of numbers"});
  if (c.shape.d_head == 0 && c.d_model % (2 * c.heads) != 0)
    throw Error({.code = ErrorCode::usage,
                 .what = "`d_model` = " + std::to_string(c.d_model) + " cannot be cut into " + std::to_string(c.heads) +
                         " heads",
                 .where = "heads",
                 .expected = "`d_model` a multiple of twice `heads`, because positions turn pairs of numbers"});
  LlamaShape shape = c.shape;
  check_fields(fields_of(shape));
  const RotaryScaling scaling = parse_rotary_scaling(shape.rotary_scaling);
  if (!scaling.divisors.empty() && scaling.divisors.size() != c.head_dim() / 2)
    throw Error({.code = ErrorCode::usage,
                 .what = std::to_string(scaling.divisors.size()) + " divisors of rotary frequencies",
                 .where = "rotary_scaling",
                 .expected = std::to_string(c.head_dim() / 2) + ", one per pair of a head"});
  check(c.gate.params);
}

bool same_shape(const TransformerConfig& a, const TransformerConfig& b) {
  return a.vocab == b.vocab && a.layers == b.layers && a.d_model == b.d_model && a.hidden() == b.hidden() &&
         a.heads == b.heads && a.context == b.context && a.shape == b.shape;
}

TransformerParams transformer_params(const TransformerConfig& c) {
  TransformerParams p;
  const auto add = [&](const std::string& name, size_t rows, size_t cols) {
    return p.table.add({.name = name + ".weight", .rows = rows, .cols = cols, .fan_in = cols});
  };
  const auto vector = [&](const std::string& name, size_t size, float start) {
    return p.table.add({.name = name, .rows = 1, .cols = size, .vector = true, .decay = false, .start = start});
  };
  const size_t d = c.d_model, h = c.hidden();
  // A tied head has to begin with logits of a sound size.
  p.wte =
      p.table.add({.name = "transformer.wte.weight", .rows = c.vocab, .cols = d, .fan_in = c.shape.tied_head ? d : 0});
  for (size_t i = 0; i < c.layers; i++) {
    const std::string block = "transformer.h." + std::to_string(i);
    TransformerParams::Block b;
    b.qkv = add(block + ".attn.qkv", c.qkv_width(), d);
    b.o = add(block + ".attn.o", d, c.attention_width());
    b.mlp_w = add(block + ".mlp.w", 2 * h, d);
    b.mlp_p = add(block + ".mlp.p", d, h);
    if (c.shape.norm_weights) {
      b.attention_norm = vector(block + ".attn.norm.weight", d, 1);
      b.mlp_norm = vector(block + ".mlp.norm.weight", d, 1);
    }
    if (c.shape.qkv_bias) b.qkv_bias = vector(block + ".attn.qkv.bias", c.qkv_width(), 0);
    if (c.shape.head_norms) {
      b.q_norm = vector(block + ".attn.q_norm.weight", c.head_dim(), 1);
      b.k_norm = vector(block + ".attn.k_norm.weight", c.head_dim(), 1);
    }
    p.blocks.push_back(b);
  }
  if (c.shape.norm_weights) p.norm = vector("transformer.norm.weight", d, 1);
  p.head = c.shape.tied_head ? p.wte : add("lm_head", c.vocab, d);
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
  const auto fold = [&](size_t matrix, size_t norm, size_t raw) {
    folded_.push_back({.matrix = matrix, .norm = norm, .raw = raw, .product = {}});
  };
  for (const TransformerParams::Block& b : params_.blocks) {
    if (!config.shape.norm_weights) continue;
    fold(b.qkv, b.attention_norm, params_.table[b.qkv].offset);
    fold(b.mlp_w, b.mlp_norm, params_.table[b.mlp_w].offset);
  }
  if (config.shape.norm_weights || config.shape.tied_head) fold(params_.head, params_.norm, params_.head_offset());
  if (!folded_.empty() && training) sums_ = Matrix<float>(1, params_.lane_floats());
  size_t folded_floats = 0;
  for (const Folded& f : folded_) folded_floats += f.norm == kNoParam ? 0 : params_.table[f.matrix].size();
  products_ = Matrix<float>(1, folded_floats);
  float* at = products_.data();
  for (Folded& f : folded_) {
    if (f.norm == kNoParam) continue;
    const ParamSpec& spec = params_.table[f.matrix];
    f.product = {at, spec.rows, spec.cols};
    at += spec.size();
  }
  const size_t floats = params_.lane_floats();
  for (size_t i = 0; training && i < std::min(max_rows, max_lanes ? max_lanes : max_rows); i++)
    lanes_[i].gradients = Matrix<float>(1, floats);
  for (size_t first = 0; training && first < floats; first += kChainPiece)
    pieces_.push_back({first, std::min(kChainPiece, floats - first)});
  const auto add = [&](PackedWeights* packed, size_t param, size_t pieces) {
    ConstMatrixView<float> product;
    for (const Folded& f : folded_)
      if (f.matrix == param) product = f.product;
    for (size_t i = 0; i < pieces; i++) tasks_.push_back({packed, product, param, i});
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
  values_ = weights;
  weights_->wte = params_.table.view(weights, params_.wte);
  const auto vector = [&](size_t param) {
    return param == kNoParam ? std::span<const float>() : params_.table.view(weights, param).row(0);
  };
  for (size_t i = 0; i < config_.layers; i++) {
    const TransformerParams::Block& p = params_.blocks[i];
    TransformerWeights::Block& b = weights_->blocks[i];
    b.qkv_bias = vector(p.qkv_bias), b.q_norm = vector(p.q_norm), b.k_norm = vector(p.k_norm);
  }
  const StopScope whole(compute_.pool, {});  // half of the weights packed would be those of no model
  fold_norms(compute_.pool);
  compute_.pool.for_tiles(tasks_.size(), [&](size_t i, size_t) {
    const PackTask& t = tasks_[i];
    const ConstMatrixView<float> w = t.folded.empty() ? params_.table.view(weights, t.param) : t.folded;
    if (t.weights)
      t.weights->pack(compute_.products, w, t.piece);
    else
      weights_->head.pack(compute_.products, w, t.piece);
  });
}

// W diag(w), for every matrix that reads a norm with weights.
void TransformerEngine::fold_norms(ThreadPool& pool) {
  pool.for_tiles(folded_.size(), [&](size_t i, size_t) {
    const Folded& f = folded_[i];
    if (f.norm == kNoParam) return;
    multiply_columns(params_.table.view(values_, f.matrix), params_.table.view(values_, f.norm).row(0), f.product);
  });
}

// From the gradient G by W diag(w): dW = G diag(w), dw = column sums of G and W multiplied. That of a tied head
// comes on top of the embedding's.
void TransformerEngine::finish(std::span<float> gradients) {
  const std::span<const float> raw = sums_.span();
  std::copy_n(raw.data(), gradients.size(), gradients.data());
  constexpr size_t kColumns = 32;  // of a tile: two lines
  const size_t tiles = (config_.d_model + kColumns - 1) / kColumns;
  compute_.pool.for_tiles(folded_.size() * tiles, [&](size_t tile, size_t) {
    const Folded& f = folded_[tile / tiles];
    const size_t first = tile % tiles * kColumns, count = std::min(kColumns, config_.d_model - first);
    const ParamSpec& spec = params_.table[f.matrix];
    const ConstMatrixView<float> g(raw.data() + f.raw, spec.rows, spec.cols), w = params_.table.view(values_, f.matrix);
    const MatrixView<float> out = params_.table.view(gradients, f.matrix);
    const bool add = f.raw != spec.offset;
    float scale[kColumns];
    double sums[kColumns] = {};
    for (size_t j = 0; j < count; j++)
      scale[j] = f.norm == kNoParam ? 1 : params_.table.view(values_, f.norm)(0, first + j);
    for (size_t i = 0; i < spec.rows; i++) {
      const float *g_row = g.row_ptr(i) + first, *w_row = w.row_ptr(i) + first;
      float* out_row = out.row_ptr(i) + first;
      for (size_t j = 0; j < count; j++) {
        sums[j] += static_cast<double>(g_row[j]) * w_row[j];
        out_row[j] = (add ? out_row[j] : 0) + g_row[j] * scale[j];
      }
    }
    if (f.norm == kNoParam) return;
    for (size_t j = 0; j < count; j++)
      params_.table.view(gradients, f.norm)(0, first + j) = static_cast<float>(sums[j]);
  });
}

std::span<float> TransformerEngine::sums(std::span<float> gradients) {
  return folded_.empty() ? gradients : sums_.span();
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
  const std::span<float> sum = sums(gradients);
  sum_gradients(cut_.size(), true, sum, {0, sum.size()});
  if (!folded_.empty()) finish(gradients);
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
  const std::span<float> sum = sums(gradients);
  share.sum(pieces_, 1, sum, [&](Range pieces) {
    const Range last = pieces_[pieces.first + pieces.count - 1];
    const size_t first = pieces_[pieces.first].first;
    sum_gradients(lanes, share.first == 0, sum, {first, last.first + last.count - first});
  });
  if (!folded_.empty()) finish(gradients);
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

void TransformerEngine::learn_from(TransformerEngine& teacher, double share) {
  check_argument(same_shape(teacher.config_, config_) && teacher.passes_.size() == passes_.size() && share >= 0 && share <= 1, "learn_from",
                 "a model of the same shape and a share from 0 to 1");
  for (size_t i = 0; i < passes_.size(); i++)
    passes_[i]->learn_from(*teacher.passes_[i], static_cast<float>(share));
}

void TransformerEngine::trace(std::span<const TokenRow> rows, size_t layer, MatrixView<float> mlp_input,
                              MatrixView<float> halves) {
  check_layer(layer);
  std::vector<size_t> first;
  size_t tokens = 0;
  for (const TokenRow& row : rows) {
    check_row(row, false);
    first.push_back(tokens);
    tokens += row.input.size();
  }
  check_argument(mlp_input.rows() == tokens && mlp_input.cols() == config_.d_model &&
                     (halves.empty() || (halves.rows() == tokens && halves.cols() == 2 * config_.hidden())),
                 "trace", "mlp_input [tokens, d_model], halves [tokens, 2 d_hidden] or empty");
  compute_.pool.for_tiles(rows.size(), [&](size_t i, size_t worker) {
    passes_[worker]->trace(rows[i].input, layer, mlp_input.row_range(first[i], rows[i].input.size()),
                           halves.empty() ? halves : halves.row_range(first[i], rows[i].input.size()),
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

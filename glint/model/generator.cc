#include "glint/model/generator.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/nn/embedding.h"
#include "glint/nn/glu.h"
#include "glint/nn/norm.h"

namespace glint {
namespace {

constexpr size_t kVocabBlock = 512;  // 256 KB of weights at d = 128: a piece of L2

size_t whole_panels(size_t columns, size_t nr) { return (columns + nr - 1) / nr * nr; }

// Floats of one head in a slot.
size_t key_floats(const TransformerConfig& config, size_t nr, size_t room) {
  return whole_panels(room, nr) * config.head_dim();
}
size_t head_floats(const TransformerConfig& config, size_t nr, size_t room) {
  const size_t floats = key_floats(config, nr, room) + room * whole_panels(config.head_dim(), nr);
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

MatrixView<float> cut(Matrix<float>& m, Range r) { return m.view().row_range(r.first, r.count); }

}  // namespace

size_t Generator::slot_bytes(const TransformerConfig& config, const Kernels& kernels, size_t room) {
  check(config);
  const size_t cache = config.layers * config.keys() * head_floats(config, kernels.nr, room);
  const size_t token =
      2 * config.d_model + config.qkv_width() + config.attention_width() + 3 * config.hidden() + config.vocab + 1;
  return sizeof(float) * (cache + token);
}

Generator::Generator(const TransformerConfig& config, const Compute& compute, size_t slots, size_t room)
    : config_((check(config), config)),
      compute_(compute),
      room_(room ? std::min(room, config.context) : config.context),
      params_(transformer_params(config)),
      scale_(static_cast<float>(config.attention_factor())),
      eps_(static_cast<float>(config.shape.norm_eps)),
      rotary_(room_, config.frequencies()),
      positions_(slots),
      step_of_(slots) {
  if (slots == 0) bad_argument("slots", "no slots", "at least 1");
  const size_t d = config.d_model, h = config.hidden(), nr = compute.kernels().nr;
  const Products& p = compute.products;
  for (size_t i = 0; i < config.layers; i++)
    blocks_.push_back({PackedWeights(p, config.qkv_width(), d, false),
                       PackedWeights(p, d, config.attention_width(), false), PackedWeights(p, 2 * h, d, false),
                       PackedWeights(p, d, h, false)});
  for (size_t first = 0; first < config.vocab; first += kVocabBlock)
    head_.emplace_back(p, std::min(kVocabBlock, config.vocab - first), d, false);
  value_stride_ = whole_panels(config.head_dim(), nr);
  key_floats_ = key_floats(config, nr, room_);
  head_floats_ = head_floats(config, nr, room_);
  cache_ = Matrix<float>(slots, config.layers * config.keys() * head_floats_);
  x_ = Matrix<float>(slots, d);
  u_ = Matrix<float>(slots, d);
  qkv_ = Matrix<float>(slots, config.qkv_width());
  a_ = Matrix<float>(slots, config.attention_width());
  z_ = Matrix<float>(slots, 2 * h);
  y_ = Matrix<float>(slots, h);
  logits_ = Matrix<float>(slots, config.vocab);
  inverse_ = Matrix<float>(1, slots);
  scores_ = Matrix<float>(compute.pool.size(), whole_panels(room_, nr) + 2 * kLineFloats);
}

void Generator::set_weights(std::span<const float> weights) {
  params_.table.check_buffer(weights, "set_weights");
  weights_ = weights;
  const auto view = [&](size_t i) { return params_.table.view(weights, i); };
  const auto vector = [&](size_t i) { return i == kNoParam ? std::span<const float>() : view(i).row(0); };
  for (size_t i = 0; i < config_.layers; i++) {
    const TransformerParams::Block& p = params_.blocks[i];
    Block& b = blocks_[i];
    pack(b.qkv, view(p.qkv), p.attention_norm);
    pack(b.o, view(p.o), kNoParam);
    pack(b.mlp_w, view(p.mlp_w), p.mlp_norm);
    pack(b.mlp_p, view(p.mlp_p), kNoParam);
    b.qkv_bias = vector(p.qkv_bias), b.q_norm = vector(p.q_norm), b.k_norm = vector(p.k_norm);
  }
  for (size_t i = 0; i < head_.size(); i++)
    pack(head_[i], view(params_.head).row_range(i * kVocabBlock, head_[i].rows()), params_.norm);
}

// Times the weights of the norm that the matrix reads.
void Generator::pack(PackedWeights& packed, ConstMatrixView<float> w, size_t norm) {
  if (norm == kNoParam) return packed.pack_all(compute_, w);
  Matrix<float> product(w.rows(), w.cols());
  multiply_columns(w, params_.table.view(weights_, norm).row(0), product);
  packed.pack_all(compute_, product);
}

void Generator::head_norms(const Block& block, MatrixView<float> qkv) const {
  const size_t n = config_.head_dim();
  float inverse[1];
  for (size_t i = 0; i < qkv.rows(); i++)
    for (size_t h = 0; h < config_.heads + config_.keys(); h++) {
      const MatrixView<float> x = qkv.row_range(i, 1).col_range(h * n, n);
      norm_forward(compute_.kernels(), x, x, inverse, eps_);
      multiply_columns(x, h < config_.heads ? block.q_norm : block.k_norm, x);
    }
}

float* Generator::keys(size_t slot, size_t layer, size_t head) {
  return cache_.view().row_ptr(slot) + (layer * config_.keys() + head) * head_floats_;
}

float* Generator::values(size_t slot, size_t layer, size_t head) { return keys(slot, layer, head) + key_floats_; }

size_t Generator::checked(size_t slot) const {
  if (slot >= positions_.size())
    bad_argument("slot", "there is no slot " + std::to_string(slot), "below " + std::to_string(positions_.size()));
  return slot;
}

void Generator::check_step(std::span<const uint32_t> slots, std::span<const TokenId> tokens) {
  if (weights_.empty()) bad_argument("set_weights", "the generator has no weights yet", "set_weights before a step");
  check_argument(slots.size() == tokens.size(), "step", "a token for every slot");
  check_tokens(tokens, config_.vocab);
  steps_++;
  for (const uint32_t slot : slots) {
    if (full(slot))
      bad_argument("slots", "slot " + std::to_string(slot) + " is full",
                   "at most " + std::to_string(room_) + " tokens");
    if (std::exchange(step_of_[slot], steps_) == steps_)
      bad_argument("slots", "slot " + std::to_string(slot) + " is given twice", "slots that differ");
  }
}

void Generator::copy(size_t from, size_t to) {
  checked(from), checked(to);
  if (from == to) return;
  positions_[to] = positions_[from];
  const auto source = cache_.view().row(from);
  std::copy(source.begin(), source.end(), cache_.view().row(to).begin());
}

// One token of one story: its key and value go to the cache, then every head looks at all that are there.
void Generator::attend(size_t row, size_t slot, size_t layer, size_t worker) {
  const Kernels& k = compute_.kernels();
  const size_t hd = config_.head_dim(), nr = k.nr, at = positions_[slot], seen = at + 1;
  const size_t d = config_.attention_width(), kv = config_.keys(), group = config_.heads / kv;
  const float* qkv = qkv_.view().row_ptr(row);
  float* scores = scores_.view().row_ptr(worker);
  for (size_t h = 0; h < config_.heads; h++) {
    const size_t own = h / group;
    float* keys_h = keys(slot, layer, own);
    float* values_h = values(slot, layer, own);
    if (h % group == 0) {
      for (size_t j = 0; j < hd; j++) keys_h[(at / nr * hd + j) * nr + at % nr] = qkv[d + own * hd + j];
      std::copy_n(qkv + d + (kv + own) * hd, hd, values_h + at * value_stride_);
    }
    k.gemm({.m = 1,
            .n = whole_panels(seen, nr),
            .k = hd,
            .a = qkv + h * hd,
            .a_tile = 0,
            .a_row = 0,
            .a_k = 1,
            .b = keys_h,
            .b_panel = nr * hd,
            .b_k = nr,
            .c = scores,
            .c_row = 0,
            .accumulate = false});
    float log_sum = 0, inverse = 0;
    k.causal_softmax(1, seen, seen, scores, 0, &log_sum, &inverse);
    float* out = a_.view().row_ptr(row) + h * hd;
    k.gemm({.m = 1,
            .n = hd,
            .k = seen,
            .a = scores,
            .a_tile = 0,
            .a_row = 0,
            .a_k = 1,
            .b = values_h,
            .b_panel = nr,
            .b_k = value_stride_,
            .c = out,
            .c_row = 0,
            .accumulate = false});
    inverse *= scale_;
    k.scale_rows(1, hd, &inverse, out, 0, out, 0);
  }
}

void Generator::layers(Range r, std::span<const uint32_t> slots, std::span<const TokenId> tokens, size_t worker) {
  const Products& p = compute_.products;
  const Kernels& k = compute_.kernels();
  const std::span<std::byte> scratch = compute_.scratch[worker];
  const MatrixView<float> x = cut(x_, r), u = cut(u_, r), qkv = cut(qkv_, r), z = cut(z_, r), y = cut(y_, r);
  const std::span<float> inverse = inverse_.span().subspan(r.first, r.count);
  embedding_forward(tokens.subspan(r.first, r.count), params_.table.view(weights_, params_.wte), x);
  for (size_t i = 0; i < config_.layers; i++) {
    const Block& b = blocks_[i];
    norm_forward(k, x, u, inverse, eps_);
    linear_forward(p, u, b.qkv, qkv, scratch, b.qkv_bias);
    if (config_.shape.head_norms) head_norms(b, qkv);
    for (size_t j = 0; j < r.count; j++) {
      const size_t slot = slots[r.first + j];
      rotary_.forward(k, config_.heads, config_.keys(), positions_[slot], qkv.row_range(j, 1));
      attend(r.first + j, slot, i, worker);
    }
    linear_forward_add(p, cut(a_, r), b.o, x, scratch);
    norm_forward(k, x, u, inverse, eps_);
    glu_forward(p, config_.gate, u, b.mlp_w, z, y, scratch);
    // A gate that saturates hides what became infinite; what else overflows comes through to the next norm.
    if (!all_finite(z.col_range(0, y.cols()))) throw_overflow("layer " + std::to_string(i + 1));
    linear_forward_add(p, y, b.mlp_p, x, scratch);
  }
  norm_forward(k, x, u, inverse, eps_);
}

MatrixView<float> Generator::step(std::span<const uint32_t> slots, std::span<const TokenId> tokens, bool logits) {
  check_step(slots, tokens);
  const size_t n = slots.size(), each = group_rows(), groups = (n + each - 1) / each;
  const auto rows = [&](size_t group) { return Range{group * each, std::min(each, n - group * each)}; };
  compute_.pool.for_tiles(groups, [&](size_t group, size_t worker) { layers(rows(group), slots, tokens, worker); });
  for (const uint32_t slot : slots) positions_[slot]++;
  if (!logits) return {};
  compute_.pool.for_tiles(groups * head_.size(), [&](size_t tile, size_t worker) {
    const Range r = rows(tile % groups);
    const PackedWeights& block = head_[tile / groups];
    const MatrixView<float> out = cut(logits_, r).col_range(tile / groups * kVocabBlock, block.rows());
    linear_forward(compute_.products, cut(u_, r), block, out, compute_.scratch[worker]);
    if (!all_finite(out)) throw_overflow("the logits");
  });
  return logits_.view().row_range(0, n);
}

}  // namespace glint

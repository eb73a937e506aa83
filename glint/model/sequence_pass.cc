#include "glint/model/sequence_pass.h"

#include <array>
#include <cassert>
#include <cmath>

#include "glint/nn/embedding.h"
#include "glint/nn/glu.h"
#include "glint/nn/norm.h"

namespace glint {
namespace {

MatrixView<float> cut(const MatrixView<float>& m, Range r) { return m.row_range(r.first, r.count); }
template <class T>
std::span<T> cut(std::span<T> v, Range r) {
  return v.subspan(r.first, r.count);
}

}  // namespace

TransformerWeights::TransformerWeights(const TransformerConfig& c, const Products& products, bool training)
    : head(products, c.vocab, c.d_model, training),
      rotary(c.context, c.frequencies()),
      attention(products.kernels(), c.heads, c.keys(), c.head_dim(), c.context,
                static_cast<float>(c.attention_factor()), training) {
  const size_t d = c.d_model, h = c.hidden();
  for (size_t i = 0; i < c.layers; i++)
    blocks.push_back({PackedWeights(products, c.qkv_width(), d, training),
                      PackedWeights(products, d, c.attention_width(), training),
                      PackedWeights(products, 2 * h, d, training), PackedWeights(products, d, h, training)});
}

size_t SequencePass::layer_bytes(const TransformerConfig& c) {
  const size_t t = c.context, d = c.d_model, h = c.hidden(), both = c.heads + c.keys();
  const size_t bytes = 2 * Arena::bytes_for_padded(t, d) + Arena::bytes_for_padded(t, c.attention_width()) +
                       Arena::bytes_for_padded(t, c.qkv_width()) + Arena::bytes_for_padded(t, 2 * h) +
                       Arena::bytes_for_padded(t, h) + Arena::bytes_for<float>(c.heads * t) +
                       2 * Arena::bytes_for<float>(t);
  return bytes +
         (c.shape.head_norms ? Arena::bytes_for_padded(t, both * c.head_dim()) + Arena::bytes_for<float>(both * t) : 0);
}

SequencePass::SequencePass(const TransformerConfig& config, const TransformerParams& params,
                           const TransformerWeights& weights, const Products& products, bool training)
    : config_(config), params_(params), weights_(weights), products_(products), training_(training) {
  const size_t t = config.context, d = config.d_model, h = config.hidden(), widest = std::max(d, h);
  const size_t kept = training ? config.layers : 1, rows = VocabHead::kRows;
  size_t bytes = Arena::bytes_for_padded(t, d) + kept * layer_bytes(config) + Arena::bytes_for_padded(rows, d) +
                 Arena::bytes_for_padded(rows, widest) + Arena::bytes_for<float>(rows) +
                 Arena::bytes_for<uint8_t>(rows) + VocabScratch::bytes(weights.head) +
                 Arena::bytes_for<float>(weights.attention.scratch_floats());
  const size_t qkv = config.qkv_width(), a = config.attention_width(), both = config.heads + config.keys();
  if (training)
    bytes += Arena::bytes_for_padded(t, d) + Arena::bytes_for_padded(t, a) + Arena::bytes_for_padded(t, qkv);
  arena_ = Arena(bytes);
  x_ = arena_.padded(t, d);
  for (size_t i = 0; i < kept; i++) {
    Layer l;
    l.u1 = arena_.padded(t, d);
    l.qkv = arena_.padded(t, qkv);
    l.a = arena_.padded(t, a);
    l.u2 = arena_.padded(t, d);
    l.z = arena_.padded(t, 2 * h);
    l.y = arena_.padded(t, h);
    l.lse = arena_.matrix<float>(config.heads, t);
    if (config.shape.head_norms) {
      l.qk = arena_.padded(t, both * config.head_dim());
      l.qk_inverse = arena_.matrix<float>(both, t);
    }
    l.inverse1 = arena_.alloc<float>(t);
    l.inverse2 = arena_.alloc<float>(t);
    layers_.push_back(l);
  }
  final_ = arena_.padded(rows, d);
  temporary_ = arena_.padded(rows, widest);
  final_inverse_ = arena_.alloc<float>(rows);
  hits_ = arena_.alloc<uint8_t>(rows);
  vocab_ = VocabScratch(arena_, weights.head);
  attention_scratch_ = arena_.alloc<float>(weights.attention.scratch_floats());
  if (!training) return;
  dx_ = arena_.padded(t, d);
  da_ = arena_.padded(t, a);
  d_qkv_ = arena_.padded(t, qkv);
}

void SequencePass::normalise(MatrixView<float> x, MatrixView<float> u, std::span<float> inverse) const {
  norm_forward(products_.kernels(), x, u, inverse, static_cast<float>(config_.shape.norm_eps));
}

// Chunks of equal size, in whole register tiles.
size_t SequencePass::chunks() const { return (tokens_ + 131) / 132; }
Range SequencePass::chunk(size_t index) const {
  const size_t mr = products_.kernels().mr, each = (tokens_ + chunks() - 1) / chunks();
  const size_t step = (each + mr - 1) / mr * mr, first = index * step;
  assert(step <= VocabHead::kRows);
  return {std::min(first, tokens_), std::min(step, tokens_ - std::min(first, tokens_))};
}

void SequencePass::embed(std::span<const TokenId> tokens) {
  assert(!tokens.empty() && tokens.size() <= config_.context);
  tokens_ = tokens.size();
  embedding_forward(tokens, weights_.wte, x_.row_range(0, tokens_));
}

MatrixView<float> SequencePass::temporary(Range r, size_t width) const {
  return temporary_.row_range(0, r.count).col_range(0, width);
}

// a = s attn(norm(x)): attention multiplies by s.
void SequencePass::attention_forward(size_t i, std::span<std::byte> scratch) {
  const Layer& l = layer(i);
  for (size_t c = 0; c < chunks(); c++) {
    const Range r = chunk(c);
    normalise(cut(x_, r), cut(l.u1, r), cut(l.inverse1, r));
    const TransformerWeights::Block& w = weights_.blocks[i];
    linear_forward(products_, cut(l.u1, r), w.qkv, cut(l.qkv, r), scratch, w.qkv_bias);
    if (config_.shape.head_norms) head_norms_forward(i, r);
    weights_.rotary.forward(products_.kernels(), config_.heads, config_.keys(), r.first, cut(l.qkv, r));
  }
  weights_.attention.forward(l.qkv.row_range(0, tokens_), l.a.row_range(0, tokens_), l.lse, attention_scratch_);
}

// Each query and key by itself, then times the weights.
void SequencePass::head_norms_forward(size_t i, Range r) {
  const Layer& l = layer(i);
  const TransformerWeights::Block& w = weights_.blocks[i];
  const size_t n = config_.head_dim();
  for (size_t h = 0; h < config_.heads + config_.keys(); h++) {
    const std::span<const float> weight = h < config_.heads ? w.q_norm : w.k_norm;
    const MatrixView<float> x = cut(l.qkv, r).col_range(h * n, n), u = cut(l.qk, r).col_range(h * n, n);
    normalise(x, u, cut(l.qk_inverse.row(h), r));
    multiply_columns(u, weight, x);
  }
}

// x += O a
void SequencePass::projection_forward(size_t i, Range r, std::span<std::byte> scratch) {
  linear_forward_add(products_, cut(layer(i).a, r), weights_.blocks[i].o, cut(x_, r), scratch);
}

// x += P glu(norm(x))
void SequencePass::mlp_forward(size_t i, Range r, std::span<std::byte> scratch) {
  const Layer& l = layer(i);
  const TransformerWeights::Block& w = weights_.blocks[i];
  normalise(cut(x_, r), cut(l.u2, r), cut(l.inverse2, r));
  glu_forward(products_, config_.gate, cut(l.u2, r), w.mlp_w, cut(l.z, r), cut(l.y, r), scratch);
  linear_forward_add(products_, cut(l.y, r), w.mlp_p, cut(x_, r), scratch);
}

void SequencePass::block_forward(size_t i, std::span<std::byte> scratch, ResidualTrace* last) {
  attention_forward(i, scratch);
  for (size_t c = 0; c < chunks(); c++) {
    projection_forward(i, chunk(c), scratch);
    if (last && c + 1 == chunks()) last->keep_stream(2 * i + 1, x_.row_ptr(tokens_ - 1));
    mlp_forward(i, chunk(c), scratch);
  }
  if (!last) return;
  last->keep_stream(2 * i + 2, x_.row_ptr(tokens_ - 1));
  std::copy_n(layer(i).u2.row_ptr(tokens_ - 1), config_.d_model, last->glu_inputs.view().row_ptr(i));
}

// The left halves of a layer's GLU: a gate that saturates hides what became infinite. What else overflows
// comes through to the next norm.
void SequencePass::check_numbers(size_t i) const {
  if (!all_finite(layer(i).z.row_range(0, tokens_).col_range(0, config_.hidden())))
    throw_overflow("layer " + std::to_string(i + 1));
}

void SequencePass::blocks_forward(size_t count, std::span<std::byte> scratch, ResidualTrace* last) {
  for (size_t i = 0; i < count; i++) {
    block_forward(i, scratch, last);
    check_numbers(i);
  }
}

void SequencePass::add_norm_gradient(MatrixView<float> u, std::span<const float> inverse, Range r,
                                     MatrixView<float> du) {
  const Kernels& k = products_.kernels();
  const MatrixView<float> dx = cut(dx_, r);
  norm_backward(k, cut(u, r), cut(inverse, r), du, du);
  k.add_rows(r.count, u.cols(), du.data(), du.stride(), dx.data(), dx.stride());
}

void SequencePass::mlp_backward(size_t i, Range r, std::span<float> gradients, std::span<std::byte> scratch) {
  const Layer& l = layer(i);
  const TransformerWeights::Block& w = weights_.blocks[i];
  const TransformerParams::Block& p = params_.blocks[i];
  const MatrixView<float> dx = cut(dx_, r), z = cut(l.z, r);
  const MatrixView<float> dy = temporary(r, config_.hidden()), du = temporary(r, config_.d_model);
  weight_gradient(products_, dx, cut(l.y, r), params_.table.view(gradients, p.mlp_p), true, scratch);
  linear_backward(products_, dx, w.mlp_p, dy, false, scratch);
  glu_backward(products_, config_.gate, dy, w.mlp_w, z, du, false, scratch);  // z becomes dz
  weight_gradient(products_, z, cut(l.u2, r), params_.table.view(gradients, p.mlp_w), true, scratch);
  add_norm_gradient(l.u2, l.inverse2, r, du);
}

void SequencePass::projection_backward(size_t i, Range r, std::span<float> gradients, std::span<std::byte> scratch) {
  const MatrixView<float> dx = cut(dx_, r);
  weight_gradient(products_, dx, cut(layer(i).a, r), params_.table.view(gradients, params_.blocks[i].o), true, scratch);
  linear_backward(products_, dx, weights_.blocks[i].o, cut(da_, r), false, scratch);
}

void SequencePass::attention_backward(size_t i, std::span<float> gradients, std::span<std::byte> scratch) {
  const Layer& l = layer(i);
  weights_.attention.backward(l.qkv.row_range(0, tokens_), l.a.row_range(0, tokens_), l.lse, da_.row_range(0, tokens_),
                              d_qkv_.row_range(0, tokens_), attention_scratch_);
  for (size_t c = 0; c < chunks(); c++) {
    const Range r = chunk(c);
    const MatrixView<float> d = cut(d_qkv_, r), du = temporary(r, config_.d_model);
    weights_.rotary.backward(products_.kernels(), config_.heads, config_.keys(), r.first, d);
    if (config_.shape.head_norms) head_norms_backward(i, r, gradients);
    if (const size_t bias = params_.blocks[i].qkv_bias; bias != kNoParam)
      products_.kernels().column_sums(r.count, d.cols(), d.data(), d.stride(),
                                      params_.table.view(gradients, bias).data());
    weight_gradient(products_, d, cut(l.u1, r), params_.table.view(gradients, params_.blocks[i].qkv), true, scratch);
    linear_backward(products_, d, weights_.blocks[i].qkv, du, false, scratch);
    add_norm_gradient(l.u1, l.inverse1, r, du);
  }
}

void SequencePass::head_norms_backward(size_t i, Range r, std::span<float> gradients) {
  const Layer& l = layer(i);
  const TransformerParams::Block& p = params_.blocks[i];
  const TransformerWeights::Block& w = weights_.blocks[i];
  const size_t n = config_.head_dim();
  for (size_t h = 0; h < config_.heads + config_.keys(); h++) {
    const bool query = h < config_.heads;
    const MatrixView<float> d = cut(d_qkv_, r).col_range(h * n, n), u = cut(l.qk, r).col_range(h * n, n);
    float* dw = params_.table.view(gradients, query ? p.q_norm : p.k_norm).data();
    for (size_t t = 0; t < r.count; t++)
      for (size_t j = 0; j < n; j++) dw[j] += d(t, j) * u(t, j);
    multiply_columns(d, query ? w.q_norm : w.k_norm, d);
    norm_backward(products_.kernels(), u, cut(l.qk_inverse.row(h), r), d, d);
  }
}

void SequencePass::block_backward(size_t i, std::span<float> gradients, std::span<std::byte> scratch) {
  for (size_t c = 0; c < chunks(); c++) {
    mlp_backward(i, chunk(c), gradients, scratch);
    projection_backward(i, chunk(c), gradients, scratch);
  }
  attention_backward(i, gradients, scratch);
}

MatrixView<float> SequencePass::final_norm(Range r) {
  const MatrixView<float> u = final_.row_range(0, r.count);
  normalise(cut(x_, r), u, final_inverse_);
  return u;
}

const VocabScratch& SequencePass::scores(Range r, std::span<const TokenId> targets, std::span<std::byte> scratch) {
  std::array<float, VocabHead::kRows> losses;
  vocab_loss_forward(products_, weights_.head, final_norm(r), targets, vocab_, std::span(losses).first(r.count),
                     hits_.first(r.count), scratch);
  if (!all_finite(std::span(losses).first(r.count))) throw_overflow("the loss of the model that is learned from");
  return vocab_;
}

// With an empty `gradients` the losses only.
uint64_t SequencePass::head(const TokenRow& row, float scale, std::span<float> losses, std::span<float> gradients,
                            std::span<std::byte> scratch) {
  assert(row.target.size() == tokens_ && losses.size() == tokens_);
  uint64_t correct = 0;
  for (size_t c = 0; c < chunks(); c++) {
    const Range r = chunk(c);
    const MatrixView<float> u = final_norm(r);
    const std::span<const TokenId> targets = row.target.subspan(r.first, r.count);
    vocab_loss_forward(products_, weights_.head, u, targets, vocab_, losses.subspan(r.first, r.count),
                       hits_.first(r.count), scratch);
    for (size_t j = 0; j < r.count; j++) correct += hits_[j];
    if (!all_finite(losses.subspan(r.first, r.count))) throw_overflow("the loss");
    if (gradients.empty()) continue;
    const MatrixView<float> du = cut(dx_, r);
    VocabTeacher teacher;
    if (teacher_) teacher = {&teacher_->scores(r, targets, scratch), share_};
    vocab_loss_backward(products_, weights_.head, u, targets, scale, vocab_, du, params_.head_gradient(gradients),
                        scratch, teacher);
    norm_backward(products_.kernels(), u, final_inverse_, du, du);
  }
  return correct;
}

uint64_t SequencePass::forward(const TokenRow& row, std::span<float> losses, std::span<std::byte> scratch) {
  embed(row.input);
  blocks_forward(config_.layers, scratch);
  return head(row, 1, losses, {}, scratch);
}

uint64_t SequencePass::forward_backward(const TokenRow& row, float scale, std::span<float> losses,
                                        std::span<float> gradients, std::span<std::byte> scratch) {
  assert(training_);
  if (teacher_) {
    teacher_->embed(row.input);
    teacher_->blocks_forward(config_.layers, scratch);
  }
  embed(row.input);
  blocks_forward(config_.layers, scratch);
  const uint64_t correct = head(row, scale, losses, gradients, scratch);
  for (size_t i = config_.layers; i-- > 0;) block_backward(i, gradients, scratch);
  embedding_backward(products_.kernels(), row.input, dx_.row_range(0, tokens_),
                     params_.table.view(gradients, params_.wte));
  return correct;
}

void SequencePass::trace(std::span<const TokenId> tokens, size_t at, MatrixView<float> mlp_input,
                         MatrixView<float> halves, std::span<std::byte> scratch) {
  assert(at < config_.layers && mlp_input.rows() == tokens.size() && mlp_input.cols() == config_.d_model);
  embed(tokens);
  blocks_forward(at + 1, scratch);
  for (size_t i = 0; i < tokens_; i++) std::copy_n(layer(at).u2.row_ptr(i), config_.d_model, mlp_input.row_ptr(i));
  for (size_t i = 0; i < tokens_ && !halves.empty(); i++)
    std::copy_n(layer(at).z.row_ptr(i), halves.cols(), halves.row_ptr(i));
}

void SequencePass::logits(std::span<const TokenId> tokens, MatrixView<float> out, std::span<std::byte> scratch) {
  assert(out.rows() == tokens.size() && out.cols() == config_.vocab);
  embed(tokens);
  blocks_forward(config_.layers, scratch);
  for (size_t c = 0; c < chunks(); c++) {
    const Range r = chunk(c);
    vocab_logits(products_, weights_.head, final_norm(r), cut(out, r), scratch);
  }
  if (!all_finite(out)) throw_overflow("the logits");
}

ResidualTrace SequencePass::follow(std::span<const TokenId> tokens, std::span<std::byte> scratch) {
  ResidualTrace out(config_.layers, config_.d_model, config_.vocab);
  embed(tokens);
  out.keep_stream(0, x_.row_ptr(tokens_ - 1));
  blocks_forward(config_.layers, scratch, &out);
  const MatrixView<float> u = final_norm({tokens_ - 1, 1});
  out.last_scale = final_inverse_[0];
  vocab_logits(products_, weights_.head, u, MatrixView<float>(out.logits.data(), 1, out.logits.size()), scratch);
  if (!all_finite(out.logits)) throw_overflow("the logits");
  return out;
}

}  // namespace glint

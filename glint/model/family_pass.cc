#include "glint/model/family_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/nn/embedding.h"
#include "glint/nn/glu.h"

namespace glint {
namespace {

constexpr size_t kLogitFloats = size_t{1} << 23;  // 32 MB of logits at a time
constexpr size_t kRowTile = 16;                   // rows of a chunk that one thread takes
// Below so many multiplications attention is not worth handing out to threads.
constexpr size_t kSmallWork = size_t{1} << 17;
constexpr size_t kStripTiles = 2;  // register tiles of queries that share a pass over the keys

size_t whole(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

size_t cached_head_floats(const FamilyConfig& c, size_t room, size_t nr) {
  return whole(whole(room, nr) * c.head_dim + room * whole(c.head_dim, nr), kLineFloats);
}

MatrixView<float> first_rows(Matrix<float>& m, size_t rows) { return m.view().row_range(0, rows); }

// x becomes cap tanh(x / cap).
void soft_cap(double cap, std::span<float> x) {
  const auto c = static_cast<float>(cap);
  for (float& v : x) v = c * std::tanh(v / c);
}

}  // namespace

uint64_t FamilyPass::cache_bytes(const FamilyModel& model, size_t room) {
  const FamilyConfig& c = model.config();
  constexpr size_t kWidestPanel = 32;
  return uint64_t{sizeof(float)} * c.layers * c.kv_heads * cached_head_floats(c, room, kWidestPanel);
}

FamilyPass::FamilyPass(const FamilyModel& model, const Compute& compute, size_t room)
    : FamilyPass(model, compute, room, {}) {}

FamilyPass::FamilyPass(const FamilyModel& model, const Compute& compute, size_t room, const Shape& shape)
    : model_(model), config_(model.config()), compute_(compute), products_(compute), room_(room) {
  if (room == 0) bad_argument("room", "no room for a token", "at least 1");
  if (model.mixture())
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a mixture of experts cannot be run yet (" + std::string(config_.family->title) + ", " +
                         std::to_string(config_.experts) + " experts)",
                 .where = model.file().where(),
                 .expected = "a dense model",
                 .hint = "`spectrum(" + model.file().where() + ", expert=N)` reads the weights of one expert"});
  if (config_.scaling.kind == RotaryScaling::Kind::longrope && room > longest_text(config_))
    bad_argument("room", std::to_string(room) + " tokens at once",
                 "at most " + std::to_string(longest_text(config_)) + ", which the short factors of longrope are for");
  model.check_numbers(compute.pool);
  const FamilyConfig& c = config_;
  const Kernels& k = compute.kernels();
  chunk_ = shape.rows ? shape.rows : std::min(room, kChunk);
  logit_rows_ = std::clamp<size_t>(kLogitFloats / model.vocab(), 1, chunk_);
  value_stride_ = whole(c.head_dim, k.nr);
  key_floats_ = whole(room, k.nr) * c.head_dim;
  head_floats_ = cached_head_floats(c, room, k.nr);
  const size_t layers = shape.one_layer ? 1 : c.layers;
  for (size_t i = 0; i < layers; i++) cache_.emplace_back(shape.texts * c.kv_heads, head_floats_);
  rows_of_.resize(chunk_);
  const auto table = [&](bool local) {
    const std::vector<double> f = rotary_frequencies(c, local);
    const double size = local ? 1 : c.scaling.size;
    Turn t{Matrix<float>(room, f.size()), Matrix<float>(room, f.size())};
    for (size_t p = 0; p < room; p++)
      for (size_t j = 0; j < f.size(); j++) {
        t.cos(p, j) = static_cast<float>(size * std::cos(static_cast<double>(p) * f[j]));
        t.sin(p, j) = static_cast<float>(size * std::sin(static_cast<double>(p) * f[j]));
      }
    return t;
  };
  turn_ = table(false);
  if (c.local_theta > 0) local_turn_ = table(true);
  const size_t d = c.d_model, q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  x_ = Matrix<float>(chunk_, d), u_ = Matrix<float>(chunk_, d), sum_ = Matrix<float>(chunk_, d);
  q_ = Matrix<float>(chunk_, q), a_ = Matrix<float>(chunk_, q);
  k_ = Matrix<float>(chunk_, kv), v_ = Matrix<float>(chunk_, kv);
  y_ = Matrix<float>(chunk_, c.d_hidden);
  if (!shape.one_layer) logits_ = Matrix<float>(logit_rows_, model.vocab());
  const size_t strip = kStripTiles * k.mr;
  scores_ = Matrix<float>(compute.pool.size(), strip * whole(room, k.nr));
  norms_ = Matrix<float>(compute.pool.size(), 2 * whole(strip, kLineFloats));
}

float* FamilyPass::keys(size_t layer, size_t text, size_t head) {
  return cache_[layer % cache_.size()].view().row_ptr(text * config_.kv_heads + head);
}
float* FamilyPass::values(size_t layer, size_t text, size_t head) { return keys(layer, text, head) + key_floats_; }

void FamilyPass::set_texts(std::span<const TextRowsOf> texts) {
  texts_.assign(texts.begin(), texts.end());
  for (const TextRowsOf& t : texts)
    for (size_t i = 0; i < t.rows.count; i++) rows_of_[t.rows.first + i] = {t.text, t.position + i};
}

void FamilyPass::set_rows(size_t rows) {
  const TextRowsOf one[] = {{.text = 0, .rows = {0, rows}, .position = position_}};
  set_texts(one);
}

template <class Body>
void FamilyPass::each_rows(size_t rows, const Body& body) {
  if (rows <= kRowTile) return body(Range{0, rows});
  compute_.pool.for_tiles((rows + kRowTile - 1) / kRowTile, [&](size_t tile, size_t) {
    body(Range{tile * kRowTile, std::min(kRowTile, rows - tile * kRowTile)});
  });
}

void FamilyPass::plain_norm(ConstMatrixView<float> x, MatrixView<float> u) const {
  const auto eps = static_cast<float>(config_.eps);
  const Kernels& k = compute_.kernels();
  for (size_t i = 0; i < x.rows(); i++) {
    const float* from = x.row_ptr(i);
    float* to = u.row_ptr(i);
    if (config_.family->norm == FamilyNorm::layer) {
      const auto mean = static_cast<float>(k.sum(x.cols(), from) / static_cast<double>(x.cols()));
      for (size_t j = 0; j < x.cols(); j++) to[j] = from[j] - mean;
      from = to;
    }
    float inverse = 0;
    k.rmsnorm_forward(1, x.cols(), from, x.cols(), eps, to, x.cols(), &inverse);
    if (!(inverse > 0)) throw_overflow("a norm");  // 0 for infinite squares: the row would look sound
  }
}

double FamilyPass::norm_scale(std::span<const float> x) const {
  const auto n = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  if (config_.family->norm == FamilyNorm::layer)
    for (const float v : x) mean += v / n;
  for (const float v : x) squares += (v - mean) * (v - mean);
  return 1 / std::sqrt(squares / n + config_.eps);
}

const NormWeights& FamilyPass::norm_before_glu(size_t layer) const {
  const FamilyLayer& l = model_.layer(layer);
  return config_.parallel ? l.before_attention : l.before_glu;
}

void FamilyPass::norm(const NormWeights& w, MatrixView<float> x, MatrixView<float> u) {
  each_rows(x.rows(), [&](Range r) { norm_rows(w, r, x, u); });
}

void FamilyPass::norm_rows(const NormWeights& w, Range r, MatrixView<float> x, MatrixView<float> u) const {
  const MatrixView<float> from = x.row_range(r.first, r.count), to = u.row_range(r.first, r.count);
  if (!w.used) {
    for (size_t i = 0; i < r.count; i++) std::copy_n(from.row_ptr(i), from.cols(), to.row_ptr(i));
    return;
  }
  plain_norm(from, to);
  weigh(w, to);
}

void FamilyPass::weigh(const NormWeights& w, MatrixView<float> u) const {
  for (size_t i = 0; i < u.rows(); i++) {
    float* row = u.row_ptr(i);
    if (!w.weight.empty())
      for (size_t j = 0; j < u.cols(); j++) row[j] *= w.weight[j];
    if (!w.bias.empty())
      for (size_t j = 0; j < u.cols(); j++) row[j] += w.bias[j];
  }
}

void FamilyPass::change_glu(size_t layer, Change change) {
  check_argument(layer < config_.layers, "change_glu", "a layer of the model");
  changed_layer_ = layer, change_ = std::move(change);
  if (change_ && changed_.size() == 0) changed_ = Matrix<float>(chunk_, config_.d_model);
}

// What the GLU of the changed layer reads, from the stream x.
void FamilyPass::change(const NormWeights& before, MatrixView<float> x) {
  const MatrixView<float> to = first_rows(changed_, x.rows());
  norm({.used = before.used, .weight = {}, .bias = {}}, x, to);
  change_(to);
  if (before.used) weigh(before, to);
}

void FamilyPass::turn(const Turn& table, size_t heads, Range rows, MatrixView<float> x) const {
  const size_t pairs = config_.rotary_dims / 2, dim = config_.head_dim;
  for (size_t i = rows.first; i < rows.first + rows.count; i++) {
    const float* cos = table.cos.view().row_ptr(rows_of_[i].position);
    const float* sin = table.sin.view().row_ptr(rows_of_[i].position);
    for (size_t h = 0; h < heads; h++) {
      float* head = x.row_ptr(i) + h * dim;
      const size_t step = config_.adjacent ? 2 : 1, apart = config_.adjacent ? 1 : pairs;
      for (size_t j = 0; j < pairs; j++) {
        float &a = head[j * step], &b = head[j * step + apart];
        const float left = a, right = b;
        a = left * cos[j] - right * sin[j];
        b = right * cos[j] + left * sin[j];
      }
    }
  }
}

// Norms and turns of queries and keys, and keys and values to the cache.
void FamilyPass::keep(size_t layer, Range rows) {
  const FamilyConfig& c = config_;
  const FamilyLayer& l = model_.layer(layer);
  const Kernels& k = compute_.kernels();
  const auto eps = static_cast<float>(c.eps);
  const auto head_norm = [&](const std::vector<float>& weight, Matrix<float>& m) {
    if (weight.empty()) return;
    for (size_t i = rows.first; i < rows.first + rows.count; i++)
      for (size_t at = 0; at < m.cols(); at += weight.size()) {
        float* x = m.view().row_ptr(i) + at;
        float inverse = 0;
        k.rmsnorm_forward(1, weight.size(), x, 0, eps, x, 0, &inverse);
        for (size_t j = 0; j < weight.size(); j++) x[j] *= weight[j];
      }
  };
  head_norm(l.q_norm, q_);
  head_norm(l.k_norm, k_);
  const Turn& table = c.local_theta > 0 && c.windows[layer] > 0 ? local_turn_ : turn_;
  turn(table, c.heads, rows, q_);
  turn(table, c.kv_heads, rows, k_);
  const auto scale = static_cast<float>(c.attention_scale);
  const size_t nr = k.nr, dim = c.head_dim;
  for (size_t i = rows.first; i < rows.first + rows.count; i++) {
    for (float& v : q_.view().row(i)) v *= scale;
    const auto [text, at] = rows_of_[i];
    for (size_t h = 0; h < c.kv_heads; h++) {
      float* panel = keys(layer, text, h) + at / nr * nr * dim + at % nr;
      const float* key = k_.view().row_ptr(i) + h * dim;
      for (size_t j = 0; j < dim; j++) panel[j * nr] = key[j];
      std::copy_n(v_.view().row_ptr(i) + h * dim, dim, values(layer, text, h) + at * value_stride_);
    }
  }
}

// Some queries of one head, all of one text, over all keys that they see.
void FamilyPass::attend(size_t layer, size_t head, Range rows, size_t worker) {
  const FamilyConfig& c = config_;
  const Kernels& k = compute_.kernels();
  const size_t nr = k.nr, dim = c.head_dim, kv = head / (c.heads / c.kv_heads), window = c.windows[layer];
  const auto [text, first] = rows_of_[rows.first];
  const size_t seen = first + rows.count;
  const size_t low = window > 0 && first + 1 > window ? first + 1 - window : 0, start = low / nr * nr;
  const size_t width = whole(seen - start, nr);
  float* scores = scores_.view().row_ptr(worker);
  k.gemm({.m = rows.count,
          .n = width,
          .k = dim,
          .a = q_.view().row_ptr(rows.first) + head * dim,
          .a_tile = k.mr * q_.cols(),
          .a_row = q_.cols(),
          .a_k = 1,
          .b = keys(layer, text, kv) + start * dim,
          .b_panel = nr * dim,
          .b_k = nr,
          .c = scores,
          .c_row = width,
          .accumulate = false});
  if (c.attention_cap > 0) soft_cap(c.attention_cap, {scores, rows.count * width});
  // What lies before the window of a row.
  const auto hide = [&](float value) {
    for (size_t i = 0; window > 0 && i < rows.count; i++) {
      const size_t end = first + i + 1 > window ? first + i + 1 - window : 0;
      if (end > start) std::fill_n(scores + i * width, end - start, value);
    }
  };
  hide(-std::numeric_limits<float>::infinity());
  float* log_sums = norms_.view().row_ptr(worker);
  float* inverse = log_sums + norms_.cols() / 2;
  k.causal_softmax(rows.count, first + 1 - start, width, scores, width, log_sums, inverse);
  hide(0);
  float* out = a_.view().row_ptr(rows.first) + head * dim;
  k.gemm({.m = rows.count,
          .n = dim,
          .k = seen - start,
          .a = scores,
          .a_tile = k.mr * width,
          .a_row = width,
          .a_k = 1,
          .b = values(layer, text, kv) + start * value_stride_,
          .b_panel = nr,
          .b_k = value_stride_,
          .c = out,
          .c_row = a_.cols(),
          .accumulate = false});
  k.scale_rows(rows.count, dim, inverse, out, a_.cols(), out, a_.cols());
}

void FamilyPass::attention(size_t layer, size_t rows) {
  const FamilyConfig& c = config_;
  const FamilyLayer& l = model_.layer(layer);
  const MatrixView<float> u = first_rows(u_, rows);
  const StoredProducts::Task tasks[] = {
      {&l.q, u, first_rows(q_, rows)}, {&l.k, u, first_rows(k_, rows)}, {&l.v, u, first_rows(v_, rows)}};
  products_.run(tasks);
  each_rows(rows, [&](Range r) { keep(layer, r); });
  const size_t strip = kStripTiles * compute_.kernels().mr;
  strips_.clear();
  size_t work = 0;
  for (const TextRowsOf& t : texts_) {
    for (size_t first = 0; first < t.rows.count; first += strip)
      strips_.push_back({t.rows.first + first, std::min(strip, t.rows.count - first)});
    work += t.rows.count * (t.position + t.rows.count);
  }
  const auto one = [&](size_t tile, size_t worker) { attend(layer, tile % c.heads, strips_[tile / c.heads], worker); };
  if (work * c.heads * c.head_dim < kSmallWork)
    for (size_t t = 0; t < strips_.size() * c.heads; t++) one(t, 0);
  else
    compute_.pool.for_tiles(strips_.size() * c.heads, one);
  const StoredProducts::Task out[] = {{&l.o, first_rows(a_, rows), first_rows(sum_, rows)}};
  products_.run(out);
  if (const auto factor = static_cast<float>(c.attention_factor); factor != 1)
    for (float& v : std::span(sum_.data(), rows * sum_.cols())) v *= factor;
}

void FamilyPass::glu(size_t layer, MatrixView<float> u) {
  const FamilyLayer& l = model_.layer(layer);
  const MatrixView<float> y = first_rows(y_, u.rows());
  products_.run_glu(l.gate, l.up, config_.gate, u, y);
  const StoredProducts::Task out[] = {{&l.down, y, first_rows(sum_, u.rows())}};
  products_.run(out);
}

void FamilyPass::layer_forward(size_t layer, size_t rows, ResidualTrace* last, MatrixView<float> inputs) {
  const FamilyLayer& l = model_.layer(layer);
  const MatrixView<float> x = first_rows(x_, rows), u = first_rows(u_, rows), sum = first_rows(sum_, rows);
  // What attention (part 1) or the GLU (part 2) adds to the stream, and then, where it is given, the norm of
  // the stream: rows that are in the cache once serve both.
  const auto add = [&](const NormWeights& after, size_t part, const NormWeights* before) {
    each_rows(rows, [&](Range r) {
      if (after.used) norm_rows(after, r, sum, sum);
      compute_.kernels().add_rows(r.count, x.cols(), sum.row_ptr(r.first), sum.stride(), x.row_ptr(r.first),
                                  x.stride());
      if (before) norm_rows(*before, r, x, u);
    });
    if (last) last->keep_stream(2 * layer + part, x.row_ptr(rows - 1));
  };
  const auto keep_input = [&] {
    const NormWeights plain{.used = norm_before_glu(layer).used, .weight = {}, .bias = {}};
    if (last) norm(plain, x.row_range(rows - 1, 1), last->glu_inputs.view().row_range(layer, 1));
    if (inputs.empty()) return;
    norm(plain, x, inputs);
    if (!all_finite(inputs)) throw_overflow("layer " + std::to_string(layer + 1));
  };
  if (config_.parallel) keep_input();
  const bool changed = change_ && layer == changed_layer_;
  norm(l.before_attention, x, u);
  if (changed && config_.parallel) change(l.before_attention, x);
  attention(layer, rows);
  add(l.after_attention, 1, config_.parallel ? nullptr : &l.before_glu);
  if (!config_.parallel) {
    keep_input();
    if (changed) change(l.before_glu, x);
  }
  glu(layer, changed ? first_rows(changed_, rows) : u);
  if (last && l.after_glu.used) last->glu_scale[layer] = norm_scale(sum.row(rows - 1));
  add(l.after_glu, 2, nullptr);
}

void FamilyPass::embed(std::span<const TokenId> tokens, MatrixView<float> x) const {
  const auto scale = static_cast<float>(config_.embedding_scale);
  for (size_t i = 0; i < tokens.size(); i++) {
    widen_rows(model_.embedding(), tokens[i], x.row_range(i, 1));
    if (scale != 1)
      for (float& v : x.row(i)) v *= scale;
  }
}

void FamilyPass::rewind(size_t position) {
  if (position > position_)
    bad_argument("position", "only " + std::to_string(position_) + " tokens were fed", "at most as many");
  position_ = position;
}

void FamilyPass::check_tokens_fit(std::span<const TokenId> tokens) const {
  check_tokens(tokens, model_.vocab());
  if (tokens.size() > room_ - position_)
    bad_argument("tokens", std::to_string(tokens.size()) + " tokens after " + std::to_string(position_),
                 "room for " + std::to_string(room_));
}

// Logits of some rows of the chunk, whose last norm is in u_.
void FamilyPass::head(Range rows, bool capped) {
  const StoredProducts::Task task[] = {
      {&model_.head(), u_.view().row_range(rows.first, rows.count), first_rows(logits_, rows.count)}};
  products_.run(task);
  const MatrixView<float> logits = first_rows(logits_, rows.count);
  if (capped && config_.logit_cap > 0)
    each_rows(rows.count, [&](Range r) {
      for (size_t i = 0; i < r.count; i++) soft_cap(config_.logit_cap, logits.row(r.first + i));
    });
  if (!all_finite(logits)) throw_overflow("the logits");
}

size_t FamilyPass::layers_forward(std::span<const TokenId> tokens) {
  size_t rows = 0;
  for (size_t first = 0; first < tokens.size(); first += rows) {
    rows = std::min(chunk_, tokens.size() - first);
    embed(tokens.subspan(first, rows), first_rows(x_, rows));
    set_rows(rows);
    for (size_t i = 0; i < config_.layers; i++) layer_forward(i, rows);
    position_ += rows;
  }
  return rows;
}

void FamilyPass::prime(std::span<const TokenId> tokens) {
  check_tokens_fit(tokens);
  layers_forward(tokens);
}

std::span<float> FamilyPass::feed(std::span<const TokenId> tokens) {
  check_argument(!tokens.empty(), "feed", "at least one token");
  check_tokens_fit(tokens);
  const size_t rows = layers_forward(tokens);
  norm(model_.final_norm(), x_.view().row_range(rows - 1, 1), first_rows(u_, 1));
  head({0, 1});
  return logits_.view().row(0);
}

void FamilyPass::feed_all(std::span<const TokenId> tokens, const std::function<void(size_t, MatrixView<float>)>& each) {
  check_tokens_fit(tokens);
  for (size_t first = 0; first < tokens.size(); first += chunk_) {
    const size_t rows = std::min(chunk_, tokens.size() - first);
    embed(tokens.subspan(first, rows), first_rows(x_, rows));
    set_rows(rows);
    for (size_t i = 0; i < config_.layers; i++) layer_forward(i, rows);
    position_ += rows;
    norm(model_.final_norm(), first_rows(x_, rows), first_rows(u_, rows));
    for (size_t at = 0; at < rows; at += logit_rows_) {
      const Range r{at, std::min(logit_rows_, rows - at)};
      head(r);
      each(first + at, first_rows(logits_, r.count));
    }
  }
}

void FamilyPass::layer_of(size_t layer, std::span<const TextRowsOf> texts, MatrixView<float> stream,
                          MatrixView<float> inputs) {
  const size_t rows = stream.rows();
  check_argument(rows <= chunk_ && stream.cols() == x_.cols(), "layer_of", "at most the rows of the pass");
  for (size_t i = 0; i < rows; i++) std::ranges::copy(stream.row(i), x_.view().row_ptr(i));
  set_texts(texts);
  layer_forward(layer, rows, nullptr, inputs);
  for (size_t i = 0; i < rows; i++) std::ranges::copy(x_.view().row(i), stream.row_ptr(i));
}

ResidualTrace FamilyPass::follow(std::span<const TokenId> tokens) {
  check_argument(!tokens.empty(), "follow", "at least one token");
  check_tokens_fit(tokens);
  ResidualTrace out(config_.layers, config_.d_model, model_.vocab());
  for (size_t first = 0; first < tokens.size(); first += chunk_) {
    const size_t rows = std::min(chunk_, tokens.size() - first);
    const bool last = first + rows == tokens.size();
    embed(tokens.subspan(first, rows), first_rows(x_, rows));
    set_rows(rows);
    if (last) out.keep_stream(0, x_.view().row_ptr(rows - 1));
    for (size_t i = 0; i < config_.layers; i++) layer_forward(i, rows, last ? &out : nullptr);
    position_ += rows;
    if (!last) continue;
    if (model_.final_norm().used) out.last_scale = norm_scale(x_.view().row(rows - 1));
    norm(model_.final_norm(), x_.view().row_range(rows - 1, 1), first_rows(u_, 1));
    head({0, 1}, false);
  }
  std::ranges::copy(logits_.view().row(0), out.logits.begin());
  return out;
}

}  // namespace glint

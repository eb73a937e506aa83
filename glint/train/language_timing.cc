#include "glint/base/rng.h"
#include "glint/base/statistics.h"
#include "glint/nn/vocab_loss.h"
#include "glint/train/optimizer.h"
#include "glint/train/timing.h"

namespace glint {
namespace {

// What no step can do without: the three products of every linear layer, in chunks of rows as the model has
// them, and nothing between.
class BareLanguageProducts {
 public:
  BareLanguageProducts(const Compute& compute, const TransformerConfig& c) : compute_(compute) {
    const size_t d = c.d_model, h = c.hidden();
    for (size_t i = 0; i < c.layers; i++)
      for (const auto& [n, k] : {std::pair(3 * d, d), std::pair(d, d), std::pair(2 * h, d), std::pair(d, h)})
        layers_.emplace_back(compute.products, n, k);
    for (size_t first = 0; first < c.vocab; first += VocabHead::kBlock)
      layers_.emplace_back(compute.products, std::min(VocabHead::kBlock, c.vocab - first), d);
    size_t widest = 0, gradients = 0;
    for (PackedWeights& w : layers_) {
      w.pack_all(compute, Matrix<float>(w.rows(), w.cols()).view());
      widest = std::max({widest, w.rows(), w.cols()});
      gradients += w.rows() * w.cols();
    }
    for (size_t i = 0; i < compute.pool.size(); i++) {
      x_.emplace_back(kRows, padded_stride(widest));
      y_.emplace_back(kRows, padded_stride(widest));
      gradients_.emplace_back(1, gradients);
    }
  }

  void run(size_t tokens) {
    compute_.pool.for_tiles((tokens + kRows - 1) / kRows, [&](size_t tile, size_t worker) {
      const size_t rows = std::min(kRows, tokens - tile * kRows);
      float* dw = gradients_[worker].data();
      for (const PackedWeights& w : layers_) {
        const MatrixView<float> x = x_[worker].view().row_range(0, rows).col_range(0, w.cols()),
                                y = y_[worker].view().row_range(0, rows).col_range(0, w.rows());
        linear_forward(compute_.products, x, w, y, compute_.scratch[worker]);
        linear_backward(compute_.products, y, w, x, false, compute_.scratch[worker]);
        weight_gradient(compute_.products, y, x, {dw, w.rows(), w.cols()}, true, compute_.scratch[worker]);
        dw += w.rows() * w.cols();
      }
    });
  }

 private:
  static constexpr size_t kRows = 128;
  const Compute& compute_;
  std::vector<PackedWeights> layers_;
  std::vector<Matrix<float>> x_, y_, gradients_;  // one per worker
};

}  // namespace

std::vector<size_t> timing_lengths(const LanguageTimingOptions& o) {
  const Rng rng(1, Stream::test);
  const size_t least = std::min(o.shortest, o.model.context);
  std::vector<size_t> lengths(o.rows);
  for (size_t i = 0; i < o.rows; i++)
    lengths[i] = least + rng.below(static_cast<uint32_t>(o.model.context - least + 1), i);
  return lengths;
}

LanguageTiming time_language_step(const Compute& compute, const LanguageTimingOptions& o,
                                  const TimingProgress& progress) {
  TransformerEngine engine(o.model, compute, o.micro_batch, true);
  const ParamTable& table = engine.params().table;
  Adamw optimizer(table, {.beta2 = 0.95, .weight_decay = 0.1, .clip = 1.0});
  Matrix<float> params(1, table.floats()), gradients(1, table.floats());
  table.initialise(params.span(), 0);
  engine.set_weights(params.span());

  const Rng rng(0, Stream::test);
  const size_t context = o.model.context;
  std::vector<TokenId> ids(o.rows * (context + 1));
  for (size_t i = 0; i < ids.size(); i++)
    ids[i] = static_cast<TokenId>(rng.below(static_cast<uint32_t>(o.model.vocab), i));
  std::vector<TokenRow> rows;
  LanguageTiming t;
  const std::vector<size_t> lengths = timing_lengths(o);
  for (size_t i = 0; i < o.rows; i++) {
    const std::span<const TokenId> row(ids.data() + i * (context + 1), lengths[i] + 1);
    rows.push_back({row.first(lengths[i]), row.last(lengths[i])});
    t.tokens += lengths[i];
  }
  uint64_t step = 0;
  const auto one_step = [&] {
    engine.forward_backward(rows, gradients.span());
    optimizer.step(compute, ++step, 1e-3, gradients.span(), params.span());
    engine.set_weights(params.span());
  };
  one_step();
  BareLanguageProducts products(compute, o.model);
  products.run(t.tokens);
  std::vector<double> times, bare;
  for (size_t r = 0; r < o.repeats; r++) {
    times.push_back(milliseconds_of(one_step));
    bare.push_back(milliseconds_of([&] { products.run(t.tokens); }));
    if (progress) progress(r + 1, o.repeats);
  }
  static_cast<TimeSpread&>(t) = time_spread(times);
  t.products_ms = quantile(bare, 0.5);
  return t;
}

}  // namespace glint

#include "glint/train/language_timing.h"

#include <chrono>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"
#include "glint/train/optimizer.h"

namespace glint {

std::vector<size_t> timing_lengths(const LanguageTimingOptions& o) {
  const Rng rng(1, Stream::test);
  const size_t least = std::min(o.shortest, o.model.context);
  std::vector<size_t> lengths(o.rows);
  for (size_t i = 0; i < o.rows; i++)
    lengths[i] = least + rng.below(static_cast<uint32_t>(o.model.context - least + 1), i);
  return lengths;
}

LanguageTiming time_language_step(const Compute& compute, const LanguageTimingOptions& o,
                                  const std::function<void(size_t, size_t)>& progress) {
  TransformerEngine engine(o.model, compute, o.micro_batch, true);
  const ParamTable& table = engine.params().table;
  Adamw optimizer(table, {.beta2 = 0.95, .weight_decay = 0.1, .clip = 1.0});
  Matrix<float> params(1, table.floats()), gradients(1, table.floats());
  table.initialise(params.span(), 0);
  engine.set_weights(params.span());

  const Rng rng(0, Stream::test);
  const size_t context = o.model.context;
  std::vector<uint16_t> ids(o.rows * (context + 1));
  for (size_t i = 0; i < ids.size(); i++)
    ids[i] = static_cast<uint16_t>(rng.below(static_cast<uint32_t>(o.model.vocab), i));
  std::vector<TokenRow> rows;
  LanguageTiming t;
  const std::vector<size_t> lengths = timing_lengths(o);
  for (size_t i = 0; i < o.rows; i++) {
    const std::span<const uint16_t> row(ids.data() + i * (context + 1), lengths[i] + 1);
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
  std::vector<double> times;
  for (size_t r = 0; r < o.repeats; r++) {
    const auto start = std::chrono::steady_clock::now();
    one_step();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (progress) progress(r + 1, o.repeats);
  }
  t.repeats = o.repeats;
  t.median_ms = quantile(times, 0.5);
  t.low_ms = quantile(times, 0.25);
  t.high_ms = quantile(times, 0.75);
  t.best_ms = quantile(times, 0);
  return t;
}

}  // namespace glint

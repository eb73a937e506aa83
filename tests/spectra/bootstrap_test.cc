#include "glint/spectra/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "glint/base/rng.h"
#include "glint/spectra/measures.h"

namespace glint {
namespace {

// y = signal, form = signal + noise: R2 is 1 - noise^2 / signal^2.
struct NoisyForm {
  Matrix<double> model, form;
  std::vector<size_t> blocks;
  NoisyForm(size_t count, size_t length, double noise) : model(count * length, 2), form(count * length, 2) {
    const Rng rng(5, Stream::test);
    for (size_t i = 0; i < model.rows(); i++)
      for (size_t u = 0; u < 2; u++) {
        model(i, u) = 3 + rng.normal(4 * i + u);
        form(i, u) = model(i, u) + noise * rng.normal(4 * i + 2 + u);
      }
    blocks.assign(count, length);
  }
};

TEST(Bootstrap, IntervalsHoldR2AndShrinkWithMoreTexts) {
  const NoisyForm few(20, 10, 0.5), many(500, 10, 0.5);
  for (const NoisyForm* f : {&few, &many}) {
    const R2Intervals found = bootstrap_r2(f->model, f->form, f->blocks);
    const Fidelity whole = fidelity(f->model, f->form);
    EXPECT_LT(found.all.low, whole.r2);
    EXPECT_GT(found.all.high, whole.r2);
    ASSERT_EQ(found.unit.size(), 2u);
    for (size_t u = 0; u < 2; u++) {
      EXPECT_LT(found.unit[u].low, whole.units[u].r2);
      EXPECT_GT(found.unit[u].high, whole.units[u].r2);
    }
  }
  // 25 times the texts: a fifth of the width, within a factor of 2.
  const auto width = [](const NoisyForm& f) {
    const R2Intervals found = bootstrap_r2(f.model, f.form, f.blocks);
    return found.all.high - found.all.low;
  };
  EXPECT_LT(width(many), 0.4 * width(few));
  EXPECT_GT(width(many), 0.1 * width(few));
  // The truth, 1 - 0.25, is in the interval of many.
  const R2Intervals found = bootstrap_r2(many.model, many.form, many.blocks);
  EXPECT_LT(found.all.low, 0.75);
  EXPECT_GT(found.all.high, 0.75);
}

// One block: every draw is the data themselves.
TEST(Bootstrap, OneBlockHasNoWidth) {
  const NoisyForm one(1, 50, 0.3);
  const R2Intervals found = bootstrap_r2(one.model, one.form, one.blocks);
  const Fidelity whole = fidelity(one.model, one.form);
  EXPECT_NEAR(found.all.low, whole.r2, 1e-12);
  EXPECT_NEAR(found.all.high, whole.r2, 1e-12);
}

// Tokens of a text that are all wrong together widen the interval more than as many that are wrong alone.
TEST(Bootstrap, TextsAreDrawnWhole) {
  NoisyForm together(50, 20, 0), apart(50, 20, 0);
  for (size_t i = 0; i < 100; i++)
    for (size_t u = 0; u < 2; u++) together.form(i, u) += 2, apart.form(i * 10, u) += 2;
  const auto width = [](const NoisyForm& f) {
    const R2Intervals found = bootstrap_r2(f.model, f.form, f.blocks);
    return found.all.high - found.all.low;
  };
  EXPECT_GT(width(together), 2 * width(apart));
}

TEST(Bootstrap, LongTextsAreCut) {
  const std::vector<TokenId> ids(1000, 1);
  const std::span<const TokenId> all(ids);
  const std::vector<TokenRow> rows = {
      {all.first(10), {}}, {all.first(600), {}}, {all.first(256), {}}, {all.first(5), {}}};
  EXPECT_EQ(token_blocks(rows, 10000), (std::vector<size_t>{10, 200, 200, 200, 256, 5}));
  EXPECT_EQ(token_blocks(rows, 11), (std::vector<size_t>{10, 200, 200, 200}));  // whole rows
}

}  // namespace
}  // namespace glint

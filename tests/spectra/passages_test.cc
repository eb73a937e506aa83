// Passages: what is found against a search by hand, and what must not matter.
#include "glint/spectra/passages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "glint/base/rng.h"
#include "tests/spectra/fixtures.h"

namespace glint {
namespace {

// A layer whose input at a token is a vector of that token alone: what is found can be checked by hand.
class BagModel : public GluModel {
 public:
  static constexpr size_t kVocab = 40, kWidth = 6, kHidden = 5;
  BagModel(const LinearAlgebra& linalg, ThreadPool& pool, bool bias = false) : linalg_(linalg), pool_(pool) {
    const Rng rng(3, Stream::test);
    uint64_t at = 0;
    for (Matrix<float>* m : {&left_, &right_, &inputs_})
      for (float& v : m->span()) v = static_cast<float>(rng.normal(at++));
    if (bias)
      for (size_t h = 0; h < kHidden; h++) bias_.push_back(0.1f * static_cast<float>(h));
  }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return pool_; }
  size_t layers() const override { return 1; }
  GluLayerView layer(size_t) const override {
    return {.left = left_, .right = right_, .bias_left = bias_, .bias_right = bias_, .gate = {GateKind::Silu, {}}};
  }
  WeightRows projection(size_t) const override { return {}; }
  InputMap input_map() const override { return {.matrix = inputs_, .row_is_input = true, .bias = {}}; }
  std::string weights_hash() const override { return ""; }
  Activations activations(size_t, const ModelInputs& samples) const override {
    size_t n = 0;
    const auto rows = std::get<std::span<const TokenRow>>(samples);
    for (const TokenRow& row : rows) n += row.input.size();
    Activations a;
    a.inputs = Matrix<float>(n, kWidth);
    n = 0;
    for (const TokenRow& row : rows)
      for (const TokenId t : row.input) std::ranges::copy(inputs_.view().row(t), a.inputs.view().row_ptr(n++));
    return a;
  }
  double projected(std::span<const double> v, TokenId t) const {
    double sum = v.size() > kWidth ? v[kWidth] : 0;
    for (size_t j = 0; j < kWidth; j++) sum += v[j] * inputs_(t, j);
    return sum;
  }
  double unit(size_t h, TokenId t) const {
    double l = bias_.empty() ? 0 : bias_[h], r = l;
    for (size_t j = 0; j < kWidth; j++)
      l += static_cast<double>(left_(h, j)) * inputs_(t, j), r += static_cast<double>(right_(h, j)) * inputs_(t, j);
    return l / (1 + std::exp(-l)) * r;
  }

 private:
  const LinearAlgebra& linalg_;
  ThreadPool& pool_;
  Matrix<float> left_{kHidden, kWidth}, right_{kHidden, kWidth}, inputs_{kVocab, kWidth};
  std::vector<float> bias_;
};

std::vector<Stretch> stories(size_t count, size_t length, uint64_t seed = 4) {
  const Rng rng(seed, Stream::test);
  std::vector<Stretch> out;
  uint64_t at = 0;
  for (size_t s = 0; s < count; s++) {
    Stretch one{.story = s, .first = 0, .tokens = {}};
    for (size_t i = 0; i < length + s % 7; i++)
      one.tokens.push_back(static_cast<TokenId>(rng.below(BagModel::kVocab, at++)));
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Probe> two_probes(size_t width) {
  Probe vector{.value = -2.5, .vector = std::vector<double>(width, 0.3)};
  vector.vector[1] = -0.8;
  Probe unit{.weights = std::vector<double>(BagModel::kHidden), .sign = -1};
  unit.weights[2] = 1;
  return {vector, unit};
}

struct Found {
  std::vector<ProbePassages> probes;
  uint64_t tokens;
};
Found find(const std::vector<Stretch>& text, size_t threads, size_t at_once, const PassageOptions& options,
           bool bias = false) {
  ThreadPool pool(threads);
  const LinearAlgebra linalg;
  const BagModel model(linalg, pool, bias);
  PassageFinder finder(model, 0, two_probes(BagModel::kWidth + bias), options);
  for (size_t i = 0; i < text.size(); i += at_once)
    finder.add(std::span(text).subspan(i, std::min(at_once, text.size() - i)));
  return {finder.result(), finder.tokens()};
}

// The strongest token of every story, sorted: with many stories no two passages are of one.
TEST(Passages, AreThoseOfASearchByHand) {
  for (const bool bias : {false, true}) {
    const std::vector<Stretch> text = stories(50, 60);
    const Found found = find(text, 2, 50, {.count = 6, .before = 4, .after = 3}, bias);
    ThreadPool pool(1);
    const LinearAlgebra linalg;
    const BagModel model(linalg, pool, bias);
    const std::vector<Probe> probes = two_probes(BagModel::kWidth + bias);
    for (size_t p = 0; p < 2; p++) {
      std::vector<std::pair<double, uint64_t>> best;
      double sum = 0;
      uint64_t tokens = 0;
      for (const Stretch& s : text) {
        double strongest = 0;
        for (const TokenId t : s.tokens) {
          const double shown = p == 0 ? model.projected(probes[0].vector, t) : model.unit(2, t);
          const double strength = p == 0 ? 2.5 * shown * shown : -shown;
          strongest = std::max(strongest, strength);
          sum += std::fabs(strength), tokens++;
        }
        best.emplace_back(-strongest, s.story);
      }
      std::ranges::sort(best);
      const ProbePassages& got = found.probes[p];
      EXPECT_EQ(found.tokens, tokens);
      EXPECT_NEAR(got.mean, sum / static_cast<double>(tokens), 1e-5 * got.mean);
      ASSERT_EQ(got.passages.size(), 6u);
      for (size_t i = 0; i < 6; i++) {
        const Passage& a = got.passages[i];
        // Sums of six products in float and double.
        EXPECT_NEAR(a.strength, -best[i].first, 1e-5 * a.strength);
        EXPECT_EQ(a.tokens.size(), a.shown.size());
        EXPECT_LE(a.tokens.size(), 8u);
        for (size_t t = 0; t < a.tokens.size(); t++) EXPECT_EQ(a.tokens[t], text[a.story].tokens[a.first + t]);
        for (size_t k = 0; k < i; k++) EXPECT_NE(a.story, got.passages[k].story);
      }
    }
  }
}

TEST(Passages, AreTheSameAtAnyNumberOfThreads) {
  const std::vector<Stretch> text = stories(40, 30);
  const PassageOptions options{.count = 5};
  const Found one = find(text, 1, 8, options), three = find(text, 3, 8, options);
  for (size_t p = 0; p < 2; p++) {
    ASSERT_EQ(one.probes[p].passages.size(), three.probes[p].passages.size());
    EXPECT_EQ(one.probes[p].mean, three.probes[p].mean);
    for (size_t i = 0; i < one.probes[p].passages.size(); i++) {
      const Passage &a = one.probes[p].passages[i], &b = three.probes[p].passages[i];
      EXPECT_EQ(std::tie(a.story, a.first, a.tokens, a.shown, a.strongest, a.strength),
                std::tie(b.story, b.first, b.tokens, b.shown, b.strongest, b.strength));
    }
  }
}

// Few stories: several passages of one, which do not overlap.
TEST(Passages, OfOneStoryDoNotOverlap) {
  const std::vector<Stretch> text = stories(1, 400);
  const Found found = find(text, 2, 1, {.count = 8, .before = 10, .after = 5});
  for (const ProbePassages& p : found.probes) {
    ASSERT_EQ(p.passages.size(), 8u);
    for (size_t i = 0; i < 8; i++)
      for (size_t k = 0; k < i; k++) {
        const Passage &a = p.passages[i], &b = p.passages[k];
        EXPECT_TRUE(a.first >= b.first + b.tokens.size() || b.first >= a.first + a.tokens.size());
      }
  }
}

// Stories that begin alike give the same passage once; of stretches that overlap a token counts once.
TEST(Passages, LeaveOutWhatTheyHave) {
  std::vector<Stretch> text = stories(1, 30);
  for (uint64_t s = 1; s < 20; s++) {
    text.push_back(text[0]);
    text.back().story = s;
  }
  const PassageOptions options{.count = 4, .before = 40, .after = 0};
  const Found found = find(text, 1, 3, options);
  for (const ProbePassages& p : found.probes)
    for (size_t i = 0; i < p.passages.size(); i++)
      for (size_t k = 0; k < i; k++) EXPECT_NE(p.passages[i].tokens, p.passages[k].tokens);

  std::vector<Stretch> whole = stories(1, 60), cut(2, whole[0]);
  cut[0].tokens.resize(40);
  cut[1].tokens.erase(cut[1].tokens.begin(), cut[1].tokens.begin() + 20);
  cut[1].first = 20, cut[1].from = 20;
  const Found a = find(whole, 1, 1, {.count = 1}), b = find(cut, 1, 2, {.count = 1});
  EXPECT_EQ(a.tokens, b.tokens);
  for (size_t p = 0; p < 2; p++) {
    EXPECT_NEAR(a.probes[p].mean, b.probes[p].mean, 1e-9 * a.probes[p].mean);
    const Passage &x = a.probes[p].passages[0], &y = b.probes[p].passages[0];
    EXPECT_EQ(x.first + x.strongest, y.first + y.strongest);
  }
}

// Tokens that do not count are never the strongest.
TEST(Passages, SkipMarks) {
  std::vector<Stretch> text = stories(30, 10);
  for (Stretch& s : text) s.from = 9;
  const Found found = find(text, 1, 30, {.count = 30, .before = 20, .after = 20});
  for (const ProbePassages& p : found.probes)
    for (const Passage& a : p.passages) EXPECT_GE(a.first + a.strongest, 9u);
}

}  // namespace
}  // namespace glint

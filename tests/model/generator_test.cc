#include "glint/model/generator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "glint/base/error.h"
#include "glint/base/rng.h"
#include "glint/model/sampling.h"

namespace glint {
namespace {

struct Machine {
  explicit Machine(size_t threads) : pool(threads), scratch(pool.size()) {}
  const CpuInfo cpu = detect_cpu();
  Products products{kernels(cpu.best)};
  ThreadPool pool;
  Scratch scratch;
  Compute compute{products, pool, scratch};
};

Matrix<float> random_weights(const TransformerConfig& config) {
  const TransformerParams params = transformer_params(config);
  Matrix<float> weights(1, params.table.floats());
  params.table.initialise(weights.span(), 3);
  return weights;
}

std::vector<TokenId> random_tokens(size_t n, size_t vocab, uint32_t sub) {
  const Rng rng(5, Stream::test, sub);
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < n; i++) tokens.push_back(static_cast<TokenId>(rng.below(vocab, i)));
  return tokens;
}

// Shapes whose heads and contexts are and are not whole panels, and vocabularies beyond one block.
const std::vector<TransformerConfig> kShapes = {
    {.vocab = 1100, .layers = 2, .d_model = 64, .d_hidden = 48, .heads = 2, .context = 40, .gate = {}},
    {.vocab = 37, .layers = 3, .d_model = 24, .heads = 4, .context = 33, .gate = {}},
    {.vocab = 512, .layers = 1, .d_model = 32, .heads = 1, .context = 16, .gate = {}},
};

// Stories of different lengths side by side, in slots in any order: each has the logits of the whole pass.
// The sums of both have other orders; 1e-5 of the largest logit is some 80 roundings of a float.
TEST(Generator, LogitsAreThoseOfTheEngine) {
  for (TransformerConfig config : kShapes)
    for (const GateKind gate : {GateKind::Sqs, GateKind::Gelu}) {
      config.gate.kind = gate;
      const Machine m(2);
      const Matrix<float> weights = random_weights(config);
      TransformerEngine engine(config, m.compute, 1, false);
      engine.set_weights(weights.span());
      const std::vector<size_t> lengths = {config.context, 1, config.context - 1, 7, 13, 2, 9};
      Generator generator(config, m.compute, lengths.size());
      generator.set_weights(weights.span());
      std::vector<std::vector<TokenId>> stories;
      std::vector<Matrix<float>> expected;
      for (size_t s = 0; s < lengths.size(); s++) {
        stories.push_back(random_tokens(lengths[s], config.vocab, static_cast<uint32_t>(s)));
        expected.emplace_back(lengths[s], config.vocab);
        engine.logits({stories[s], stories[s]}, expected[s]);
      }
      for (size_t t = 0; t < config.context; t++) {
        std::vector<uint32_t> slots;
        std::vector<TokenId> tokens;
        for (size_t s = stories.size(); s-- > 0;)
          if (t < stories[s].size()) slots.push_back(static_cast<uint32_t>(s)), tokens.push_back(stories[s][t]);
        const MatrixView<float> logits = generator.step(slots, tokens);
        for (size_t i = 0; i < slots.size(); i++) {
          const std::span<const float> row = std::as_const(expected[slots[i]]).view().row(t);
          float top = 0, error = 0;
          for (size_t j = 0; j < config.vocab; j++) {
            top = std::max(top, std::abs(row[j]));
            error = std::max(error, std::abs(row[j] - logits(i, j)));
          }
          ASSERT_LE(error, 1e-5f * std::max(top, 1.0f)) << "story " << slots[i] << ", token " << t;
        }
      }
      EXPECT_TRUE(generator.full(0));
      EXPECT_EQ(generator.position(3), 7u);
    }
}

// Alone, in a crowd, in another slot, at any number of threads: the same bits.
TEST(Generator, AStoryDoesNotDependOnTheOthers) {
  const TransformerConfig& config = kShapes[0];
  const Matrix<float> weights = random_weights(config);
  const std::vector<TokenId> story = random_tokens(20, config.vocab, 77);
  std::vector<float> expected;
  for (const size_t threads : {1, 3})
    for (const size_t others : {size_t{0}, size_t{1}, size_t{5}, size_t{20}}) {
      const Machine m(threads);
      Generator generator(config, m.compute, others + 1);
      generator.set_weights(weights.span());
      std::vector<float> last;
      for (size_t t = 0; t < story.size(); t++) {
        std::vector<uint32_t> slots;
        std::vector<TokenId> tokens;
        for (size_t s = 0; s < others; s++) {
          slots.push_back(static_cast<uint32_t>(s));
          tokens.push_back(static_cast<TokenId>((s * 31 + t * 7) % config.vocab));
        }
        slots.push_back(static_cast<uint32_t>(others));
        tokens.push_back(story[t]);
        const MatrixView<float> logits = generator.step(slots, tokens, t + 1 == story.size());
        if (t + 1 == story.size()) last.assign(logits.row(others).begin(), logits.row(others).end());
      }
      if (expected.empty()) expected = last;
      EXPECT_EQ(last, expected) << threads << " threads, " << others << " others";
    }
}

TEST(Generator, CopyGoesOnWhereTheOtherWas) {
  const TransformerConfig& config = kShapes[1];
  const Matrix<float> weights = random_weights(config);
  const Machine m(1);
  Generator generator(config, m.compute, 2);
  generator.set_weights(weights.span());
  const std::vector<TokenId> tokens = random_tokens(10, config.vocab, 1);
  const uint32_t slots[] = {0, 1};
  for (size_t t = 0; t < 9; t++) generator.step({slots, 1}, std::span(tokens).subspan(t, 1), false);
  generator.copy(0, 1);
  EXPECT_EQ(generator.position(1), 9u);
  const TokenId both[] = {tokens[9], tokens[9]};
  const MatrixView<float> logits = generator.step(slots, both);
  EXPECT_TRUE(std::equal(logits.row(0).begin(), logits.row(0).end(), logits.row(1).begin()));
  // A slot that is cleared starts anew.
  generator.clear(1);
  EXPECT_EQ(generator.position(1), 0u);
  const MatrixView<float> fresh = generator.step({slots + 1, 1}, {both, 1});
  const std::vector<float> first(fresh.row(0).begin(), fresh.row(0).end());
  generator.clear(0);
  const MatrixView<float> again = generator.step({slots, 1}, {both, 1});
  EXPECT_TRUE(std::equal(first.begin(), first.end(), again.row(0).begin()));
}

const Kernels& best() {
  static const Kernels& table = kernels(detect_cpu().best);
  return table;
}

std::map<TokenId, double> shares(const SamplingOptions& options, const std::vector<float>& logits, size_t draws) {
  Sampler sampler(options);
  std::map<TokenId, double> counts;
  for (size_t i = 0; i < draws; i++) {
    std::vector<float> copy = logits;
    counts[sampler.choose(best(), copy, (static_cast<double>(i) + 0.5) / static_cast<double>(draws))] +=
        1.0 / static_cast<double>(draws);
  }
  return counts;
}

// Random numbers in equal steps: the shares are the probabilities to one step.
TEST(Sampling, SharesAreTheSoftmax) {
  const std::vector<float> logits = {0, 2, -1, 1, 2};
  for (const double temperature : {0.5, 1.0, 3.0}) {
    double total = 0;
    for (const float l : logits) total += std::exp(l / temperature);
    const auto got = shares({.temperature = temperature}, logits, 2000);
    for (size_t i = 0; i < logits.size(); i++)
      EXPECT_NEAR(got.count(static_cast<TokenId>(i)) ? got.at(static_cast<TokenId>(i)) : 0,
                  std::exp(logits[i] / temperature) / total, 1.0 / 2000 + 1e-6);
  }
}

TEST(Sampling, TopKAndTopPAndGreedy) {
  const std::vector<float> logits = {0, 2, -1, 1, 2};  // 1 and 4 are equal
  const auto keys = [](const std::map<TokenId, double>& m) {
    std::vector<TokenId> k;
    for (const auto& [id, share] : m) k.push_back(id);
    return k;
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(keys(shares({.temperature = 0}, logits, 50)), (Ids{1}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_k = 1}, logits, 50)), (Ids{1}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_k = 2}, logits, 500)), (Ids{1, 4}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_k = 3}, logits, 500)), (Ids{1, 3, 4}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_k = 99}, logits, 5000)), (Ids{0, 1, 2, 3, 4}));
  // Probabilities: .053 .395 .020 .145 .395.
  EXPECT_EQ(keys(shares({.temperature = 1, .top_p = 0.3}, logits, 500)), (Ids{1}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_p = 0.7}, logits, 500)), (Ids{1, 4}));
  EXPECT_EQ(keys(shares({.temperature = 1, .top_p = 0.8}, logits, 500)), (Ids{1, 3, 4}));
  const auto two = shares({.temperature = 1, .top_k = 2}, logits, 1000);
  EXPECT_NEAR(two.at(1), 0.5, 0.001);
  // Equal logits, of which k are kept: the lower ids.
  EXPECT_EQ(keys(shares({.temperature = 1, .top_k = 2}, {1, 1, 1, 1}, 500)), (Ids{0, 1}));
  // A temperature that makes everything infinite still chooses the largest.
  EXPECT_EQ(keys(shares({.temperature = 1e-30}, {3, 5, 4}, 50)), (Ids{1}));
  EXPECT_THROW(Sampler({.temperature = -1}), Error);
  EXPECT_THROW(Sampler({.temperature = NAN}), Error);
  EXPECT_THROW(Sampler({.top_p = 0}), Error);
  EXPECT_THROW(Sampler({.top_p = 1.5}), Error);
  std::vector<float> bad = {NAN, NAN};
  EXPECT_THROW(Sampler({}).choose(best(), bad, 0.5), Error);
}

// Story 3 is story 3: whatever the count, the slots, their room, the threads and where the numbering starts.
TEST(Generate, StoriesDependOnTheirNumberAlone) {
  const TransformerConfig& config = kShapes[1];
  const Matrix<float> weights = random_weights(config);
  const TokenId prompt[] = {0, 5, 6};
  std::map<uint32_t, Story> expected;
  const struct {
    size_t threads, slots, first, count, room;
  } cases[] = {{1, 9, 0, 8, 0}, {2, 3, 0, 8, 32}, {1, 2, 3, 2, 0}, {3, 30, 2, 6, 32}};
  for (const auto& c : cases) {
    const Machine m(c.threads);
    Generator generator(config, m.compute, c.slots, c.room);
    generator.set_weights(weights.span());
    std::map<uint32_t, std::vector<TokenId>> streamed;
    size_t stories = 0;
    const GenerateCounts counts = generate(
        generator, m.compute,
        {.prompt = prompt, .end = 0, .first = c.first, .count = c.count, .sampling = {.temperature = 1.5, .seed = 4}},
        [&](uint32_t story, TokenId id) {
          streamed[story].push_back(id);
          return true;
        },
        [&](Story s) {
          stories++;
          EXPECT_EQ(s.ids, streamed[s.index]);
          EXPECT_TRUE(s.ended || s.ids.size() == config.context - 3);
          if (!expected.count(s.index)) expected[s.index] = s;
          EXPECT_EQ(expected[s.index].ids, s.ids) << s.index;
          EXPECT_EQ(expected[s.index].ended, s.ended);
        });
    EXPECT_EQ(stories, c.count);
    EXPECT_GE(counts.tokens, counts.steps);
  }
  ASSERT_EQ(expected.size(), 8u);
  EXPECT_NE(expected[0].ids, expected[1].ids);
}

// The slots are as large as the stories of the plan, and the stories the same.
TEST(Generate, RoomIsThatOfThePlan) {
  TransformerConfig config = kShapes[1];
  const Machine m(1);
  const Matrix<float> weights = random_weights(config);
  const TokenId prompt[] = {0, 5, 6};
  const StoryPlan plan{.prompt = prompt, .end = 60000, .count = 3, .tokens = 9, .sampling = {.seed = 2}};
  EXPECT_EQ(most_added(config, plan), 9u);
  EXPECT_EQ(story_room(config, plan), 11u);
  std::map<uint32_t, std::vector<TokenId>> expected;
  for (const size_t room : {size_t{0}, story_room(config, plan)})
    for (const size_t slots : {2, 4}) {
      Generator generator(config, m.compute, slots, room);
      EXPECT_EQ(generator.room(), room ? room : config.context);
      generator.set_weights(weights.span());
      generate(
          generator, m.compute, plan, [](uint32_t, TokenId) { return true; },
          [&](const Story& s) {
            EXPECT_EQ(s.ids.size(), 9u);
            expected.try_emplace(s.index, s.ids);
            EXPECT_EQ(expected[s.index], s.ids) << room << " room, " << slots << " slots";
          });
    }
  EXPECT_EQ(expected.size(), 3u);
  // Memory grows with the room, not with the context.
  const Kernels& k = m.compute.kernels();
  const size_t small = Generator::slot_bytes(config, k, 11), large = Generator::slot_bytes(config, k, 1024);
  config.context = kMaxContext;
  EXPECT_EQ(Generator::slot_bytes(config, k, 11), small);
  EXPECT_GE(large - small, 8 * config.layers * config.d_model * (1024 - 11 - k.nr));
}

TEST(Generate, PromptsThatDoNotFitAreErrors) {
  TransformerConfig config = kShapes[1];
  config.context = 2;
  const Machine m(1);
  const Matrix<float> weights = random_weights(config);
  Generator generator(config, m.compute, 2);
  generator.set_weights(weights.span());
  const TokenId prompt[] = {0, 5};
  const auto code = [&](size_t n) {
    try {
      generate(
          generator, m.compute, {.prompt = std::span(prompt, n), .end = 0}, [](uint32_t, TokenId) { return true; },
          [](const Story& s) { EXPECT_LE(s.ids.size(), 1u); });
    } catch (const Error& e) {
      return e.exit_code();
    }
    return 0;
  };
  EXPECT_EQ(code(0), 2);
  EXPECT_EQ(code(1), 0);
  EXPECT_EQ(code(2), 2);
}

TEST(Generate, StopsAtTheLimitAndWhenAsked) {
  const TransformerConfig& config = kShapes[1];
  const Matrix<float> weights = random_weights(config);
  const Machine m(1);
  Generator generator(config, m.compute, 2);
  generator.set_weights(weights.span());
  const TokenId prompt[] = {0};
  const TokenId never = 60000;
  size_t tokens = 0;
  generate(
      generator, m.compute, {.prompt = prompt, .end = never, .tokens = 5},
      [&](uint32_t, TokenId) { return ++tokens > 0; }, [](const Story& s) { EXPECT_FALSE(s.ended); });
  EXPECT_EQ(tokens, 5u);
  tokens = 0;
  generate(
      generator, m.compute, {.prompt = prompt, .end = never}, [&](uint32_t, TokenId) { return ++tokens > 0; },
      [](const Story&) {});
  EXPECT_EQ(tokens, config.context - 1);
  tokens = 0;
  generate(
      generator, m.compute, {.prompt = prompt, .end = never}, [&](uint32_t, TokenId) { return ++tokens < 3; },
      [](const Story&) { ADD_FAILURE() << "it was stopped"; });
  EXPECT_EQ(tokens, 3u);
}

}  // namespace
}  // namespace glint

// The language model's engine: values and gradients against a scalar double reference, and what must not
// matter: threads, micro-batches, the company that a sequence keeps, what comes later in it.
#include "glint/model/transformer.h"

#include <cstring>

#include "glint/base/rng.h"
#include "glint/model/family_pass.h"
#include "glint/nn/norm.h"
#include "glint/train/optimizer.h"
#include "tests/model/model_testing.h"
#include "tests/model/parity.h"
#include "tests/model/transformer_reference.h"

namespace glint {
namespace {

using namespace model_testing;

// Chunks of rows (two of 144 tokens), blocks of the vocabulary (two of 200), heads that are no whole panels.
TransformerConfig sample_config() {
  TransformerConfig c;
  c.vocab = 200;
  c.layers = 2;
  c.d_model = 24;
  c.d_hidden = 20;
  c.heads = 2;
  c.context = 144;
  c.gate.kind = GateKind::Silu;
  return c;
}

struct Text {
  std::vector<TokenId> ids;
  std::vector<TokenRow> rows;
  Text(size_t vocab, const std::vector<size_t>& lengths) {
    size_t total = 0;
    for (const size_t n : lengths) total += n + 1;
    const Rng rng(11, Stream::test);
    for (size_t i = 0; i < total; i++) ids.push_back(static_cast<TokenId>(rng.below(static_cast<uint32_t>(vocab), i)));
    size_t at = 0;
    for (const size_t n : lengths) {
      const std::span<const TokenId> row(ids.data() + at, n + 1);
      rows.push_back({row.first(n), row.last(n)});
      at += n + 1;
    }
  }
};
const std::vector<size_t> kLengths = {144, 7, 1, 133, 60, 24, 25, 90};

struct Model {
  TransformerEngine engine;
  Matrix<float> weights, gradients;
  Model(const TransformerConfig& config, const Compute& compute, size_t max_rows, bool training = true)
      : engine(config, compute, max_rows, training),
        weights(1, engine.params().table.floats()),
        gradients(1, weights.size()) {
    engine.params().table.initialise(weights.span(), 5);
    engine.set_weights(weights.span());
  }
  TextResult backward(std::span<const TokenRow> rows) { return engine.forward_backward(rows, gradients.span()); }
};

std::vector<std::byte> bytes(const Matrix<float>& m) {
  const auto b = std::as_bytes(m.span());
  return {b.begin(), b.end()};
}

double largest(std::span<const float> x) {
  double v = 0;
  for (const float f : x) v = std::max(v, std::fabs(static_cast<double>(f)));
  return v;
}

ReferenceTransformer<double> reference_of(const TransformerConfig& c, const Model& m) {
  return {c, m.engine.params(), {m.weights.span().begin(), m.weights.span().end()}};
}

TEST(Transformer, LogitsAndTraceMatchTheReference) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  for (const Isa isa : runnable_isas(cpu())) {
    const TestMachine machine(1, isa);
    for (const bool training : {false, true}) {
      Model model(c, machine.compute, 2, training);
      ReferenceTransformer<double> reference = reference_of(c, model);
      for (const TokenRow& row : std::span(text.rows).first(4)) {
        const auto want = reference.logits(row.input);
        Matrix<float> got(row.input.size(), c.vocab), input(row.input.size(), c.d_model);
        model.engine.logits(row, got);
        for (size_t i = 0; i < got.rows(); i++)
          expect_close<double>(got.view().row(i), want[i], 1e-5, "logits of " + std::to_string(i));
        for (size_t layer = 0; layer < c.layers; layer++) {
          model.engine.trace(row, layer, input);
          for (size_t i = 0; i < got.rows(); i++)
            expect_close<double>(input.view().row(i), reference.mlp_inputs()[layer][i], 1e-5,
                                 "trace of layer " + std::to_string(layer));
        }
      }
    }
  }
}

// The stream that is followed is the one that the other passes see, and rows side by side are rows alone.
TEST(Transformer, FollowsATokenThroughAllLayers) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  const TestMachine machine(2);
  Model model(c, machine.compute, 2, false);
  for (const TokenRow& row : std::span(text.rows).first(4)) {
    const ResidualTrace t = model.engine.follow(row);
    ASSERT_EQ(t.layers(), c.layers);
    const size_t n = row.input.size();
    const ConstMatrixView<float> wte =
        model.engine.params().table.view(model.weights.span(), model.engine.params().wte);
    EXPECT_TRUE(std::ranges::equal(t.stream.view().row(0), wte.row(row.input[n - 1])));
    Matrix<float> logits(n, c.vocab), input(n, c.d_model);
    model.engine.logits(row, logits);
    expect_close<float>(t.logits, logits.view().row(n - 1), 1e-6, "logits");
    for (size_t i = 0; i < c.layers; i++) {
      model.engine.trace(row, i, input);
      EXPECT_TRUE(std::ranges::equal(t.glu_inputs.view().row(i), input.view().row(n - 1)));
      // After the attention and before the norm: the same but for its length.
      double square = 0;
      for (const float v : t.stream.view().row(2 * i + 1)) square += static_cast<double>(v) * v;
      const double scale = 1 / std::sqrt(square / static_cast<double>(c.d_model) + kNormEps);
      for (size_t j = 0; j < c.d_model; j++) EXPECT_NEAR(scale * t.stream(2 * i + 1, j), t.glu_inputs(i, j), 1e-5);
    }
  }
  size_t tokens = 0, first = 0;
  for (const TokenRow& row : text.rows) tokens += row.input.size();
  Matrix<float> all(tokens, c.d_model);
  model.engine.trace(text.rows, 1, all);
  for (const TokenRow& row : text.rows) {
    Matrix<float> one(row.input.size(), c.d_model);
    model.engine.trace(row, 1, one);
    EXPECT_EQ(std::memcmp(one.data(), all.view().row_ptr(first), one.size() * sizeof(float)), 0);
    first += row.input.size();
  }
}

// Central differences of fourth order of the double reference, at a few weights of every tensor.
void check_gradients(const Gate& gate) {
  TransformerConfig c = sample_config();
  c.gate = gate;
  const Text text(c.vocab, {140, 9, 1});
  const TestMachine machine(2);
  Model model(c, machine.compute, 2);
  const TextResult result = model.backward(text.rows);
  ReferenceTransformer<double> reference = reference_of(c, model);
  const auto loss = [&] {
    double total = 0;
    for (const TokenRow& row : text.rows) total += reference.loss(row);
    return total / static_cast<double>(result.tokens);
  };
  EXPECT_NEAR(result.loss / static_cast<double>(result.tokens), loss(), 1e-5);
  const Rng rng(12, Stream::test);
  for (const ParamSpec& s : model.engine.params().table.specs()) {
    const auto got = model.gradients.span().subspan(s.offset, s.size());
    const size_t row = s.rows == c.vocab ? text.ids[3] : s.rows / 3;  // a token that occurs
    for (const size_t i : {size_t{0}, row * s.cols + 1, row * s.cols + s.cols - 1,
                           static_cast<size_t>(rng.below(static_cast<uint32_t>(s.size()), s.offset))}) {
      double& w = reference.weights()[s.offset + i];
      const double start = w, h = 1e-3;
      const auto at = [&](double step) {
        w = start + step;
        return loss();
      };
      const double numeric = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      w = start;
      EXPECT_NEAR(got[i], numeric, 2e-5 * largest(got) + 1e-9) << s.name << ", element " << i;
    }
  }
}
TEST(Transformer, GradientsMatchFiniteDifferencesWithSilu) { check_gradients({GateKind::Silu, {}}); }
// Without the jump: c = 0.
TEST(Transformer, GradientsMatchFiniteDifferencesWithSqs) { check_gradients({GateKind::Sqs, {0, 0.5, 2}}); }

TEST(Transformer, TheSameBytesAtAnyThreadCount) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  for (const bool bf16 : {false, true}) {
    std::vector<std::byte> first;
    TextResult first_result;
    for (const size_t threads : kThreadCounts) {
      const auto machine =
          bf16 ? std::make_unique<TestMachine>(threads, Bf16Unit::emulated) : std::make_unique<TestMachine>(threads);
      Model model(c, machine->compute, 5);
      TextResult r = model.backward(text.rows);
      const TextResult seen = model.engine.evaluate(text.rows);
      r.loss += seen.loss;
      if (first.empty()) {
        first = bytes(model.gradients);
        first_result = r;
      }
      EXPECT_EQ(bytes(model.gradients), first) << threads << " threads";
      EXPECT_EQ(r.loss, first_result.loss) << threads << " threads";
      EXPECT_EQ(r.correct, first_result.correct) << threads << " threads";
      model.backward(text.rows);
      EXPECT_EQ(bytes(model.gradients), first) << "a second time";
    }
  }
}

// Sums over tokens in another order: a rounding for each of the tokens at most.
TEST(Transformer, TheMicroBatchDoesNotMatter) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  const TestMachine machine(2);
  Model all(c, machine.compute, text.rows.size());
  const TextResult want = all.backward(text.rows);
  for (const size_t max_rows : {1, 3, 100}) {
    Model model(c, machine.compute, max_rows);
    const TextResult got = model.backward(text.rows);
    EXPECT_NEAR(got.loss, want.loss, 1e-12 * want.loss);
    EXPECT_EQ(got.correct, want.correct);
    EXPECT_EQ(got.tokens, 484u);
    for (const ParamSpec& s : all.engine.params().table.specs())
      expect_close<float>(model.gradients.span().subspan(s.offset, s.size()),
                          all.gradients.span().subspan(s.offset, s.size()), 484 * kU,
                          s.name + " in micro-batches of " + std::to_string(max_rows));
  }
}

TEST(Transformer, ASequenceDoesNotSeeTheOthers) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  const TestMachine machine(2);
  Model model(c, machine.compute, 3, false);
  std::vector<std::vector<float>> together, alone;
  const TextResult all = model.engine.evaluate(text.rows, [&](size_t row, std::span<const float> losses) {
    EXPECT_EQ(row, together.size());
    together.emplace_back(losses.begin(), losses.end());
  });
  TextResult sum;
  for (const TokenRow& row : text.rows) {
    const TextResult one = model.engine.evaluate(
        {&row, 1}, [&](size_t, std::span<const float> losses) { alone.emplace_back(losses.begin(), losses.end()); });
    sum.loss += one.loss, sum.correct += one.correct, sum.tokens += one.tokens;
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(all.correct, sum.correct);
  EXPECT_EQ(all.tokens, sum.tokens);
  EXPECT_NEAR(all.loss, sum.loss, 1e-12 * sum.loss);
}

// What follows a token changes nothing before it, and a shorter sequence is the beginning of a longer one.
TEST(Transformer, NoLookAhead) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, {140});
  const TestMachine machine(1);
  Model model(c, machine.compute, 1, false);
  std::vector<TokenId> other = text.ids;
  for (size_t i = 71; i < 140; i++) other[i] = static_cast<TokenId>((other[i] + 1) % c.vocab);
  Matrix<float> a(140, c.vocab), b(140, c.vocab), part(71, c.vocab);
  model.engine.logits(text.rows[0], a);
  model.engine.logits({std::span(other).first(140), {}}, b);
  model.engine.logits({text.rows[0].input.first(71), {}}, part);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), 71 * c.vocab * sizeof(float)), 0);
  EXPECT_NE(std::memcmp(a.view().row_ptr(71), b.view().row_ptr(71), c.vocab * sizeof(float)), 0);
  for (size_t i = 0; i < 71; i++)
    expect_close<float>(part.view().row(i), std::as_const(a).view().row(i), 1e-6, "row " + std::to_string(i));
}

// bf16 rounds operands to 8 bits: the gradient keeps its direction.
TEST(Transformer, Bf16GradientsPointTheSameWay) {
  const TransformerConfig c = sample_config();
  const Text text(c.vocab, kLengths);
  const TestMachine exact(2), rounded(2, Bf16Unit::emulated);
  Model a(c, exact.compute, 4), b(c, rounded.compute, 4);
  const TextResult want = a.backward(text.rows), got = b.backward(text.rows);
  EXPECT_NE(got.loss, want.loss);
  EXPECT_NEAR(got.loss, want.loss, 0.01 * want.loss);
  for (const ParamSpec& s : a.engine.params().table.specs()) {
    double difference = 0, size = 0;
    for (size_t i = s.offset; i < s.offset + s.size(); i++) {
      const double x = a.gradients.span()[i], y = b.gradients.span()[i];
      difference += (x - y) * (x - y), size += x * x;
    }
    EXPECT_LT(std::sqrt(difference / size), 0.05) << s.name;
  }
}

TEST(Transformer, NoRowsGiveNoGradient) {
  const TestMachine machine(1);
  Model model(sample_config(), machine.compute, 2);
  model.gradients(0, 7) = 3;
  EXPECT_EQ(model.backward({}).tokens, 0u);
  EXPECT_EQ(largest(model.gradients.span()), 0);
  EXPECT_EQ(model.engine.evaluate({}).tokens, 0u);
}

TEST(Transformer, LearnsARowByHeart) {
  TransformerConfig c = sample_config();
  c.gate.kind = GateKind::Sqs;
  const Text text(c.vocab, {40, 30});
  const TestMachine machine(2);
  Model model(c, machine.compute, 2);
  Adamw adamw(model.engine.params().table, {.beta2 = 0.95, .clip = 1});
  const double before = model.engine.evaluate(text.rows).loss;
  for (uint64_t step = 1; step <= 60; step++) {
    model.backward(text.rows);
    adamw.step(machine.compute, step, 1e-2, model.gradients.span(), model.weights.span());
    model.engine.set_weights(model.weights.span());
  }
  const TextResult after = model.engine.evaluate(text.rows);
  EXPECT_LT(after.loss, 0.05 * before);
  EXPECT_EQ(after.correct, 70u);
}

TEST(TransformerParams, NamesAndShapes) {
  const TransformerParams p = transformer_params(sample_config());
  std::vector<std::string> names;
  for (const ParamSpec& s : p.table.specs())
    names.push_back(s.name + " " + std::to_string(s.rows) + " " + std::to_string(s.cols));
  EXPECT_EQ(names,
            (std::vector<std::string>{"transformer.wte.weight 200 24", "transformer.h.0.attn.qkv.weight 72 24",
                                      "transformer.h.0.attn.o.weight 24 24", "transformer.h.0.mlp.w.weight 40 24",
                                      "transformer.h.0.mlp.p.weight 24 20", "transformer.h.1.attn.qkv.weight 72 24",
                                      "transformer.h.1.attn.o.weight 24 24", "transformer.h.1.mlp.w.weight 40 24",
                                      "transformer.h.1.mlp.p.weight 24 20", "lm_head.weight 200 24"}));
  EXPECT_EQ(p.table[p.wte].fan_in, 0u);  // normal
  EXPECT_EQ(p.table[p.head].fan_in, 24u);
  EXPECT_EQ(p.table[p.blocks[1].mlp_p].fan_in, 20u);
}

TEST(TransformerConfig, WrongValuesAreRefused) {
  const auto refused = [](const char* where, const auto& spoil) {
    TransformerConfig c;
    spoil(c);
    const ErrorParts e = error_of([&] { check(c); });
    EXPECT_EQ(e.code, ErrorCode::usage);
    EXPECT_EQ(e.where, where);
    EXPECT_FALSE(e.expected.empty());
  };
  refused("vocab", [](auto& c) { c.vocab = kMaxVocab + 1; });
  refused("layers", [](auto& c) { c.layers = 0; });
  refused("heads", [](auto& c) { c.heads = 3; });
  refused("heads", [](auto& c) { c.d_model = 12; });  // heads of 3: no pairs
  for (const size_t context : {size_t{0}, kMinContext - 1, kMaxContext + 1})
    refused("context", [&](auto& c) { c.context = context; });
}

}  // namespace
}  // namespace glint

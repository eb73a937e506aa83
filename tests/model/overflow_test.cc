// Weights whose sums and products leave what a float holds: every pass says so, also where a norm or a gate
// that saturates would hide it.
#include <limits>

#include "glint/base/rng.h"
#include "glint/model/classifier.h"
#include "glint/model/sampling.h"
#include "glint/model/transformer.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using namespace model_testing;

constexpr GateKind kGates[] = {GateKind::Sqs, GateKind::Identity, GateKind::Relu, GateKind::Gelu, GateKind::Silu};

void scale(std::span<float> x, double factor) {
  constexpr double kMost = std::numeric_limits<float>::max();
  for (float& v : x) v = static_cast<float>(std::clamp(v * factor, -kMost, kMost));
}

template <class F>
void expect_overflow(F&& f, const std::string& what) {
  EXPECT_EQ(error_of(f).code, ErrorCode::numeric) << what;
}

struct Classifier {
  explicit Classifier(const ClassifierConfig& config)
      : engine(config, machine.compute, kRows, true),
        weights(1, engine.params().table.floats()),
        gradients(1, weights.size()),
        labels(kRows) {
    engine.params().table.initialise(weights.span(), 3);
    for (size_t i = 0; i < kRows; i++) labels[i] = static_cast<uint8_t>(i % config.classes);
  }
  MatrixView<float> block(size_t i) {
    return engine.params().table.view(weights.span(), engine.params().blocks[i].weight);
  }
  BatchResult evaluate() {
    engine.set_weights(weights.span());
    return engine.evaluate(kRows, source, labels);
  }
  BatchResult backward() {
    engine.set_weights(weights.span());
    return engine.forward_backward(kRows, source, labels, gradients.span());
  }

  static constexpr size_t kRows = 70;
  TestMachine machine{2};
  ClassifierEngine engine;
  Matrix<float> weights, gradients;
  std::vector<uint32_t> labels;
  const ClassifierEngine::RowSource source = [](size_t row, float* out) {
    const Rng rng(8, Stream::test, static_cast<uint32_t>(row));
    for (size_t i = 0; i < 20; i++) out[i] = static_cast<float>(rng.uniform(i));
  };
};

ClassifierConfig classifier(GateKind gate, Norm norm, bool residual = false) {
  return {.inputs = 20,
          .classes = 3,
          .layers = 2,
          .d_model = 24,
          .gate = {.kind = gate, .params = {}},
          .residual = residual,
          .norm = norm};
}

TEST(Overflow, OfAClassifierIsAlwaysSaid) {
  for (const GateKind gate : kGates)
    for (const Norm norm : {Norm::none, Norm::rms})
      for (const bool residual : {false, true}) {
        const std::string what = std::string(gate_info(gate).text.name) + (norm == Norm::rms ? ", rms" : "") +
                                 (residual ? ", residual" : "");
        Classifier c(classifier(gate, norm, residual));
        EXPECT_TRUE(std::isfinite(c.evaluate().loss)) << what;
        scale(c.weights.span(), 1e30);
        expect_overflow([&] { c.evaluate(); }, what);
        expect_overflow([&] { c.backward(); }, what);
      }
}

// The left half alone: SQS makes 1 / lambda of infinity, ReLU, GELU and SiLU make 0 of minus infinity.
TEST(Overflow, IsNotHiddenByAGateThatSaturates) {
  for (const GateKind gate : kGates) {
    Classifier c(classifier(gate, Norm::rms));
    const MatrixView<float> w = c.block(0);
    for (size_t r = 0; r < w.rows() / 2; r++)
      for (float& v : w.row(r)) v = -3e38f;
    // Only inputs that are positive: every left half is minus infinity.
    const MatrixView<float> embed = c.engine.params().table.view(c.weights.span(), c.engine.params().embed.weight);
    for (size_t r = 0; r < embed.rows(); r++)
      for (float& v : embed.row(r)) v = std::fabs(v);
    expect_overflow([&] { c.evaluate(); }, std::string(gate_info(gate).text.name));
    expect_overflow([&] { c.backward(); }, std::string(gate_info(gate).text.name));
  }
}

// Squares that overflow make the norm divide by infinity: all zeros, which look like any other numbers.
TEST(Overflow, IsNotHiddenByANorm) {
  Classifier c(classifier(GateKind::Sqs, Norm::rms));
  scale({c.weights.data(), c.engine.params().table[0].size()}, 1e25);
  expect_overflow([&] { c.evaluate(); }, "evaluate");
  expect_overflow([&] { c.backward(); }, "backward");
}

// Logits that are minus infinity beside others give a finite loss.
TEST(Overflow, OfALogitThatIsNotTheTarget) {
  Classifier c(classifier(GateKind::Sqs, Norm::none));
  std::fill(c.labels.begin(), c.labels.end(), uint8_t{0});
  scale({c.block(1).data(), 2 * 24 * 24}, 1e4);  // so that the head gets numbers above 1
  const MatrixView<float> head = c.engine.params().table.view(c.weights.span(), c.engine.params().head.weight);
  for (float& v : head.row(2)) v = v > 0 ? 3e38f : -3e38f;
  expect_overflow([&] { c.evaluate(); }, "evaluate");
}

struct Language {
  explicit Language(GateKind gate)
      : config{.vocab = 50,
               .layers = 2,
               .d_model = 16,
               .d_hidden = 12,
               .heads = 2,
               .context = 24,
               .gate = {.kind = gate, .params = {}}},
        engine(config, machine.compute, 2, true),
        generator(config, machine.compute, 2),
        weights(1, engine.params().table.floats()),
        gradients(1, weights.size()),
        ids(config.context + 1) {
    engine.params().table.initialise(weights.span(), 3);
    const Rng rng(4, Stream::test);
    for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<TokenId>(rng.below(config.vocab, i));
  }
  std::span<float> tensor(size_t i) {
    return weights.span().subspan(engine.params().table[i].offset, engine.params().table[i].size());
  }
  TokenRow row() const { return {std::span(ids).first(config.context), std::span(ids).last(config.context)}; }
  void set() {
    engine.set_weights(weights.span());
    generator.set_weights(weights.span());
  }
  TextResult evaluate() { return engine.evaluate({&one, 1}); }
  void backward() { engine.forward_backward({&one, 1}, gradients.span()); }
  void logits() {
    Matrix<float> out(config.context, config.vocab);
    engine.logits(one, out);
  }
  void trace() {
    Matrix<float> out(config.context, config.d_model);
    engine.trace(one, config.layers - 1, out);
  }
  void generate() {
    for (size_t i = 0; i < config.context; i++) {
      const uint32_t slot = 0;
      if (i == 0) generator.clear(slot);
      generator.step({&slot, 1}, {&ids[i], 1});
    }
  }
  void expect_every_pass_to_say_so(const std::string& what) {
    set();
    expect_overflow([&] { evaluate(); }, what + ", evaluate");
    expect_overflow([&] { backward(); }, what + ", backward");
    expect_overflow([&] { logits(); }, what + ", logits");
    expect_overflow([&] { generate(); }, what + ", generate");
  }

  TestMachine machine{2};
  const TransformerConfig config;
  TransformerEngine engine;
  Generator generator;
  Matrix<float> weights, gradients;
  std::vector<TokenId> ids;
  TokenRow one;
};

TEST(Overflow, OfALanguageModelIsAlwaysSaid) {
  for (const GateKind gate : kGates) {
    const std::string name(gate_info(gate).text.name);
    const auto with = [&](const auto& change, const std::string& what) {
      Language m(gate);
      m.one = m.row();
      m.set();
      EXPECT_TRUE(std::isfinite(m.evaluate().loss));
      EXPECT_NO_THROW(m.backward());
      EXPECT_NO_THROW(m.logits());
      EXPECT_NO_THROW(m.trace());
      EXPECT_NO_THROW(m.generate());
      change(m);
      m.expect_every_pass_to_say_so(name + ", " + what);
    };
    for (const double factor : {1e10, 1e15, 1e19, 1e25, 1e30, 1e38})
      with([&](Language& m) { scale(m.weights.span(), factor); }, "all x " + std::to_string(factor));
    with([](Language& m) { scale(m.tensor(m.engine.params().wte), 1e20); }, "wte");
    with([](Language& m) { scale(m.tensor(m.engine.params().blocks[1].o), 1e38); }, "attn.o");
    with([](Language& m) { scale(m.tensor(m.engine.params().blocks[0].qkv), 1e30); }, "qkv");
    with([](Language& m) { scale(m.tensor(m.engine.params().blocks[1].mlp_w), 1e38); }, "mlp.w");
    with(
        [](Language& m) {
          const std::span<float> w = m.tensor(m.engine.params().blocks[1].mlp_w);
          scale(w.first(w.size() / 2), 1e39);
        },
        "the left half");
    with([](Language& m) { scale(m.tensor(m.engine.params().blocks[1].mlp_p), 1e38); }, "mlp.p");
    with([](Language& m) { scale(m.tensor(m.engine.params().head), 1e39); }, "lm_head");
  }
}

TEST(Overflow, ReachesTheInputsOfALayer) {
  Language m(GateKind::Sqs);
  m.one = m.row();
  scale(m.weights.span(), 1e10);
  m.set();
  expect_overflow([&] { m.trace(); }, "trace");
}

TEST(Overflow, ASamplerTakesNoLogitsThatAreNoNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  const Kernels& k = kernels(cpu().best);
  for (const std::vector<float>& logits :
       {std::vector<float>{1, kNan, 2}, {kNan, 1, 2}, {1, kInf, 2}, {-kInf, -kInf}}) {
    std::vector<float> x = logits;
    expect_overflow([&] { Sampler({}).choose(k, x, 0.5); }, "choose");
  }
  std::vector<float> masked = {1, -kInf, 2};  // a token that a caller left out
  EXPECT_NE(Sampler({}).choose(k, masked, 0.3), 1u);
}

}  // namespace
}  // namespace glint

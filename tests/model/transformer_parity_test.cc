// The language model against PyTorch: logits, losses, every gradient, weights after 1 and 3 steps of AdamW
// with clipping, on sequences of different lengths. The golden values are doubles rounded to float
// (tests/golden/make_transformer.py).
#include "glint/model/transformer.h"
#include "glint/train/optimizer.h"
#include "tests/model/model_testing.h"
#include "tests/model/parity.h"

namespace glint {
namespace {

using namespace model_testing;

constexpr double kTransformerTolerance = 1e-4;  // relative to the largest magnitude of the tensor

TransformerConfig transformer_from(const Json& k) {
  TransformerConfig c;
  c.vocab = k["vocab"];
  c.layers = k["layers"];
  c.d_model = k["d_model"];
  c.d_hidden = k["d_hidden"];
  c.heads = k["heads"];
  c.context = k["context"];
  c.gate = {parse_gate(k["gate"].get<std::string>()), {k["c"], k["lambda"], k["p"]}};
  return c;
}

struct Rows {
  std::vector<TokenId> ids;
  std::vector<TokenRow> rows;
  Rows(std::span<const float> tokens, const Json& lengths) : ids(tokens.begin(), tokens.end()) {
    size_t at = 0;
    for (const size_t n : lengths) {
      const std::span<const TokenId> row(ids.data() + at, n + 1);
      rows.push_back({row.first(n), row.last(n)});
      at += n + 1;
    }
    EXPECT_EQ(at, ids.size());
  }
};

void check_transformer(const Golden& golden, const Json& c, const TestMachine& machine, const std::string& target) {
  const std::string name = c["name"], label = name + " on " + target + ": ";
  const auto get = [&](const char* key) { return golden.get(name + "/" + key); };
  const TransformerConfig config = transformer_from(c["config"]);
  const Rows text(flat(get("tokens")), golden.json["lengths"]);

  TransformerEngine engine(config, machine.compute, 3, true);
  const ParamTable& table = engine.params().table;
  Matrix<float> weights(1, table.floats()), gradients(1, table.floats());
  spread(table, flat(get("weights")), weights.span());
  engine.set_weights(weights.span());

  const FloatMatrix logits = get("logits"), losses = get("losses");
  size_t at = 0;
  double total = 0;
  for (const TokenRow& row : text.rows) {
    Matrix<float> out(row.input.size(), config.vocab);
    engine.logits(row, out);
    const ConstMatrixView<float> want = logits.view.row_range(at, row.input.size());
    expect_close<float>(out.span(), {want.data(), out.size()}, kTransformerTolerance, label + "logits");
    at += row.input.size();
  }
  at = 0;
  const TextResult seen = engine.evaluate(text.rows, [&](size_t row, std::span<const float> got) {
    ASSERT_EQ(got.size(), text.rows[row].input.size());
    expect_close<float>(got, flat(losses).subspan(at, got.size()), kTransformerTolerance, label + "losses");
    at += got.size();
  });
  EXPECT_EQ(at, losses.view.rows() * losses.view.cols());
  EXPECT_EQ(seen.tokens, at);
  for (const float v : flat(losses)) total += v;
  EXPECT_NEAR(seen.loss, total, kTransformerTolerance * total) << label;

  const Json& o = golden.json["optimizer"];
  Adamw adamw(table, {o["beta1"], o["beta2"], o["eps"], o["weight_decay"], o["clip"]});
  for (uint64_t step = 1; step <= 3; step++) {
    const TextResult r = engine.forward_backward(text.rows, gradients.span());
    if (step == 1) {
      EXPECT_NEAR(r.loss, seen.loss, 1e-12 * total) << label;  // the same losses, added in another order
      EXPECT_EQ(r.correct, seen.correct) << label;
      EXPECT_EQ(r.tokens, seen.tokens) << label;
      expect_tensors(table, gradients.span(), flat(get("gradients")), kTransformerTolerance, label + "gradient of");
    }
    const double norm = adamw.step(machine.compute, step, o["lr"], gradients.span(), weights.span());
    const double want = get("norm").view(0, 0);
    engine.set_weights(weights.span());
    if (step > 1) continue;
    EXPECT_NEAR(norm, want, kTransformerTolerance * want) << label;
    expect_tensors(table, weights.span(), flat(get("after1")), kTransformerTolerance, label + "after one step");
  }
  expect_tensors(table, weights.span(), flat(get("after3")), kTransformerTolerance, label + "after three steps");
}

TEST(TransformerParity, EveryCaseOnEveryLevel) {
  const Golden golden("transformer");
  ASSERT_EQ(golden.json["cases"].size(), 7u);
  for (const Isa isa : runnable_isas(cpu())) {
    const TestMachine machine(2, isa);
    for (const Json& c : golden.json["cases"]) check_transformer(golden, c, machine, std::string(name(isa)));
  }
}

// Every case is clipped: otherwise the comparison says nothing about clipping.
TEST(TransformerParity, TheGradientsAreAboveTheClip) {
  const Golden golden("transformer");
  for (const Json& c : golden.json["cases"])
    EXPECT_GT(golden.get(c["name"].get<std::string>() + "/norm").view(0, 0),
              golden.json["optimizer"]["clip"].get<double>());
}

}  // namespace
}  // namespace glint

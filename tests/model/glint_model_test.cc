// A model that glint trained, run as a family: the numbers are those of the engine that trained it.
#include "glint/model/language_file.h"

#include <gtest/gtest.h>

#include "glint/model/layer_pass.h"
#include "model_testing.h"

namespace glint {
namespace {

using model_testing::TestMachine;

struct Both {
  explicit Both(GateKind gate, size_t hidden = 20) : own(std::make_shared<LanguageModel>()) {
    own->config = {.vocab = 50,
                   .layers = 3,
                   .d_model = 16,
                   .d_hidden = hidden,
                   .heads = 2,
                   .context = 24,
                   .gate = {.kind = gate, .params = {}}};
    const ParamTable table = transformer_params(own->config).table;
    own->weights = Matrix<float>(1, table.floats());
    table.initialise(own->weights.span(), 7);
    for (size_t i = 0; i < 24; i++) ids.push_back(static_cast<TokenId>((i * i + 3) % 50));
  }
  std::shared_ptr<LanguageModel> own;
  std::vector<TokenId> ids;
};

TEST(GlintModel, ComputesTheLogitsOfTheEngineThatTrainedIt) {
  for (const GateKind gate : {GateKind::Sqs, GateKind::Silu, GateKind::Identity}) {
    const Both both(gate);
    TestMachine machine(2);
    TransformerEngine engine(both.own->config, machine.compute, 1, false);
    engine.set_weights(both.own->weights.span());
    const size_t n = both.ids.size();
    Matrix<float> expected(n, 50), got(n, 50), inputs(n, 16);
    engine.logits({both.ids, {}}, expected);
    const FamilyModel model = glint_model(both.own, "memory");
    FamilyPass pass(model, machine.compute, n);
    pass.feed_all(both.ids, [&](size_t first, MatrixView<float> some) {
      for (size_t i = 0; i < some.rows(); i++) std::ranges::copy(some.row(i), got.view().row_ptr(first + i));
    });
    // Sums of 16 and 20 products in another order: a few roundings of numbers of size 1.
    for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got.data()[i], expected.data()[i], 1e-5);
    const TokenRow row{both.ids, {}};
    LayerPass layers(model, machine.compute, {&row, 1}, n);
    for (size_t layer = 0; layer < 3; layer++) {
      engine.trace(row, layer, inputs);
      const Matrix<float>& own = layers.inputs(layer);
      for (size_t i = 0; i < inputs.size(); i++) EXPECT_NEAR(own.data()[i], inputs.data()[i], 1e-5);
    }
  }
}

TEST(GlintModel, SaysWhatItIs) {
  const Both both(GateKind::Sqs), square(GateKind::Relu, 0);
  const FamilyModel model = glint_model(both.own, "runs/first");
  EXPECT_EQ(model.text(), "sqs, 3 layers, width 16 and 20, 50 tokens, " +
                              std::to_string(transformer_params(both.own->config).table.parameters()) + " parameters");
  EXPECT_NE(glint_model(square.own, "").text().find("width 16, "), std::string::npos);
  EXPECT_EQ(model.window(), 24u);
  EXPECT_EQ(family_list().find("glint"), std::string::npos);  // no file says that it is one
}

// Short texts share a batch, a long one goes through in several: the numbers are those of each alone.
TEST(LayerPass, TextsOfAnyLengthsDoNotTouchEachOther) {
  Both both(GateKind::Sqs);
  both.own->config.context = 700;
  const FamilyModel model = glint_model(both.own, "memory");
  TestMachine one(1), three(3);
  std::vector<std::vector<TokenId>> texts;
  for (const size_t length : {3u, 600u, 1u, 256u, 40u, 215u, 2u})
    for (texts.emplace_back(); texts.back().size() < length;)
      texts.back().push_back(static_cast<TokenId>((texts.size() * 11 + texts.back().size() * 7) % 50));
  std::vector<TokenRow> rows;
  for (const auto& t : texts) rows.push_back({t, {}});
  LayerPass all(model, one.compute, rows, SIZE_MAX), threads(model, three.compute, rows, SIZE_MAX);
  for (const size_t layer : {0u, 2u, 1u}) {  // back again begins anew
    const Matrix<float>& got = all.inputs(layer);
    EXPECT_TRUE(std::ranges::equal(got.span(), threads.inputs(layer).span()));
    size_t at = 0;
    for (const TokenRow& row : rows) {
      LayerPass alone(model, one.compute, {&row, 1}, SIZE_MAX);
      const Matrix<float>& own = alone.inputs(layer);
      for (size_t i = 0; i < own.size(); i++)
        ASSERT_NEAR(own.data()[i], got.data()[at * 16 + i], 2e-5) << layer << ", " << row.input.size();
      at += row.input.size();
    }
  }
  EXPECT_EQ(all.layers_computed(), 5u);
}

}  // namespace
}  // namespace glint

// What a caller of the models can get wrong is an Error; the process goes on.
#include "glint/model/classifier.h"
#include "glint/model/model_file.h"
#include "glint/model/sampling.h"
#include "glint/model/transformer.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using namespace model_testing;

template <class F>
void expect_refused(F&& f, const std::string& what) {
  const ErrorParts e = error_of(f);
  EXPECT_EQ(e.code, ErrorCode::usage) << what;
  EXPECT_FALSE(e.where.empty()) << what;
  EXPECT_FALSE(e.expected.empty()) << what;
}

const ClassifierConfig kImages{.inputs = 6, .classes = 3, .layers = 1, .d_model = 8, .gate = {}};

TEST(Arguments, AClassifierRefusesANonsensicalConfiguration) {
  const TestMachine m(1);
  const auto make = [&](const auto& change) {
    return [&m, change] {
      ClassifierConfig c = kImages;
      change(c);
      ClassifierEngine(c, m.compute, 4, true);
    };
  };
  EXPECT_NO_THROW(make([](ClassifierConfig&) {})());
  expect_refused(make([](ClassifierConfig& c) { c.layers = 0; }), "layers 0");
  expect_refused(make([](ClassifierConfig& c) { c.inputs = 0; }), "inputs 0");
  expect_refused(make([](ClassifierConfig& c) { c.classes = 1; }), "one class");
  expect_refused(make([](ClassifierConfig& c) { c.classes = 65537; }), "more classes than there may be");
  expect_refused(make([](ClassifierConfig& c) { c.d_model = 0; }), "d_model 0");
  expect_refused(make([](ClassifierConfig& c) { c.gate.params.p = -1; }), "p = -1");
  expect_refused(make([](ClassifierConfig& c) { c.residual = true, c.d_hidden = 5; }), "residual, other width");
  expect_refused([&] { ClassifierEngine(kImages, m.compute, 0, true); }, "a batch of 0");
}

TEST(Arguments, AClassifierRefusesWhatDoesNotFit) {
  const TestMachine m(2);
  ClassifierEngine engine(kImages, m.compute, 4, true), reader(kImages, m.compute, 4, false);
  Matrix<float> weights(1, engine.params().table.floats()), gradients(1, weights.size()), few(1, weights.size() - 1);
  engine.params().table.initialise(weights.span(), 1);
  const ClassifierEngine::RowSource source = [](size_t, float* out) { std::fill_n(out, 6, 0.5f); };
  const std::vector<uint32_t> labels = {0, 1, 2, 0};
  expect_refused([&] { engine.evaluate(2, source, labels); }, "no weights");
  expect_refused([&] { engine.forward_backward(2, source, labels, gradients.span()); }, "no weights");
  expect_refused([&] { engine.set_weights(few.span()); }, "too few weights");
  engine.set_weights(weights.span());
  reader.set_weights(weights.span());
  EXPECT_NO_THROW(engine.evaluate(0, source, {}));
  EXPECT_NO_THROW(engine.forward_backward(4, source, labels, gradients.span()));
  expect_refused([&] { engine.evaluate(5, source, std::vector<uint32_t>(5)); }, "too many rows");
  expect_refused([&] { engine.evaluate(4, source, std::span(labels).first(3)); }, "too few labels");
  expect_refused([&] { engine.evaluate(2, {}, labels); }, "no source");
  for (const uint32_t bad : {3u, 255u, 65536u}) {
    const std::vector<uint32_t> wrong = {0, 1, bad, 0};
    expect_refused([&] { engine.evaluate(4, source, wrong); }, "a label out of range");
    expect_refused([&] { engine.forward_backward(4, source, wrong, gradients.span()); }, "a label out of range");
    EXPECT_NO_THROW(engine.evaluate(2, source, wrong));  // labels beyond the rows are not read
  }
  expect_refused([&] { engine.forward_backward(0, source, labels, gradients.span()); }, "no rows");
  expect_refused([&] { engine.forward_backward(2, source, labels, few.span()); }, "gradients of another size");
  expect_refused([&] { reader.forward_backward(2, source, labels, gradients.span()); }, "not made for training");
  expect_refused([&] { engine.layer_input(1); }, "no such layer");
  expect_refused([&] { engine.state(1); }, "no such layer");
  EXPECT_TRUE(std::isfinite(engine.evaluate(4, source, labels).loss)) << "it goes on";
}

const TransformerConfig kText{.vocab = 20, .layers = 2, .d_model = 8, .heads = 2, .context = 6, .gate = {}};

TEST(Arguments, ATransformerRefusesWhatDoesNotFit) {
  const TestMachine m(2);
  expect_refused([&] { TransformerEngine(kText, m.compute, 0, true); }, "0 rows");
  TransformerConfig bad = kText;
  bad.heads = 0;
  expect_refused([&] { TransformerEngine(bad, m.compute, 1, true); }, "no heads");
  TransformerEngine engine(kText, m.compute, 2, true), reader(kText, m.compute, 2, false);
  Matrix<float> weights(1, engine.params().table.floats()), gradients(1, weights.size()), few(1, 7);
  engine.params().table.initialise(weights.span(), 1);
  const std::vector<TokenId> ids = {1, 2, 3, 4, 5, 6, 7}, wrong = {1, 20, 3};
  const auto row = [&](std::span<const TokenId> input, std::span<const TokenId> target) {
    return std::vector<TokenRow>{{input, target}};
  };
  const std::span<const TokenId> all(ids);
  const std::vector<TokenRow> good = row(all.first(6), all.last(6));
  expect_refused([&] { engine.evaluate(good); }, "no weights");
  expect_refused([&] { engine.set_weights(few.span()); }, "too few weights");
  engine.set_weights(weights.span());
  reader.set_weights(weights.span());
  EXPECT_NO_THROW(engine.evaluate(good));
  EXPECT_NO_THROW(engine.evaluate({}));
  EXPECT_NO_THROW(engine.forward_backward(good, gradients.span()));
  const std::pair<const char*, std::vector<TokenRow>> rows[] = {
      {"longer than the context", row(all, all)},
      {"empty", row({}, {})},
      {"too few targets", row(all.first(4), all.first(3))},
      {"a token that is not there", row(wrong, all.first(3))},
      {"a target that is not there", row(all.first(3), wrong)}};
  for (const auto& [what, r] : rows) {
    expect_refused([&] { engine.evaluate(r); }, what);
    expect_refused([&] { engine.forward_backward(r, gradients.span()); }, what);
  }
  expect_refused([&] { engine.forward_backward(good, few.span()); }, "gradients of another size");
  expect_refused([&] { reader.forward_backward(good, gradients.span()); }, "not made for training");
  Matrix<float> inputs(6, 8), logits(6, 20), other(5, 7);
  EXPECT_NO_THROW(engine.trace(good[0], 1, inputs));
  EXPECT_NO_THROW(engine.logits({all.first(6), {}}, logits));  // targets are not read
  expect_refused([&] { engine.trace(good[0], 2, inputs); }, "no such layer");
  expect_refused([&] { engine.trace(good[0], 1, other); }, "inputs of another shape");
  expect_refused([&] { engine.trace({wrong, {}}, 1, inputs); }, "a token that is not there");
  expect_refused([&] { engine.logits(good[0], other); }, "logits of another shape");
  expect_refused([&] { engine.logits({all, {}}, logits); }, "longer than the context");
}

TEST(Arguments, AGeneratorRefusesWhatDoesNotFit) {
  const TestMachine m(1);
  TransformerConfig bad = kText;
  bad.heads = 0;
  expect_refused([&] { Generator(bad, m.compute, 2); }, "no heads");
  expect_refused([&] { Generator::slot_bytes(bad, m.compute.kernels(), 4); }, "no heads");
  expect_refused([&] { Generator(kText, m.compute, 0); }, "no slots");
  Generator generator(kText, m.compute, 2, 3);
  Matrix<float> weights(1, transformer_params(kText).table.floats()), few(1, 7);
  transformer_params(kText).table.initialise(weights.span(), 1);
  const auto step = [&](std::vector<uint32_t> slots, std::vector<TokenId> tokens) {
    return [&generator, slots, tokens] { generator.step(slots, tokens); };
  };
  expect_refused(step({0}, {1}), "no weights");
  expect_refused([&] { generator.set_weights(few.span()); }, "too few weights");
  generator.set_weights(weights.span());
  expect_refused(step({0, 1}, {1}), "too few tokens");
  expect_refused(step({2}, {1}), "no such slot");
  expect_refused(step({1, 1}, {1, 2}), "a slot twice");
  expect_refused(step({0}, {20}), "a token that is not there");
  expect_refused([&] { generator.clear(2); }, "no such slot");
  expect_refused([&] { generator.position(2); }, "no such slot");
  expect_refused([&] { generator.copy(0, 2); }, "no such slot");
  for (int i = 0; i < 3; i++) EXPECT_NO_THROW(step({0, 1}, {1, 2})());
  expect_refused(step({0}, {1}), "a slot that is full");

  const std::vector<TokenId> prompt = {1}, wrong = {1, 20, 2};
  const auto tell = [&](Generator& g, std::span<const TokenId> begin, size_t tokens) {
    generate(
        g, m.compute, {.prompt = begin, .tokens = tokens}, [](uint32_t, TokenId) { return true; }, [](const Story&) {});
  };
  Generator alone(kText, m.compute, 1);
  alone.set_weights(weights.span());
  expect_refused([&] { tell(alone, prompt, 1); }, "one slot");
  expect_refused([&] { tell(generator, prompt, 5); }, "too little room");
  expect_refused([&] { tell(generator, wrong, 1); }, "a prompt with a token that is not there");
  EXPECT_NO_THROW(tell(generator, prompt, 2));
  std::vector<float> none;
  expect_refused([&] { Sampler({}).choose(m.compute.kernels(), none, 0.5); }, "no logits");
}

TEST(Arguments, WeightsOfAnotherSizeAreNeitherWrittenNorRead) {
  const Folder folder;
  const ParamTable table = classifier_params(kImages).table;
  Matrix<float> weights(1, table.floats()), few(1, table.floats() - 16);
  expect_refused([&] { table.initialise(few.span(), 1); }, "initialise");
  table.initialise(weights.span(), 1);
  save_weights(real_files(), folder / "w", table, weights.span());
  expect_refused([&] { save_weights(real_files(), folder / "v", table, few.span()); }, "save");
  EXPECT_FALSE(std::filesystem::exists(folder / "v"));
  expect_refused([&] { weights_file_hash(table, few.span()); }, "hash");
  expect_refused([&] { load_weights(folder / "w", table, few.span()); }, "load");
  EXPECT_NO_THROW(load_weights(folder / "w", table, weights.span()));
}

}  // namespace
}  // namespace glint

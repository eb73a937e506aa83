// Models of other programs against transformers: tests/golden/make_llama_family.py.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "glint/model/layer_pass.h"
#include "tests/model/model_testing.h"

namespace glint::model_testing {
namespace {

const std::string kFamilies = GLINT_GOLDEN_DIR "/families/";

struct Golden {
  explicit Golden(const std::string& name) {
    const SafetensorsFile file(kFamilies + name + ".safetensors");
    const auto ids = [&](const char* key) {
      const TensorInfo& t = file->at(key);
      std::vector<TokenId> out(t.bytes.size() / sizeof(TokenId));
      std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
      return out;
    };
    tokens = ids("tokens"), greedy = ids("greedy");
    const FloatMatrix m = file->matrix("logits");
    logits = Matrix<float>(m.view.rows(), m.view.cols());
    for (size_t i = 0; i < logits.rows(); i++) std::ranges::copy(m.view.row(i), logits.view().row_ptr(i));
  }
  std::vector<TokenId> tokens, greedy;
  Matrix<float> logits;
};

Matrix<float> all_logits(const FamilyModel& model, const Compute& compute, std::span<const TokenId> tokens) {
  FamilyPass pass(model, compute, tokens.size());
  Matrix<float> out(tokens.size(), model.vocab());
  pass.feed_all(tokens, [&](size_t first, MatrixView<float> logits) {
    for (size_t i = 0; i < logits.rows(); i++) std::ranges::copy(logits.row(i), out.view().row_ptr(first + i));
  });
  return out;
}

// Both are f32 with sums of at most 24 terms through a few layers of weights of size 1.5: an error of 1e-4 of
// the largest logit is a hundred times what rounding leaves, and far below what any wrong step does.
void expect_close(ConstMatrixView<float> got, ConstMatrixView<float> want) {
  ASSERT_EQ(got.rows(), want.rows());
  ASSERT_EQ(got.cols(), want.cols());
  double largest = 0, wrong = 0;
  for (size_t i = 0; i < got.rows(); i++)
    for (size_t j = 0; j < got.cols(); j++) {
      largest = std::max(largest, std::fabs(static_cast<double>(want(i, j))));
      wrong = std::max(wrong, std::fabs(static_cast<double>(got(i, j)) - static_cast<double>(want(i, j))));
    }
  EXPECT_LE(wrong, 1e-4 * largest);
}

struct Opened {
  std::string file, golden;
};

std::vector<Opened> opened_files() {
  std::vector<Opened> all = {{"llama.bin", "llama"},
                             {"llama_v1.bin", "llama"},
                             {"llama_v2.bin", "llama_v2"},
                             {"q8.gguf", "q8"},
                             {"q4.gguf", "q4"}};
  for (const char* name : {"llama", "llama3", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "olmo",
                           "olmo2", "stablelm", "stablelm_parallel", "qwen2_yarn", "phi3_long"}) {
    all.push_back({name, name});
    if (std::string(name) != "mistral") all.push_back({std::string(name) + ".gguf", name});
  }
  return all;
}

class FamilyTest : public ::testing::TestWithParam<Opened> {};

TEST_P(FamilyTest, HasTheLogitsOfTransformers) {
  const Golden golden(GetParam().golden);
  const FamilyModel model(open_weights(kFamilies + GetParam().file));
  for (const Isa isa : runnable_isas(cpu())) {
    SCOPED_TRACE(name(isa));
    TestMachine machine(2, isa);
    expect_close(all_logits(model, machine.compute, golden.tokens), golden.logits);
  }
}

// One token at a time, with keys and values kept; the first tokens of the prompt in one portion.
TEST_P(FamilyTest, GoesOnAsTransformersDoes) {
  const Golden golden(GetParam().golden);
  const FamilyModel model(open_weights(kFamilies + GetParam().file));
  TestMachine machine(1);
  FamilyPass pass(model, machine.compute, golden.tokens.size() + golden.greedy.size());
  pass.prime(std::span(golden.tokens).first(6));
  std::span<const float> logits;
  for (size_t i = 6; i < golden.tokens.size(); i++) logits = pass.feed({&golden.tokens[i], 1});
  std::vector<TokenId> chosen;
  for (size_t i = 0; i < golden.greedy.size(); i++) {
    chosen.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    logits = pass.feed({&chosen.back(), 1});
  }
  EXPECT_EQ(chosen, golden.greedy);
}

// The same bytes as the pass without a witness; the logits are those before a cap.
TEST_P(FamilyTest, FollowsItsLastTokenThroughAllLayers) {
  const Golden golden(GetParam().golden);
  const FamilyModel model(open_weights(kFamilies + GetParam().file));
  TestMachine machine(2);
  FamilyPass pass(model, machine.compute, golden.tokens.size());
  const ResidualTrace t = pass.follow(golden.tokens);
  pass.clear();
  const std::span<const float> logits = pass.feed(golden.tokens);
  const double cap = model.config().logit_cap;
  for (size_t i = 0; i < logits.size(); i++) {
    const double raw = t.logits[i];
    EXPECT_NEAR(cap > 0 ? cap * std::tanh(raw / cap) : raw, logits[i], 1e-6);
  }
  const size_t n = golden.tokens.size(), d = model.config().d_model;
  ASSERT_EQ(t.stream.rows(), 2 * model.config().layers + 1);
  // Layer by layer, one text among others and one longer than a batch, the numbers are the same.
  std::vector<TokenId> other(golden.tokens.rbegin(), golden.tokens.rend());
  other.pop_back();
  const TokenRow rows[] = {{other, {}}, {golden.tokens, {}}, {other, {}}};
  LayerPass layers(model, machine.compute, rows, 2 * n);
  ASSERT_EQ(layers.tokens(), n + 2 * other.size());
  EXPECT_EQ(layers.first_rows(1), other.size());
  for (size_t i = 0; i < t.layers(); i++) {
    const Matrix<float>& inputs = layers.inputs(i);
    ASSERT_EQ(inputs.cols(), d);
    for (size_t j = 0; j < d; j++)
      EXPECT_NEAR(t.glu_inputs(i, j), inputs(other.size() + n - 1, j), 2e-5) << "layer " << i;
  }
  EXPECT_EQ(layers.layers_computed(), t.layers());
}

TEST_P(FamilyTest, GivesTheSameBytesAtAnyNumberOfThreads) {
  const Golden golden(GetParam().golden);
  const FamilyModel model(open_weights(kFamilies + GetParam().file));
  TestMachine one(1), three(3);
  const Matrix<float> a = all_logits(model, one.compute, golden.tokens),
                      b = all_logits(model, three.compute, golden.tokens);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Files, FamilyTest, ::testing::ValuesIn(opened_files()), [](const auto& param) {
  std::string text = param.param.file;
  std::ranges::replace(text, '.', '_');
  return text;
});

// The factors for longer texts are others, which glint does not run.
TEST(FamilyPass, TextsAreAsLongAsTheShortFactorsOfLongropeAreFor) {
  TestMachine machine(1);
  for (const char* file : {"phi3_long", "phi3_long.gguf"}) {
    const FamilyModel model(open_weights(kFamilies + file));
    EXPECT_EQ(model.config().context, 64u);
    EXPECT_EQ(longest_text(model.config()), 32u);
    EXPECT_NO_THROW(FamilyPass(model, machine.compute, 32));
    EXPECT_THROW(FamilyPass(model, machine.compute, 33), Error);
  }
}

TEST(FamilyPass, MixturesOfExpertsAreNotRun) {
  TestMachine machine(1);
  for (const char* name : {"mixtral", "qwen2_moe", "qwen3_moe", "mixtral.gguf", "qwen2_moe.gguf", "qwen3_moe.gguf"}) {
    const FamilyModel model(open_weights(kFamilies + name));
    EXPECT_TRUE(model.mixture()) << name;
    try {
      const FamilyPass pass(model, machine.compute, 4);
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("a mixture of experts cannot be run yet"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace glint::model_testing

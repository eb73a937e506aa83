// Language models for other programs: files of GGUF and llama2.c become the folders of Hugging Face that they
// were made of, and glint's own models keep their weights and say what every array is.
#include "glint/lab/publish/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/io/npy.h"
#include "glint/lab/models/language_run.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

const std::string kHfFamilies = GLINT_GOLDEN_DIR "/families/";

std::vector<float> numbers(const StoredTensor& t) {
  std::vector<float> out(t.values());
  widen(t, 0, out);
  return out;
}

Matrix<float> logits_of(const std::string& path, const Engine& engine, std::span<const TokenId> tokens) {
  const FamilyModel model(open_weights(path));
  FamilyPass pass(model, engine.compute(), tokens.size());
  Matrix<float> out(tokens.size(), model.vocab());
  pass.feed_all(tokens, [&](size_t first, MatrixView<float> logits) {
    for (size_t i = 0; i < logits.rows(); i++) std::ranges::copy(logits.row(i), out.view().row_ptr(first + i));
  });
  return out;
}

class ExportedFamily : public ::testing::TestWithParam<const char*> {};

// The golden GGUF files were made from the folders beside them: the export is that folder again, name by name
// and value by value. Norms of Gemma lose their 1 and get it back, which rounds: values below 4, so within 4
// f32 roundings.
TEST_P(ExportedFamily, IsTheFolderThatTheFileWasMadeOf) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  const std::string name = GetParam(), out = folder.path("hf");
  export_run(engine, {.source = RunSource{.run = kHfFamilies + name + ".gguf"}, .npy = {}, .hf = out});
  const WeightFile made = open_weights(out), original = open_weights(kHfFamilies + name);
  ASSERT_EQ(made.tensors().size(), original.tensors().size());
  for (const StoredTensor& t : original.tensors()) {
    const StoredTensor& u = made.at(t.name);
    EXPECT_EQ(t.shape, u.shape) << t.name;
    const std::vector<float> a = numbers(t), b = numbers(u);
    const double allowed = name.starts_with("gemma") && t.name.find("norm") != t.name.npos ? 1e-6 : 0;
    for (size_t i = 0; i < a.size(); i++) ASSERT_NEAR(a[i], b[i], allowed) << t.name << " " << i;
  }
  const FamilyModel a{open_weights(out)}, b{open_weights(kHfFamilies + name)};
  EXPECT_EQ(a.mixture(), b.mixture());
  if (a.mixture()) return;
  // The same model to glint: only the last bits of norms and of divisors (f32 in GGUF) may differ, far below
  // 1e-5 of the largest logit.
  const std::vector<TokenId> tokens = {1, 7, 23, 38, 5, 5, 30, 12, 9, 17, 3, 33};
  const Matrix<float> got = logits_of(out, engine, tokens), want = logits_of(kHfFamilies + name, engine, tokens);
  double largest = 0, wrong = 0;
  for (size_t i = 0; i < got.size(); i++) {
    largest = std::max(largest, std::fabs(static_cast<double>(want.data()[i])));
    wrong = std::max(wrong, std::fabs(static_cast<double>(want.data()[i]) - got.data()[i]));
  }
  EXPECT_LE(wrong, 1e-5 * largest);
}

INSTANTIATE_TEST_SUITE_P(Gguf, ExportedFamily,
                         ::testing::Values("llama", "llama3", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3",
                                           "olmo", "olmo2", "stablelm", "stablelm_parallel", "qwen2_yarn", "phi3_long",
                                           "mixtral", "qwen2_moe", "qwen3_moe"),
                         [](const auto& p) { return std::string(p.param); });

TEST(Export, FilesOfLlama2cBecomeFolders) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  for (const char* file : {"llama.bin", "llama_v1.bin", "tiny/tiny.bin"}) {
    const std::string out = folder.path(std::string(file).substr(0, 4) + std::to_string(std::string(file).size()));
    export_run(engine, {.source = RunSource{.run = kHfFamilies + file}, .npy = {}, .hf = out});
    const std::vector<TokenId> tokens = {1, 7, 23, 38, 5};
    const Matrix<float> got = logits_of(out, engine, tokens), want = logits_of(kHfFamilies + file, engine, tokens);
    // Sums over a head go in another order: a few roundings of f32 in each of two layers.
    for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got.data()[i], want.data()[i], 1e-4) << file;
  }
  // With its tokenizer, so that all verbs take it.
  EXPECT_NO_THROW(open_language_run(Engine({.threads = 1}), {.run = folder.path("tiny13")})->tokenizer());
}

TEST(Export, QuantisedNumbersBecomeFloats) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  const ExportResult r = export_run(
      engine,
      {.source = RunSource{.run = kHfFamilies + "q4.gguf"}, .npy = folder.path("npy"), .hf = folder.path("hf")});
  const WeightFile from = open_weights(kHfFamilies + "q4.gguf");
  EXPECT_EQ(r.arrays.size(), from.tensors().size());
  for (const ExportedArray& a : r.arrays) EXPECT_EQ(a.dtype, "F32");
  const StoredTensor& up = from.at("blk.0.ffn_up.weight");
  EXPECT_EQ(numbers(open_weights(folder.path("hf")).at("model.layers.0.mlp.up_proj.weight")), numbers(up));
  const auto listed = std::ranges::find(r.arrays, "blk.0.ffn_up.weight", &ExportedArray::name);
  ASSERT_NE(listed, r.arrays.end());
  EXPECT_EQ(listed->about["stored_as"], "Q4_0");
  EXPECT_EQ(listed->shape, (std::vector<size_t>{32, 32}));
}

TEST(Export, AFolderOfHuggingFaceIsOneAlready) {
  const Engine engine({.threads = 1});
  const TempFolder folder;
  EXPECT_THROW(
      export_run(engine, {.source = RunSource{.run = kHfFamilies + "llama"}, .npy = {}, .hf = folder.path("hf")}),
      Error);
  EXPECT_FALSE(exists(folder.path("hf")));
  EXPECT_NO_THROW(
      export_run(engine, {.source = RunSource{.run = kHfFamilies + "llama"}, .npy = folder.path("npy"), .hf = {}}));
}

}  // namespace
}  // namespace glint

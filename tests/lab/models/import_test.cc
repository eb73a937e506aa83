// Classifiers of other programs as runs: names with prefixes, halves apart, transposed; what has no place is
// refused.
#include "glint/lab/models/import.h"

#include <gtest/gtest.h>

#include <limits>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/lab/models/image_run.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

Matrix<float> numbered(size_t rows, size_t cols, float from) {
  Matrix<float> m(rows, cols);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = from + static_cast<float>(i) / 64;
  return m;
}

Matrix<float> turned(const Matrix<float>& m) {
  Matrix<float> out(m.cols(), m.rows());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) out(j, i) = m(i, j);
  return out;
}

// Pictures of 2 x 3, width 4, 5 hidden units, 3 classes.
struct ForeignNet {
  Matrix<float> embed = numbered(4, 6, 0), left = numbered(5, 4, 1), right = numbered(5, 4, 2),
                head = numbered(3, 5, 3);
  TempFolder folder;

  std::string write(const std::vector<std::pair<std::string, const Matrix<float>*>>& tensors) const {
    std::vector<TensorToWrite> all;
    for (const auto& [name, m] : tensors) all.push_back(tensor_to_write<float>(name, *m));
    const std::string path = folder.path("weights.safetensors");
    write_safetensors(real_files(), path, all);
    return path;
  }
  void expect_imported(const std::string& weights) const {
    const Engine engine({.threads = 1});
    const std::string out = folder.path("run-" + std::to_string(count++));
    const ImportResult r =
        import_classifier(engine, {.weights = weights, .gate = "identity", .height = 2, .width = 3, .out = out});
    EXPECT_EQ(r.config.inputs, 6u);
    EXPECT_EQ(r.config.d_model, 4u);
    EXPECT_EQ(r.config.hidden(), 5u);
    EXPECT_EQ(r.config.classes, 3u);
    const auto run = open_image_run(engine, {.run = out});
    const auto same = [](ConstMatrixView<float> a, const Matrix<float>& b) {
      ASSERT_EQ(a.rows(), b.rows());
      for (size_t i = 0; i < b.rows(); i++)
        for (size_t j = 0; j < b.cols(); j++) ASSERT_EQ(a(i, j), b(i, j)) << i << " " << j;
    };
    same(find_tensor(run->model(), "embed.weight"), embed);
    same(find_tensor(run->model(), "blocks.0.weight").row_range(0, 5), left);
    same(find_tensor(run->model(), "blocks.0.weight").row_range(5, 5), right);
    same(find_tensor(run->model(), "head.weight"), head);
    EXPECT_TRUE(run->info().run.is_null());  // no record of a training
  }
  mutable int count = 0;
};

TEST(Import, TakesPrefixesAndHalvesApart) {
  const ForeignNet net;
  net.expect_imported(net.write({{"model.embed.weight", &net.embed},
                                 {"model.blocks.0.gate_proj.weight", &net.left},
                                 {"model.blocks.0.up_proj.weight", &net.right},
                                 {"model.head.weight", &net.head}}));
  net.expect_imported(net.write({{"net.fc_in.weight", &net.embed},
                                 {"net.layers.3.w_l.weight", &net.left},
                                 {"net.layers.3.w_r.weight", &net.right},
                                 {"net.unembed.weight", &net.head}}));
}

TEST(Import, TakesTransposedMatrices) {
  const ForeignNet net;
  const Matrix<float> e = turned(net.embed), l = turned(net.left), r = turned(net.right), h = turned(net.head);
  net.expect_imported(
      net.write({{"embed.weight", &e}, {"blocks.0.left", &l}, {"blocks.0.right", &r}, {"head.weight", &h}}));
}

TEST(Import, RefusesWhatHasNoPlaceIsMissingOrDoesNotFit) {
  const ForeignNet net;
  const Engine engine({.threads = 1});
  const auto error = [&](const std::string& weights) -> std::string {
    try {
      import_classifier(engine, {.weights = weights, .height = 2, .width = 3, .out = net.folder.path("run")});
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(error(net.write({{"embed.weight", &net.embed}, {"something.weight", &net.left}})).find("no place"),
            std::string::npos);
  EXPECT_NE(
      error(net.write({{"embed.weight", &net.embed}, {"blocks.0.left.weight", &net.left}, {"head.weight", &net.head}}))
          .find("no right half of layer 0"),
      std::string::npos);
  EXPECT_NE(error(net.write({{"embed.weight", &net.left}, {"blocks.0.weight", &net.left}, {"head.weight", &net.head}}))
                .find("the embedding reads"),
            std::string::npos);
  EXPECT_NE(error(net.write({{"embed.weight", &net.embed},
                             {"layers.0.w1.weight", &net.left},
                             {"layers.0.w3.weight", &net.right},
                             {"layers.0.w2.weight", &net.right},
                             {"head.weight", &net.head}}))
                .find("layers.0.w2.weight"),
            std::string::npos);
  EXPECT_NE(error(net.write({{"embed.weight", &net.embed},
                             {"blocks.0.left.weight", &net.left},
                             {"blocks.0.right.weight", &net.right},
                             {"blocks.2.left.weight", &net.left},
                             {"blocks.2.right.weight", &net.right},
                             {"head.weight", &net.head}}))
                .find("there is layer 2, but not the one before it"),
            std::string::npos);
  Matrix<float> wrong = numbered(3, 5, 3);
  wrong(1, 2) = std::numeric_limits<float>::quiet_NaN();
  const std::string not_finite = error(net.write({{"embed.weight", &net.embed},
                                                  {"blocks.0.left.weight", &net.left},
                                                  {"blocks.0.right.weight", &net.right},
                                                  {"head.weight", &wrong}}));
  EXPECT_NE(not_finite.find("a weight is not finite"), std::string::npos) << not_finite;
  EXPECT_NE(not_finite.find("head.weight"), std::string::npos) << not_finite;
  EXPECT_FALSE(exists(net.folder.path("run")));
}

// Where some layers have a bias, that of the others is 0.
TEST(Import, TakesABiasOfTheHeadAlone) {
  const ForeignNet net;
  const Engine engine({.threads = 1});
  const Matrix<float> bias = numbered(1, 3, 7), both = numbered(1, 10, 1);
  std::vector<std::pair<std::string, const Matrix<float>*>> tensors = {{"embed.weight", &net.embed},
                                                                       {"blocks.0.left.weight", &net.left},
                                                                       {"blocks.0.right.weight", &net.right},
                                                                       {"head.weight", &net.head},
                                                                       {"head.bias", &bias}};
  const std::string out = net.folder.path("run");
  import_classifier(engine, {.weights = net.write(tensors), .height = 2, .width = 3, .out = out});
  const auto run = open_image_run(engine, {.run = out});
  EXPECT_TRUE(run->model().config.bias);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(find_tensor(run->model(), "head.bias")(0, i), bias(0, i));
  for (size_t i = 0; i < 10; i++) EXPECT_EQ(find_tensor(run->model(), "blocks.0.bias")(0, i), 0.0f);
  // One that no part of the model takes is not passed over.
  tensors.push_back({"blocks.0.bias", &both});
  try {
    import_classifier(engine,
                      {.weights = net.write(tensors), .height = 2, .width = 3, .out = net.folder.path("other")});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("blocks.0.bias"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace glint

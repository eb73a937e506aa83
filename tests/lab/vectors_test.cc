// Data that are no pictures: vectors of floats in memory, with more classes than a byte can count, from
// training to everything that reads a model.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/rng.h"
#include "glint/data/arrays.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/publish/page.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/read.h"
#include "glint/lab/study/attack.h"
#include "glint/lab/study/compare.h"
#include "glint/train/image_task.h"
#include "glint/train/trainer.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

constexpr size_t kClasses = 300, kInputs = 20, kSamples = 4;

// Points around a centre per class.
std::shared_ptr<const Dataset> points() {
  const Rng rng(5, Stream::sample, 1);
  const auto make = [&](size_t per_class, uint64_t first, Matrix<float>& x, std::vector<uint32_t>& labels) {
    x = Matrix<float>(kClasses * per_class, kInputs);
    for (size_t i = 0; i < x.rows(); i++) {
      labels.push_back(static_cast<uint32_t>(i % kClasses));
      for (size_t j = 0; j < kInputs; j++)
        x(i, j) = static_cast<float>(rng.normal(labels[i] * kInputs + j) + 0.1 * rng.normal(first + i * kInputs + j));
    }
  };
  Matrix<float> train, test;
  std::vector<uint32_t> train_labels, test_labels;
  make(kSamples, 100000, train, train_labels);
  make(1, 500000, test, test_labels);
  return std::make_shared<Dataset>(
      make_dataset(Samples<float>{train, train_labels}, Samples<float>{test, test_labels}, {.name = "points"}));
}

struct VectorRun {
  VectorRun() {
    TrainOptions options;
    options.d_model = 32, options.batch = 100, options.epochs = 20, options.noise_prob = 0;
    options.lr = 1e-2;
    for (const uint64_t seed : {0, 1}) {
      options.seed = seed;
      ImageTask task(options, *data, engine.compute());
      TrainSetup setup;
      setup.out = run(seed);
      train(options, task, engine.compute(), engine.files(), setup, {});
    }
  }
  std::string run(uint64_t seed) const { return folder.path("seed-" + std::to_string(seed)); }

  TempFolder folder;
  Engine engine{{.threads = 2}};
  const std::shared_ptr<const Dataset> data = points();
};

void expect_needs_pictures(const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "vectors are not refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().what.find("needs pictures: the samples of points are vectors"), std::string::npos) << e.what();
  }
}

TEST(Vectors, AreTrainedSavedOpenedAndRead) {
  const VectorRun v;
  const ImageEvaluation e = evaluate_images(v.engine, {.source = RunSource{.run = v.run(0), .images = v.data}});
  EXPECT_EQ(e.images, kClasses);
  EXPECT_EQ(e.classes.size(), kClasses);
  EXPECT_GT(e.accuracy, 0.2);  // chance is 1/300
  ASSERT_FALSE(e.worst.empty());
  EXPECT_TRUE(e.worst[0].pixels.empty());

  const ReadResult r = read(v.engine, {.source = RunSource{.run = v.run(0), .images = v.data},
                                       .along = Along{.directions = {"0,299"}},
                                       .figures = true});
  EXPECT_EQ(r.names(), (std::vector<std::string>{"0", "299"}));
  EXPECT_DOUBLE_EQ(r.forms[0].fidelity.accuracy_model, e.accuracy);
  EXPECT_EQ(r.image->local.agreement, 1.0);
  EXPECT_EQ(r.directions[1].form.spectrum.count(), 32u);
  EXPECT_EQ(r.directions[1].positive[0].pixels.size(), kInputs);
  EXPECT_EQ(r.size.height, 0u);
  // Spectra and truncation; nothing that would show pictures.
  EXPECT_EQ(r.figures.size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(v.run(0) + "/calibration.safetensors"));

  const ExplainResult x = explain(v.engine, {.source = RunSource{.run = v.run(0), .images = v.data}, .index = 299});
  EXPECT_EQ(x.input, "test sample 299 of points");
  EXPECT_EQ(x.label, 299u);
  EXPECT_TRUE(x.pixels.empty());
  EXPECT_TRUE(x.figure.empty());
  for (const ClassExplanation& c : x.classes)
    EXPECT_NEAR(c.sums[Form::local]->total(), c.logit, 1e-4 * (1 + std::fabs(c.logit)));
}

TEST(Vectors, AreComparedAndExported) {
  const VectorRun v;
  CompareRequest q{.runs = {v.run(0), v.run(1)}, .source = RunSource{.images = v.data}, .control = {}, .unit = "0,299"};
  const Comparison c = compare_runs(v.engine, q);
  ASSERT_EQ(c.results.size(), 1u);
  EXPECT_EQ(c.units, (std::vector<size_t>{0, 299}));
  ASSERT_EQ(c.matrices.size(), 2u);
  EXPECT_LT(c.matrices[1](0, 0), 0.999);  // other seeds, other eigenvectors
  q.runs = {v.run(0), v.run(0)};
  EXPECT_NEAR(compare_runs(v.engine, q).matrices.at(1)(0, 0), 1, 1e-9);

  const ExportResult e = export_run(
      v.engine,
      {.source = RunSource{.run = v.run(0), .images = v.data}, .npy = v.folder.path("npy"), .hf = v.folder.path("hf")});
  EXPECT_TRUE(std::ranges::any_of(e.arrays, [](const ExportedArray& a) { return a.name == "gates.0.gain"; }));
  EXPECT_TRUE(std::filesystem::exists(v.folder.path("hf") + "/config.json"));
}

TEST(Vectors, AreRefusedWhereOnlyPicturesMakeSense) {
  const VectorRun v;
  const RunSource source{.run = v.run(0), .images = v.data};
  expect_needs_pictures([&] { write_page(v.engine, {.source = source}); });
  expect_needs_pictures([&] { attack(v.engine, {.source = source}); });
  EvaluationRequest sheet{.source = RunSource{.run = v.run(0), .images = v.data}};
  sheet.sheet = v.folder.path("sheet.png");
  expect_needs_pictures([&] { evaluate_images(v.engine, sheet); });
  ExplainRequest picture{.source = RunSource{.run = v.run(0), .images = v.data}};
  picture.image = "some.png";
  expect_needs_pictures([&] { explain(v.engine, picture); });
}

// Data of another size are refused before anything is computed, whichever way they come.
TEST(Vectors, OfAnotherSizeDoNotFit) {
  const VectorRun v;
  const Matrix<float> x(2, kInputs + 1);
  const std::vector<uint32_t> labels = {0, 1};
  const auto wider =
      std::make_shared<Dataset>(make_dataset(Samples<float>{x, labels}, Samples<float>{x, labels}, {.name = "wider"}));
  try {
    const auto opened_run = glint::open_run(v.engine, {.run = v.run(0), .images = wider});
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_NE(e.parts().what.find("vectors of 21 numbers"), std::string::npos) << e.what();
    EXPECT_NE(e.parts().expected.find("vectors of 20 numbers"), std::string::npos) << e.what();
  }
  EXPECT_THROW(glint::open_image_run(v.engine, {.run = v.run(0), .data = "glyphs"})->images(), Error);
}

}  // namespace
}  // namespace glint

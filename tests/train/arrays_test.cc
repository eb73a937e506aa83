// Training on arrays that a program has in memory: floats, vectors, many classes, and that other arrays are
// another run.
#include "glint/data/arrays.h"

#include "tests/train/train_testing.h"

namespace glint {
namespace {

using model_testing::error_of;
using model_testing::Folder;
using model_testing::run_training;
using model_testing::small_data;
using model_testing::small_options;
using model_testing::TestMachine;

std::vector<float> as_floats(const ImageSet& set) {
  std::vector<float> out;
  for (const uint8_t p : set.pixels.span()) out.push_back(static_cast<float>(p) * (1.0f / 255.0f));
  return out;
}

// small_data with its pixels as floats, as pictures or as plain vectors.
Dataset float_data(bool pictures) {
  const Dataset bytes = small_data();
  const std::vector<float> train = as_floats(bytes.train), test = as_floats(bytes.test);
  const size_t n = bytes.train.inputs();
  ArrayOptions options{.name = "spots", .class_names = bytes.class_names};
  if (pictures) options.height = bytes.train.height, options.width = bytes.train.width;
  return make_dataset({ConstMatrixView<float>(train.data(), bytes.train.count(), n), bytes.train.labels},
                      {ConstMatrixView<float>(test.data(), bytes.test.count(), n), bytes.test.labels}, options);
}

std::string weights_of(const TrainOptions& options, const Dataset& data) {
  const Folder folder;
  TestMachine machine(2);
  run_training(options, data, machine, folder / "run");
  return read_file(folder / "run/model.safetensors");
}

TEST(TrainArrays, FloatsTrainAsTheSameBytesDo) {
  TrainOptions options = small_options();
  options.noise_std = 0;
  const std::string want = weights_of(options, small_data());
  EXPECT_EQ(weights_of(options, float_data(true)), want);
  EXPECT_EQ(weights_of(options, float_data(false)), want);
}

// The noise that floats get is that of bytes: the weights end up near each other, and far from those without.
TEST(TrainArrays, FloatsGetNoiseToo) {
  TrainOptions options = small_options();
  options.noise_std = 0.2;
  options.epochs = 1;
  const Dataset bytes = small_data(), floats = float_data(true);
  const auto first_step = [&](const Dataset& data, double noise) {
    TrainOptions o = options;
    o.noise_std = noise;
    TestMachine machine(2);
    ImageTask task(o, data, machine.compute);
    Matrix<float> weights(1, task.params().floats()), gradients(1, task.params().floats());
    task.params().initialise(weights.span(), 0);
    task.set_weights(weights.span());
    task.step(0, 0, gradients.span());
    return gradients;
  };
  const Matrix<float> a = first_step(bytes, 0.2), b = first_step(floats, 0.2), c = first_step(bytes, 0);
  float size = 0, apart = 0, without = 0;
  for (size_t i = 0; i < a.size(); i++) {
    size = std::max(size, std::fabs(a.data()[i]));
    apart = std::max(apart, std::fabs(a.data()[i] - b.data()[i]));
    without = std::max(without, std::fabs(a.data()[i] - c.data()[i]));
  }
  EXPECT_LT(apart, 1e-5f * size);  // pixel / 255 + noise is rounded once or twice
  EXPECT_GT(without, 1e-2f * size);
}

TEST(TrainArrays, AModelOfVectorsIsLoadedAgain) {
  const Folder folder;
  TestMachine machine(2);
  TrainOptions options = small_options();
  options.noise_std = 0;
  const Dataset data = float_data(false);
  const TrainResult result = run_training(options, data, machine, folder / "run").result;
  const Json config = read_json(folder / "run/config.json");
  EXPECT_FALSE(config.contains("image"));
  EXPECT_EQ(config["inputs"], data.train.inputs());
  EXPECT_EQ(config["data"], "spots");
  const ImageModel model = load_image_model(folder / "run");
  EXPECT_EQ(model.height, 0u);
  ClassifierEngine engine(model.config, machine.compute, 64, false);
  engine.set_weights(model.weights.span());
  const SetResult seen = evaluate_set(engine, machine.compute.kernels(), data.test);
  EXPECT_DOUBLE_EQ(static_cast<double>(seen.correct) / static_cast<double>(data.test.count()),
                   result.last.test_accuracy);
}

// Vectors with a 1 at the place of their class.
TEST(TrainArrays, MoreClassesThanAByteCounts) {
  constexpr size_t kClasses = 300;
  Matrix<float> x(kClasses, kClasses);
  std::vector<uint32_t> labels;
  for (uint32_t i = 0; i < kClasses; i++) x(i, i) = 1, labels.push_back(i);
  const Dataset data = make_dataset({std::as_const(x).view(), labels}, {std::as_const(x).view(), labels});
  TrainOptions options = small_options();
  options.layers = 1;
  options.d_model = 32;
  options.batch = 100;
  options.epochs = 60;
  options.noise_std = 0;
  options.lr = 0.02;
  const Folder folder;
  TestMachine machine(2);
  const TrainResult result = run_training(options, data, machine, folder / "run").result;
  EXPECT_GT(result.last.test_accuracy, 0.95);
  EXPECT_EQ(load_image_model(folder / "run").config.classes, kClasses);
}

// Of sets without a checksum, as a program makes them by hand, too.
TEST(TrainArrays, OtherArraysAreAnotherRun) {
  const Folder folder;
  TestMachine machine(2);
  for (const bool by_hand : {true, false}) {
    const std::string out = folder / (by_hand ? "hand" : "made");
    Dataset data = by_hand ? small_data() : float_data(true);
    if (by_hand) data.checksum.clear();
    run_training(small_options(), data, machine, out);
    EXPECT_EQ(run_training(small_options(), data, machine, out).result.state, TrainResult::State::already_finished);
    if (by_hand)
      data.train.pixels(17, 3) ^= 1;
    else
      data.train.values(17, 3) += 1e-4f, data.checksum = content_checksum(data);
    const ErrorParts e = error_of([&] { run_training(small_options(), data, machine, out); });
    EXPECT_EQ(e.code, ErrorCode::usage);
    EXPECT_EQ(e.what, "the directory holds another run");
    EXPECT_NE(e.expected.find("checksum"), std::string::npos) << e.expected;
  }
}

// The options need not repeat what the data are called.
TEST(TrainArrays, TheRunKnowsItsDataByTheirOwnName) {
  const Folder folder;
  TestMachine machine(2);
  TrainOptions options = small_options();
  options.data = "glyphs";
  run_training(options, float_data(true), machine, folder / "run");
  EXPECT_EQ(read_json(folder / "run/config.json")["data"], "spots");
  EXPECT_EQ(read_json(folder / "run/run.json")["identity"]["options"]["data"], "spots");
}

// Refused before anything is written.
TEST(TrainArrays, WhatCouldNotBeLoadedAgainIsNotTrained) {
  const Folder folder;
  TestMachine machine(2);
  const auto refused = [&](const auto& spoil) {
    Dataset data = small_data();
    spoil(data);
    const ErrorParts e = error_of([&] { run_training(small_options(), data, machine, folder / "run"); });
    EXPECT_EQ(e.code, ErrorCode::usage) << e.what;
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  };
  refused([](Dataset& d) { d.train.height = d.test.height = 7; });
  refused([](Dataset& d) { d.train.height = d.test.height = d.train.width = d.test.width = 0; });
  refused([](Dataset& d) { d.test.width = 5; });
  refused([](Dataset& d) { d.train.labels[3] = 5; });
  refused([](Dataset& d) { d.train.labels.pop_back(); });
  refused([](Dataset& d) { d.class_names.pop_back(); });
  refused([](Dataset& d) { d.test.classes = 4; });
}

}  // namespace
}  // namespace glint

// Training without a directory: the weights and the metrics are those of a run on disk, and no file is
// touched.
#include "glint/train/text_task.h"
#include "tests/train/train_testing.h"

namespace glint {
namespace {

using model_testing::error_of;
using model_testing::FailingFiles;
using model_testing::Folder;
using model_testing::run_training;
using model_testing::small_data;
using model_testing::small_options;
using model_testing::TestMachine;
using model_testing::TrainRun;

// Files of which nothing can be written, in a working directory that must stay empty.
struct Nowhere {
  Folder folder;
  const std::string before = std::filesystem::current_path();
  FailingFiles files{1};
  Nowhere() { std::filesystem::current_path(folder.path()); }
  ~Nowhere() {
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    EXPECT_EQ(files.operations(), 0u);
    std::filesystem::current_path(before);
  }
};

TEST(TrainInMemory, GivesTheWeightsAndMetricsOfARunOnDisk) {
  const Folder folder;
  TestMachine machine(2);
  const Dataset data = small_data();
  TrainOptions options = small_options();
  options.eval_steps = 4;
  const TrainRun disk = run_training(options, data, machine, folder / "run", 0, 5);
  EXPECT_EQ(disk.result.weights.size(), 0u);
  const ImageModel want = load_image_model(folder / "run");

  Nowhere nowhere;
  ImageTask task(options, data, machine.compute);
  TrainResult result = train(options, task, machine.compute, nowhere.files, {}, {});
  EXPECT_EQ(result.state, TrainResult::State::finished);
  EXPECT_EQ(result.step, 30u);
  const ImageModel model = task.model(std::move(result.weights));
  EXPECT_TRUE(std::ranges::equal(model.weights.span(), want.weights.span()));
  EXPECT_EQ(config_text(model), config_text(want));
  const std::vector<Json> lines = read_metrics(folder / "run");
  ASSERT_EQ(result.evaluations.size(), lines.size());
  ASSERT_EQ(disk.result.evaluations.size(), lines.size());
  for (size_t i = 0; i < lines.size(); i++) {
    EXPECT_EQ(result.evaluations[i].step, lines[i]["step"]);
    EXPECT_EQ(result.evaluations[i].test_loss, lines[i]["test_loss"]);
    EXPECT_EQ(result.evaluations[i].train_loss, lines[i]["train_loss"]);
  }
}

TEST(TrainInMemory, TestsAfterEachOfTheFirstSteps) {
  TestMachine machine(1);
  const Dataset data = small_data();
  TrainOptions options = small_options();
  options.eval_first = 7;
  ImageTask task(options, data, machine.compute);
  Nowhere nowhere;
  const TrainResult result = train(options, task, machine.compute, nowhere.files, {}, {});
  ASSERT_EQ(result.evaluations.size(), 7 + options.epochs);  // an epoch has more steps than that
  for (size_t i = 0; i < 7; i++) EXPECT_EQ(result.evaluations[i].step, i + 1);
}

TEST(TrainInMemory, AStoppedRunGivesWhatItHas) {
  TestMachine machine(2);
  const Dataset data = small_data();
  Nowhere nowhere;
  const TrainRun run = run_training(small_options(), data, machine, "", 7, 2, nowhere.files);
  EXPECT_EQ(run.result.state, TrainResult::State::interrupted);
  EXPECT_EQ(run.result.step, 7u);
  EXPECT_TRUE(run.notes.empty());
  ASSERT_GT(run.result.weights.size(), 0u);
  ImageTask task(small_options(), data, machine.compute);
  Matrix<float> start(1, task.params().floats());
  task.params().initialise(start.span(), 0);
  EXPECT_FALSE(std::ranges::equal(run.result.weights.span(), start.span()));
}

// A step that was cut would leave weights of which some are new and some old.
TEST(TrainInMemory, AStopScopeNeverCutsAStep) {
  TestMachine machine(2);
  const Dataset data = small_data();
  Nowhere nowhere;
  const TrainRun want = run_training(small_options(), data, machine, "", 0, 0, nowhere.files);
  const StopScope scope(machine.pool, [] { return true; });
  const TrainRun run = run_training(small_options(), data, machine, "", 0, 0, nowhere.files);
  EXPECT_EQ(run.result.state, TrainResult::State::finished);
  EXPECT_TRUE(std::ranges::equal(run.result.weights.span(), want.result.weights.span()));
  // Weights are packed whole, and a pass over the test set can be cut.
  ImageTask task(small_options(), data, machine.compute);
  task.set_weights(run.result.weights.span());
  EXPECT_EQ(error_of([&] { task.evaluate(); }).code, ErrorCode::interrupted);
}

TEST(TrainInMemory, ADivergedRunIsAnError) {
  TestMachine machine(2);
  TrainOptions options = small_options();
  options.lr = 1e20;
  Nowhere nowhere;
  const ErrorParts e = error_of([&] { run_training(options, small_data(), machine, "", 0, 0, nowhere.files); });
  EXPECT_EQ(e.code, ErrorCode::numeric);
  EXPECT_EQ(e.hint.find("out"), std::string::npos) << e.hint;
}

// Ids of no tokenizer: in memory, and in a directory that then has no tokenizer.model.
TEST(TrainInMemory, ALanguageModelOfIds) {
  std::vector<std::vector<TokenId>> stories;
  for (TokenId i = 0; i < 40; i++) stories.push_back({1 + i % 5, 6, 1 + (i + 1) % 5, 7, 1 + (i + 2) % 5});
  const TextData data = make_text_data(stories, stories, {.size = 9, .end = 8}, "counting");
  TrainOptions options;
  options.text = true;
  options.layers = 1, options.d_model = 16, options.heads = 2, options.context = 8;
  options.batch = 10, options.epochs = 4, options.lr = 1e-2;
  TestMachine machine(2);
  TextTask task(options, data, machine.compute);
  Matrix<float> weights;
  {
    Nowhere nowhere;
    TrainResult result = train(options, task, machine.compute, nowhere.files, {}, {});
    EXPECT_LT(result.evaluations.back().test_loss, result.evaluations.front().test_loss);
    weights = std::move(result.weights);
  }
  const Folder folder;
  const TrainSetup setup{.out = folder / "run", .machine = Json::object()};
  TextTask again(options, data, machine.compute);
  train(options, again, machine.compute, model_testing::quick_files(), setup, {});
  EXPECT_FALSE(std::filesystem::exists(folder / "run/tokenizer.model"));
  const LanguageModel model = load_language_model(folder / "run");
  EXPECT_EQ(model.data, "counting");
  EXPECT_EQ(model.tokenizer_hash, "");
  EXPECT_TRUE(std::ranges::equal(model.weights.span(), weights.span()));
  EXPECT_EQ(config_text(task.model({})), config_text(model));
}

}  // namespace
}  // namespace glint

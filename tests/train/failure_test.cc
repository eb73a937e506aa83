// What can go wrong around a run: disks that are full or read-only, directories that hold something else, a
// second trainer, numbers that diverge. Each has its message and its code, and nothing that was saved is
// lost.
#include <limits>

#include "glint/io/seal.h"
#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;
namespace fs = std::filesystem;

class Failure : public ::testing::Test {
 protected:
  const Dataset data_ = small_data();
  const TrainOptions options_ = small_options();
  TestMachine machine_{2};
  const Folder folder_;

  // A process that ends between any two operations leaves nothing that looks damaged.
  static void expect_no_false_damage(const std::string& run) {
    if (!fs::exists(run + "/run.json")) return;
    const RunFile file = read_run_file(run);
    if (!file.finished()) return;
    for (const auto& [name, hash] : file.json["files"].items())
      EXPECT_EQ(damage(run, file.json, name), "") << run << ", " << name;
    EXPECT_NO_THROW(read_metrics(run));
  }

  TrainRun go(const std::string& name, uint64_t stop_after = 0, bool force = false) {
    return run_training(options_, data_, machine_, folder_ / name, stop_after, 5, quick_files(), force);
  }
};

// The disk is full from any operation on: the error comes through, and with room again the run goes on from
// the last checkpoint that was saved, to the same bytes.
TEST_F(Failure, FullDiskAtAnyOperation) {
  go("whole");
  const auto want = lasting_bytes(folder_ / "whole");
  FailingFiles counter(0);
  run_training(options_, data_, machine_, folder_ / "count", 0, 5, counter);
  const size_t operations = counter.operations();
  ASSERT_GT(operations, 30u);
  for (size_t at = 1; at <= operations; at++)
    for (const bool goes_on : {true, false}) {
      const std::string name = "full-" + std::to_string(at) + (goes_on ? "" : "-once");
      FailingFiles files(at, ENOSPC, goes_on);
      const ErrorParts e = error_of([&] { run_training(options_, data_, machine_, folder_ / name, 0, 5, files); });
      EXPECT_EQ(e.code, ErrorCode::failure) << name << ": " << e.what;
      EXPECT_NE(e.what.find("No space left"), std::string::npos) << e.what;
      EXPECT_NE(e.where.find(name), std::string::npos) << e.where;
      expect_no_false_damage(folder_ / name);
      const TrainRun again = go(name);
      EXPECT_EQ(again.result.state == TrainResult::State::finished ||
                    again.result.state == TrainResult::State::already_finished,
                true);
      EXPECT_EQ(again.result.resumed_from % 5, 0u);
      EXPECT_TRUE(again.notes.empty()) << name << ": " << again.notes[0];
      auto got = lasting_bytes(folder_ / name);
      expect_same(want, got, name);
      fs::remove_all(folder_ / name);
    }
}

TEST_F(Failure, ReadOnlyDisk) {
  FailingFiles files(1, EROFS);
  const ErrorParts e = error_of([&] { run_training(options_, data_, machine_, folder_ / "a", 0, 5, files); });
  EXPECT_EQ(e.code, ErrorCode::failure);
  EXPECT_NE(e.what.find("Read-only file system"), std::string::npos) << e.what;
}

TEST_F(Failure, OutIsAFileOrBelowOne) {
  write_atomic(real_files(), folder_ / "file", "x");
  for (const char* name : {"file", "file/run"}) {
    const ErrorParts e = error_of([&] { go(name); });
    EXPECT_EQ(e.code, ErrorCode::failure) << name;
    EXPECT_NE(e.where.find(name), std::string::npos);
    EXPECT_FALSE(e.hint.empty());
  }
  EXPECT_EQ(read_file(folder_ / "file"), "x");
}

TEST_F(Failure, AnotherRunIsNotOverwritten) {
  go("run");
  const auto want = lasting_bytes(folder_ / "run");
  TrainOptions other = options_;
  other.gate = "relu";
  other.seed = 4;
  const auto other_run = [&](bool force) {
    return run_training(other, data_, machine_, folder_ / "run", 0, 0, quick_files(), force);
  };
  const ErrorParts e = error_of([&] { other_run(false); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  for (const char* part : {"gate", "sqs", "relu", "seed", "0 there, 4 now"})
    EXPECT_NE(e.expected.find(part), std::string::npos) << e.expected;
  EXPECT_NE(e.hint.find("`force`"), std::string::npos);
  expect_same(want, lasting_bytes(folder_ / "run"), "after the refusal");
  // Other data under the same name is another run, too.
  const Dataset more = small_data(340);
  EXPECT_EQ(error_of([&] { run_training(options_, more, machine_, folder_ / "run"); }).code, ErrorCode::usage);

  EXPECT_EQ(other_run(true).result.state, TrainResult::State::finished);
  run_training(other, data_, machine_, folder_ / "fresh");
  expect_same(lasting_bytes(folder_ / "fresh"), lasting_bytes(folder_ / "run"), "with force");
}

TEST_F(Failure, AFinishedRunIsLeftAlone) {
  go("run");
  const std::string before = read_file(folder_ / "run/run.json");
  const TrainRun again = go("run");
  EXPECT_EQ(again.result.state, TrainResult::State::already_finished);
  EXPECT_TRUE(again.steps.empty());
  EXPECT_GT(again.result.last.test_accuracy, 0);
  EXPECT_EQ(read_file(folder_ / "run/run.json"), before);
  EXPECT_EQ(go("run", 0, true).steps.size(), 30u) << "force starts anew";
}

TEST_F(Failure, LostWeightsComeBackFromTheLastCheckpoint) {
  go("run");
  const auto want = lasting_bytes(folder_ / "run");
  fs::remove(folder_ / "run/model.safetensors");
  const TrainRun again = go("run");
  EXPECT_EQ(again.result.state, TrainResult::State::finished);
  EXPECT_TRUE(again.steps.empty());
  expect_same(want, lasting_bytes(folder_ / "run"), "weights again");
}

TEST_F(Failure, ADirectoryWithOtherFilesIsRefusedEvenWithForce) {
  fs::create_directories(folder_ / "mine/figures");
  write_atomic(real_files(), folder_ / "mine/thesis.tex", "years of work");
  write_atomic(real_files(), folder_ / "mine/config.json", "{}");
  for (const bool force : {false, true}) {
    const ErrorParts e = error_of([&] { go("mine", 0, force); });
    EXPECT_EQ(e.code, ErrorCode::usage);
    EXPECT_NE(e.where.find("mine/"), std::string::npos);
  }
  EXPECT_EQ(read_file(folder_ / "mine/thesis.tex"), "years of work");
  EXPECT_EQ(read_file(folder_ / "mine/config.json"), "{}");
  EXPECT_TRUE(fs::exists(folder_ / "mine/figures"));
}

// Nothing but run.json says whose run it is: then it is named as damaged, and nothing is removed.
TEST_F(Failure, AnUnreadableRunFileIsNotSilentlyReplaced) {
  go("run", 3);
  fs::remove_all(folder_ / "run/checkpoints");
  for (const char* content : {"", "{", "[]", "{\"identity\": 3}"}) {
    write_atomic(real_files(), folder_ / "run/run.json", content);
    const ErrorParts e = error_of([&] { go("run"); });
    EXPECT_EQ(e.code, ErrorCode::bad_file) << content;
    EXPECT_EQ(e.where, folder_ / "run/run.json");
    EXPECT_NE(e.what.find("run.json is damaged"), std::string::npos) << e.what;
    EXPECT_EQ(e.hint.find("`force`"), std::string::npos) << e.hint;
    EXPECT_TRUE(fs::exists(folder_ / "run/metrics.jsonl"));
  }
  EXPECT_EQ(go("run", 0, true).result.state, TrainResult::State::finished);
}

// A checkpoint says whose run it is.
TEST_F(Failure, AnUnreadableRunFileIsWrittenAnewWhereACheckpointIsLeft) {
  go("whole");
  const auto want = lasting_bytes(folder_ / "whole");
  for (const char* content : {"", "{", "[]", "{\"identity\": 3}"}) {
    const Folder mine;
    run_training(options_, data_, machine_, mine / "run", 7, 5);
    write_atomic(real_files(), mine / "run/run.json", content);
    TrainOptions other = options_;
    other.seed = 9;
    EXPECT_EQ(error_of([&] { run_training(other, data_, machine_, mine / "run", 0, 5); }).code, ErrorCode::bad_file);
    const TrainRun again = run_training(options_, data_, machine_, mine / "run", 0, 5);
    EXPECT_EQ(again.result.resumed_from, 7u);
    ASSERT_EQ(again.notes.size(), 1u);
    EXPECT_NE(again.notes[0].find("run.json is damaged"), std::string::npos) << again.notes[0];
    expect_same(want, lasting_bytes(mine / "run"), "run.json written anew");
  }
}

// A field of another type must not come out as another exception.
TEST_F(Failure, FieldsOfAnotherType) {
  go("run", 12);
  go("whole");
  const auto want = lasting_bytes(folder_ / "whole");
  const std::string good = read_file(folder_ / "run/run.json"), metrics = read_file(folder_ / "run/metrics.jsonl");
  for (const char* line :
       {"[]\n", "{}\n", "{\"step\":\"x\"}\n", "{\"step\":11,\"test_loss\":null}\n", "x\n",
        "{\"step\":11,\"epoch\":\"x\"}\n", "{\"step\":11,\"epoch_end\":1}\n", "{\"step\":11,\"other\":1}\n"}) {
    const std::string name = "damaged";
    fs::copy(folder_ / "run", folder_ / name, fs::copy_options::recursive);
    write_atomic(real_files(), folder_ / name + "/metrics.jsonl", metrics + line);
    const ErrorParts e = error_of([&] { read_metrics(folder_ / name); });
    EXPECT_EQ(e.code, ErrorCode::bad_file) << line;
    EXPECT_NE(e.where.find("metrics.jsonl"), std::string::npos) << e.where;
    const TrainRun again = go(name);
    ASSERT_EQ(again.notes.size(), 1u) << line;
    EXPECT_NE(again.notes[0].find("metrics.jsonl is damaged"), std::string::npos) << again.notes[0];
    expect_same(want, lasting_bytes(folder_ / name), line);
    fs::remove_all(folder_ / name);
  }
  for (const auto& [place, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/state", 5},
                                                           {"/steps", "x"},
                                                           {"/seconds", "x"},
                                                           {"/identity/options", 3},
                                                           {"/machine", 1},
                                                           {"/data", "x"},
                                                           {"/data/checksum", 1},
                                                           {"/files", 1},
                                                           {"/files/config.json", 1},
                                                           {"/result", Json{{"step", 1}, {"epoch", "x"}}}}) {
    Json run = parse_json(good, "good");
    run[Json::json_pointer(place)] = value;
    write_atomic(real_files(), folder_ / "run/run.json", sealed_text(run));
    const ErrorParts e = error_of([&] { read_run_file(folder_ / "run"); });
    EXPECT_EQ(e.code, ErrorCode::bad_file) << place;
    EXPECT_NE(e.where.find("run.json"), std::string::npos) << e.where;
  }
  write_atomic(real_files(), folder_ / "run/run.json", good);
  write_atomic(real_files(), folder_ / "run/metrics.jsonl", metrics + "{\"step\":3,\"cut by a cra");
  const TrainRun last = go("run");
  EXPECT_EQ(last.result.state, TrainResult::State::finished);
  EXPECT_TRUE(last.notes.empty()) << last.notes[0];
}

// A process that is killed before it has written run.json leaves this.
TEST_F(Failure, KilledInTheFirstMoments) {
  const std::string random = ".0123456789abcdef.tmp";
  fs::create_directories(folder_ / "run/checkpoints");
  write_atomic(real_files(), folder_ / "run/.lock", "");
  write_atomic(real_files(), folder_ / "run/run.json" + random, "{ half of a");
  EXPECT_EQ(go("run", 7).result.state, TrainResult::State::interrupted);
  // Half-written files of a later kill go as well.
  write_atomic(real_files(), folder_ / "run/metrics.jsonl" + random, "x");
  write_atomic(real_files(), folder_ / "run/notes" + random, "the user's");
  write_atomic(real_files(), folder_ / "run/checkpoints/step-000000000009.safetensors" + random, "x");
  EXPECT_EQ(go("run").result.state, TrainResult::State::finished);
  EXPECT_FALSE(fs::exists(folder_ / "run/run.json" + random));
  EXPECT_FALSE(fs::exists(folder_ / "run/metrics.jsonl" + random));
  EXPECT_TRUE(fs::exists(folder_ / "run/notes" + random));
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoints/step-000000000009.safetensors" + random));
}

TEST_F(Failure, TwoTrainersOnOneDirectory) {
  ImageTask task(options_, data_, machine_.compute);
  TrainHooks hooks;
  size_t refused = 0;
  TestMachine other(1);
  hooks.on_step = [&](uint64_t step, uint64_t, double) {
    if (step != 3) return;
    const ErrorParts e = error_of([&] { run_training(options_, data_, other, folder_ / "run"); });
    EXPECT_EQ(e.code, ErrorCode::failure);
    EXPECT_NE(e.what.find("another process"), std::string::npos) << e.what;
    refused++;
  };
  const TrainSetup setup{.out = folder_ / "run", .machine = Json::object()};
  train(options_, task, machine_.compute, real_files(), setup, hooks);
  EXPECT_EQ(refused, 1u);
  go("alone");
  expect_same(lasting_bytes(folder_ / "alone"), lasting_bytes(folder_ / "run"), "undisturbed");
}

// Data in memory, as a caller of the library has them.
TEST_F(Failure, DataThatDoesNotFitIsRefused) {
  const auto code = [&](const Dataset& data) {
    return error_of([&] { ImageTask task(options_, data, machine_.compute); }).code;
  };
  Dataset data = small_data();
  data.train.labels[7] = 5;
  EXPECT_EQ(code(data), ErrorCode::usage) << "a label that is no class";
  data = small_data();
  data.test.labels[129] = 200;
  EXPECT_EQ(code(data), ErrorCode::usage) << "a label that is no class";
  data = small_data();
  data.train.width = 7;
  EXPECT_EQ(code(data), ErrorCode::usage) << "pixels that do not fit height and width";
  ClassifierEngine engine({.inputs = 36, .classes = 5, .d_model = 8, .gate = {}}, machine_.compute, 32, false);
  Matrix<float> weights(1, engine.params().table.floats());
  engine.set_weights(weights.span());
  const Kernels& k = machine_.compute.kernels();
  EXPECT_NO_THROW(evaluate_set(engine, k, data_.test));
  ImageSet set = data_.test;
  set.labels[3] = 5;
  EXPECT_EQ(error_of([&] { evaluate_set(engine, k, set); }).code, ErrorCode::usage);
  const ImageSet other = spots(2, 10, 7, 5);
  EXPECT_EQ(error_of([&] { evaluate_set(engine, k, other); }).code, ErrorCode::usage);
}

// Numbers that run away: exit code 4, the checkpoints before are kept, and a second try says the same.
TEST_F(Failure, Divergence) {
  TrainOptions o = options_;
  o.lr = 10;
  o.gate = "identity";
  o.schedule = "constant";
  const auto attempt = [&] { return error_of([&] { run_training(o, data_, machine_, folder_ / "run", 0, 1); }); };
  const ErrorParts first = attempt();
  EXPECT_EQ(first.code, ErrorCode::numeric);
  EXPECT_NE(first.where.find("step "), std::string::npos) << first.where;
  EXPECT_NE(first.hint.find("`lr`"), std::string::npos);
  EXPECT_FALSE(fs::is_empty(folder_ / "run/checkpoints"));
  EXPECT_FALSE(fs::exists(folder_ / "run/model.safetensors"));
  const ErrorParts second = attempt();
  EXPECT_EQ(second.code, ErrorCode::numeric);
  EXPECT_EQ(second.what, first.what);
  EXPECT_EQ(second.where, first.where);
}

// A validation loss of 710 is a number, its perplexity is none.
TEST_F(Failure, AnInfinitePerplexityIsADivergence) {
  class Text : public ImageTask {
   public:
    using ImageTask::ImageTask;
    bool text() const override { return true; }
    StepResult evaluate() override {
      const double loss = evaluations++ == 0 ? 709 : 710;
      return {100 * loss, 0, 100};
    }
    int evaluations = 0;
  };
  std::vector<std::string> notes;
  const auto attempt = [&] {
    Text task(options_, data_, machine_.compute);
    const TrainSetup setup{.out = folder_ / "run", .checkpoint_every = 4, .machine = Json::object()};
    TrainHooks hooks;
    hooks.on_note = [&](const std::string& text) { notes.push_back(text); };
    return error_of([&] { train(options_, task, machine_.compute, quick_files(), setup, hooks); });
  };
  const ErrorParts first = attempt();
  EXPECT_EQ(first.code, ErrorCode::numeric) << first.what;
  EXPECT_NE(first.what.find("710"), std::string::npos) << first.what;
  EXPECT_NE(first.what.find("perplexity"), std::string::npos) << first.what;
  EXPECT_NE(first.hint.find("the checkpoint of step 8 is kept"), std::string::npos) << first.hint;
  EXPECT_EQ(read_run_file(folder_ / "run").json["state"], "diverged");
  const std::vector<Json> metrics = read_metrics(folder_ / "run");
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_TRUE(std::isfinite(metrics[0]["test_perplexity"].get<double>()));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(attempt().code, ErrorCode::numeric);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("diverged before; it is tried again from step 8"), std::string::npos) << notes[0];
}

// What a model says of its own numbers gets the step and the advice of the trainer.
TEST_F(Failure, OverflowInsideAModelIsADivergence) {
  class Overflowing : public ImageTask {
   public:
    using ImageTask::ImageTask;
    StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override {
      if (index == 6) throw Error({.code = ErrorCode::numeric, .what = "layer 1 overflows"});
      return ImageTask::step(epoch, index, gradients);
    }
  };
  Overflowing task(options_, data_, machine_.compute);
  const TrainSetup setup{.out = folder_ / "run", .checkpoint_every = 3, .machine = Json::object()};
  const ErrorParts e = error_of([&] { train(options_, task, machine_.compute, quick_files(), setup, TrainHooks{}); });
  EXPECT_EQ(e.code, ErrorCode::numeric);
  EXPECT_EQ(e.what, "layer 1 overflows");
  EXPECT_NE(e.where.find("step 7"), std::string::npos) << e.where;
  EXPECT_NE(e.hint.find("the checkpoint of step 6 is kept"), std::string::npos) << e.hint;
  EXPECT_EQ(read_run_file(folder_ / "run").json["state"], "diverged");
}

// Weights that the last batch did not meet: the loss stays finite, and only the weights tell.
TEST_F(Failure, WeightsThatAreNoNumbersAreNeverSaved) {
  class Poisoned : public ImageTask {
   public:
    using ImageTask::ImageTask;
    StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override {
      std::fill(gradients.begin(), gradients.end(), 0.0f);
      if (epoch == 0 && index < 6) ImageTask::step(epoch, index, gradients);
      if (epoch == 0 && index == 6) gradients[3] = std::numeric_limits<float>::quiet_NaN();
      return {1.0, 0, 32};
    }
  };
  Poisoned task(options_, data_, machine_.compute);
  const TrainSetup setup{.out = folder_ / "run", .checkpoint_every = 3, .machine = Json::object()};
  const ErrorParts e = error_of([&] { train(options_, task, machine_.compute, real_files(), setup, TrainHooks{}); });
  EXPECT_EQ(e.code, ErrorCode::numeric);
  EXPECT_NE(e.what.find("embed.weight"), std::string::npos) << e.what;
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/step-000000000006.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "run/checkpoints/step-000000000009.safetensors"));
}

}  // namespace
}  // namespace glint

// The promise of docs/determinism.md: the same seed gives the same bytes at any number of threads, and
// however often the run was stopped.
#include <thread>

#include "tests/train/train_testing.h"

namespace glint {
namespace {

using namespace model_testing;

std::map<std::string, std::string> whole_run(const TrainOptions& o, const Dataset& data, TestMachine& machine) {
  const Folder folder;
  const TrainRun run = run_training(o, data, machine, folder / "run");
  EXPECT_EQ(run.result.state, TrainResult::State::finished);
  EXPECT_EQ(run.result.step, run.result.total_steps);
  EXPECT_TRUE(run.notes.empty());
  return lasting_bytes(folder / "run");
}

// Wide enough for several tiles of every kind, batches of several chunks.
TEST(Determinism, SameBytesAtAnyThreadCount) {
  TrainOptions o = small_options();
  o.d_model = 200;
  o.batch = 160;
  o.epochs = 2;
  o.bias = true;
  o.clip = 0.5;
  o.norm = "rms";
  const Dataset data = small_data();
  TestMachine one(1);
  const auto want = whole_run(o, data, one);
  for (const size_t threads : {2, 3, 7}) {
    TestMachine machine(threads);
    expect_same(want, whole_run(o, data, machine), std::to_string(threads) + " threads");
  }
}

TEST(Determinism, SameBytesAtAnyThreadCountInBf16) {
  TrainOptions o = small_options();
  o.batch = 160;
  o.precision = "bf16";
  const Dataset data = small_data();
  TestMachine one(1, Bf16Unit::emulated);
  const auto want = whole_run(o, data, one);
  for (const size_t threads : {2, 3, 7}) {
    TestMachine machine(threads, Bf16Unit::emulated);
    expect_same(want, whole_run(o, data, machine), std::to_string(threads) + " threads");
  }
  TestMachine f32(1);
  EXPECT_NE(whole_run(o, data, f32).at("model.safetensors"), want.at("model.safetensors"));
}

TEST(Determinism, AnotherSeedGivesOtherBytes) {
  TrainOptions o = small_options();
  const Dataset data = small_data();
  TestMachine machine(2);
  const auto first = whole_run(o, data, machine);
  o.seed = 1;
  EXPECT_NE(first.at("model.safetensors"), whole_run(o, data, machine).at("model.safetensors"));
}

// Stops at random steps, several in one run, going on with another number of threads each time.
void check_stops(TrainOptions o, Bf16Unit unit, uint32_t trials) {
  const Dataset data = small_data();
  const auto machine_of = [&](size_t threads) {
    return unit == Bf16Unit::none ? std::make_unique<TestMachine>(threads)
                                  : std::make_unique<TestMachine>(threads, unit);
  };
  const auto want = whole_run(o, data, *machine_of(2));
  const uint64_t total = 30;
  for (uint32_t trial = 0; trial < trials; trial++) {
    const Rng rng(trial, Stream::test);
    const Folder folder;
    std::string story = "stops after";
    uint64_t done = 0;
    for (uint64_t part = 0;; part++) {
      const uint64_t steps = 1 + rng.below(trial % 2 ? 6 : 17, part);
      story += " " + std::to_string(steps);
      const auto machine = machine_of(1 + part % 3);
      const TrainRun run = run_training(o, data, *machine, folder / "run", steps, trial % 3);
      ASSERT_EQ(run.result.resumed_from, done) << story;
      done = run.result.step;
      if (run.result.state == TrainResult::State::finished) break;
      ASSERT_EQ(run.result.state, TrainResult::State::interrupted);
      ASSERT_EQ(read_json(folder / "run/run.json")["state"], "interrupted");
    }
    ASSERT_EQ(done, total);
    expect_same(want, lasting_bytes(folder / "run"), story);
  }
}

TEST(Determinism, StoppedAndResumed) { check_stops(small_options(), Bf16Unit::none, 12); }

TEST(Determinism, StoppedAndResumedBetweenExtraEvaluations) {
  TrainOptions o = small_options();
  o.eval_steps = 9;
  o.eval_first = 5;
  o.schedule = "cosine-step";
  o.warmup = 4;
  o.drop_last = true;
  o.clip = 1;
  o.residual = true;
  check_stops(o, Bf16Unit::none, 12);
}

TEST(Determinism, StoppedAndResumedInBf16) {
  TrainOptions o = small_options();
  o.precision = "bf16";
  check_stops(o, Bf16Unit::emulated, 4);
}

TEST(Determinism, SeedsSideBySideAreSeedsAlone) {
  const Dataset data = small_data();
  const Folder folder;
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 3; seed++)
    threads.emplace_back([&, seed] {
      TrainOptions o = small_options();
      o.seed = seed;
      TestMachine machine(1);
      run_training(o, data, machine, folder / std::to_string(seed));
    });
  for (std::thread& t : threads) t.join();
  for (uint64_t seed = 0; seed < 3; seed++) {
    TrainOptions o = small_options();
    o.seed = seed;
    TestMachine machine(2);
    expect_same(whole_run(o, data, machine), lasting_bytes(folder / std::to_string(seed)),
                "seed " + std::to_string(seed));
  }
}

// Chunks of a batch: a last batch that is not full is another cut, and is as deterministic.
TEST(Determinism, LastBatchKept) {
  TrainOptions o = small_options();
  o.drop_last = false;
  o.batch = 100;
  const Dataset data = small_data();
  TestMachine one(1), three(3);
  const auto want = whole_run(o, data, one);
  expect_same(want, whole_run(o, data, three), "three threads");
  EXPECT_NE(want.at("metrics").find("\"step\":12"), std::string::npos) << "4 steps an epoch, 3 epochs";
}

}  // namespace
}  // namespace glint

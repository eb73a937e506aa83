// A sweep: which setting it says to choose, and that it trains and reads everything once.
#include "glint/lab/study/sweep.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

SweptSetting setting(const std::string& gate, double loss, double agreement, bool whole = true) {
  SweptSetting s;
  s.setting.swept = {{"gate", gate}};
  s.runs.resize(2);
  s.finished = whole ? 2 : 1;
  s.spread["test_loss"] = {loss, 0.01};
  s.spread["agreement_weights"] = {agreement, 0};
  return s;
}

SweepResult judged(std::vector<SweptSetting> settings, double tolerance = 0.05) {
  SweepResult r;
  r.out = "out", r.tolerance = tolerance;
  r.fidelity = "agreement_weights";
  r.settings = std::move(settings);
  judge_sweep(r);
  return r;
}

TEST(JudgeSweep, TheMostReadableWithinTheToleranceIsChosen) {
  const std::vector<SweptSetting> all = {setting("low", 0.40, 0.50), setting("near", 0.416, 0.90),
                                         setting("far", 0.50, 1.0), setting("worse", 0.45, 0.80)};
  SweepResult r = judged(all);
  EXPECT_EQ(r.lowest, 0u);
  EXPECT_EQ(r.chosen, 1u);
  EXPECT_TRUE(r.settings[0].front && r.settings[1].front && r.settings[2].front);
  EXPECT_FALSE(r.settings[3].front) << "`near` is better in both";
  EXPECT_EQ(r.answer,
            "Choose near: its weights alone decide as the model does on 90.0 % of the test images, at a test "
            "loss of 0.4160, 4.0 % above the lowest, that of low (test loss 0.4000, 50.0 %); most readable "
            "is far (test loss 0.5000, 100.0 %), 25 % above the lowest.");
  EXPECT_EQ(judged(all, 0.01).chosen, 0u);
  EXPECT_EQ(judged(all, 1).chosen, 2u);
}

TEST(JudgeSweep, SettingsThatDivergedAreNoAnswer) {
  const SweepResult r = judged({setting("broken", 0.1, 1, false), setting("good", 0.4, 0.5)});
  EXPECT_EQ(r.chosen, 1u);
  EXPECT_FALSE(r.settings[0].front);
  EXPECT_NE(r.answer.find("the lowest of all"), std::string::npos) << r.answer;
  EXPECT_THROW(judged({setting("broken", 0.1, 1, false)}), Error);
}

TEST(Sweep, TrainsAndReadsEverythingOnce) {
  const TempFolder folder;
  const Engine engine({.threads = 2});
  SweepRequest request{.plan = {.recipe = "quick",
                                .lists = {{"gate", {"sqs", "identity"}},
                                          {"lambda", {"0.1", "0.5"}},
                                          {"norm", {"none", "rms"}},
                                          {"d-model", {"8"}},
                                          {"epochs", {"1"}},
                                          {"batch", {"512"}}},
                                .seeds = {0, 1}},
                       .out = folder.path() + "/sweep"};
  size_t trained = 0, read = 0;
  const SweepHooks hooks{.trained = [&](const std::string&, const Evaluation&, size_t, size_t) { trained++; },
                         .read = [&](const std::string&, size_t, size_t) { read++; }};
  const SweepResult r = sweep(engine, request, hooks);
  EXPECT_EQ(trained, 12u);
  EXPECT_EQ(read, 12u);
  ASSERT_EQ(r.settings.size(), 6u);
  for (const SweptSetting& s : r.settings) {
    EXPECT_EQ(s.finished, 2u);
    EXPECT_EQ(s.pictures.rows.size(), 10u);
    EXPECT_GT(s.spread.at("test_loss").sd, 0);
    if (s.setting.options.gate == "identity") {
      EXPECT_GT(s.spread.at("agreement_weights").mean, 0.995);
    }
    EXPECT_GT(s.spread.at("stability_seeds").mean, 0);
    EXPECT_EQ(s.spread.contains("stability_halves"), s.setting.options.gate != "identity");
  }
  EXPECT_EQ(r.settings[0].runs[1].seed, 1u);

  // Every number of the table is in the JSON, and the files are there.
  const OrderedJson j = to_json(r);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], "glint-sweep/1");
  EXPECT_EQ(j["settings"][0]["mean"]["test_loss"], r.settings[0].spread.at("test_loss").mean);
  EXPECT_EQ(j["choice"]["setting"], r.settings[r.chosen].setting.text());
  for (const std::string& file : r.files) EXPECT_TRUE(exists(file)) << file;
  EXPECT_EQ(sweep_table(r).rows(), 6u);

  // Again, with a longer list: only what is new is trained, and what was read is not read again.
  const std::string reading = request.out + "/readings/sqs-d-model-8-batch-512-epochs-1-seed-0.json";
  const std::string before = read_file(reading);
  std::filesystem::remove(request.out + "/sweep.json");
  request.plan.lists[1].values.push_back("1");
  trained = 0;
  const SweepResult more = sweep(engine, request, hooks);
  EXPECT_EQ(trained, 4u);
  EXPECT_EQ(more.settings.size(), 8u);
  EXPECT_EQ(read_file(reading), before);
  EXPECT_EQ(more.settings[0].runs[0].values, r.settings[0].runs[0].values);
  EXPECT_TRUE(exists(request.out + "/sweep.json"));

  // A damaged reading is made anew.
  std::string broken = before;
  broken[broken.find("agreement")] = 'x';
  write_atomic(engine.files(), reading, broken);
  sweep(engine, request);
  EXPECT_EQ(read_file(reading), before);
}

TEST(Sweep, StoppedItSaysSoAndGoesOn) {
  const TempFolder folder;
  bool stop = true;
  const Engine engine({.threads = 1}, {.note = {}, .progress = {}, .should_stop = [&] { return stop; }});
  const SweepRequest request{
      .plan = {.recipe = "quick",
               .lists = {{"lambda", {"0", "1"}}, {"d-model", {"8"}}, {"epochs", {"1"}}, {"batch", {"512"}}}},
      .out = folder.path() + "/sweep"};
  try {
    sweep(engine, request);
    ADD_FAILURE() << "not stopped";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::interrupted);
    EXPECT_NE(e.parts().what.find("2 of 2 runs"), std::string::npos) << e.parts().what;
  }
  stop = false;
  EXPECT_EQ(sweep(engine, request).settings.size(), 2u);
}

TEST(Sweep, ARunThatDivergesIsAResult) {
  const TempFolder folder;
  const Engine engine({.threads = 2});
  const SweepRequest request{.plan = {.recipe = "quick",
                                      .lists = {{"lr", {"0.002", "10"}},
                                                {"gate", {"identity"}},
                                                {"layers", {"2"}},
                                                {"schedule", {"constant"}},
                                                {"d-model", {"16"}},
                                                {"epochs", {"2"}},
                                                {"batch", {"128"}}},
                                      .seeds = {0}},
                             .out = folder.path() + "/sweep"};
  for (int i = 0; i < 2; i++) {  // and the second time it is not tried again
    const SweepResult r = sweep(engine, request);
    EXPECT_EQ(r.settings[1].finished, 0u);
    EXPECT_EQ(r.settings[1].runs[0].state, RunState::diverged);
    EXPECT_EQ(r.chosen, 0u);
    EXPECT_EQ(r.shown(r.settings[1], r.measure("test_loss")), "diverged");
  }
}

}  // namespace
}  // namespace glint

// Training as a library call: how a recipe and changes become options, and what comes back.
#include "glint/lab/work/train.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/lab/models/run.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

void expect_usage(const std::string& recipe, const OptionChanges& changes, const std::string& expected) {
  try {
    training_options(recipe, changes);
    ADD_FAILURE() << "not refused: " << expected;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE((e.parts().what + " " + e.parts().expected).find(expected), std::string::npos)
        << e.parts().what << " " << e.parts().expected;
    EXPECT_EQ((e.parts().what + e.parts().where + e.parts().hint).find("--"), std::string::npos)
        << "the library names a flag";
  }
}

TEST(TrainingOptions, ChangesComeOverTheRecipeAndTheLastCounts) {
  const TrainingOptions t = training_options("quick", {{"gate", "relu"}, {"epochs", "3"}, {"gate", "swiglu"}});
  EXPECT_EQ(t.label, "quick");
  EXPECT_EQ(t.options.gate, "silu");
  EXPECT_EQ(t.options.epochs, 3u);
  EXPECT_FALSE(t.options.text);
  EXPECT_TRUE(training_options("tales", {}).options.text);
  EXPECT_EQ(training_options("", {}).label, "glyphs");
}

TEST(TrainingOptions, WhatMakesNoSenseIsRefused) {
  expect_usage("quick", {{"gaet", "relu"}}, "did you mean gate?");
  expect_usage("quick", {{"heads", "2"}}, "`heads` is for stories, but glyphs holds images");
  expect_usage("tales", {{"noise-std", "1"}}, "`noise_std` is for images");
  expect_usage("tales", {{"data", "glyphs"}}, "are for stories, but glyphs holds images");
}

TEST(Train, OneRunPerSeedAndTheirMean) {
  const TempFolder folder;
  const Engine engine({.threads = 2});
  const TrainRequest request{.recipe = "quick",
                             .changes = {{"d-model", "8"}, {"epochs", "1"}, {"batch", "512"}},
                             .seeds = {0, 3},
                             .out = folder.path() + "/runs"};
  const TrainingResult result = train(engine, request);
  result.check_done();
  ASSERT_EQ(result.runs.size(), 2u);
  EXPECT_EQ(result.runs[1].out, folder.path() + "/runs/seed-3");
  EXPECT_EQ(result.runs[1].steps, result.runs[1].total_steps);
  EXPECT_DOUBLE_EQ(result.test_loss.mean, (result.runs[0].last.test_loss + result.runs[1].last.test_loss) / 2);
  const auto json = to_json(result);
  EXPECT_EQ(json.begin().key(), "schema");
  EXPECT_EQ(json["schema"], "glint-train/1");
  EXPECT_EQ(json["runs"][0]["state"], "finished");
  EXPECT_EQ(json["mean"]["n"], 2);
  // Again: nothing is left to do.
  const TrainingResult again = train(engine, request);
  EXPECT_EQ(again.runs[0].state, TrainResult::State::already_finished);
  EXPECT_EQ(again.runs[0].last.test_loss, result.runs[0].last.test_loss);
}

TEST(Train, SeedAndSeedsExcludeEachOther) {
  const Engine engine({.threads = 1});
  EXPECT_THROW(train(engine, {.recipe = "quick", .changes = {{"seed", "1"}}, .seeds = {0, 1}, .out = "nowhere"}),
               Error);
}

// One rule: the options say the precision, and an engine that was made for another one is refused.
TEST(Train, TheEngineHasThePrecisionOfTheOptions) {
  const TempFolder folder;
  TrainRequest request{.recipe = "quick",
                       .changes = {{"precision", "bf16"}, {"d-model", "8"}, {"epochs", "1"}},
                       .out = folder.path() + "/run"};
  const Engine plain({.threads = 1}), half({.threads = 1, .precision = "bf16"});
  try {
    train(plain, request);
    ADD_FAILURE() << "trained in another precision than asked for";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_EQ(e.parts().where, "precision");
  }
  EXPECT_FALSE(exists(request.out));
  request.changes.erase(request.changes.begin());
  EXPECT_THROW(train(half, request), Error);
  // Without bf16 instructions the engine computes in f32 and the run says so; it is not refused.
  request.changes.emplace_back("precision", "bf16");
  const TrainingResult result = train(half, request);
  result.check_done();
  EXPECT_EQ(glint::open_run(plain, {.run = request.out})->info().precision, name(half.precision()));
}

TEST(Train, StoppedBeforeItBeganSaysSo) {
  const TempFolder folder;
  const Engine engine({.threads = 1}, {.note = {}, .progress = {}, .should_stop = [] { return true; }});
  const TrainingResult result = train(engine, {.recipe = "quick", .out = folder.path() + "/run"});
  try {
    result.check_done();
    ADD_FAILURE() << "an interrupted run counts as done";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::interrupted);
  }
}

}  // namespace
}  // namespace glint

// What a sweep trains: which settings lists of values give, and what they are called.
#include "glint/lab/study/sweep_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "glint/base/error.h"

namespace glint {
namespace {

std::vector<std::string> names(const SweepPlan& plan) {
  std::vector<std::string> out;
  for (const SweepSetting& s : plan.settings) out.push_back(s.text());
  return out;
}

void expect_usage(const SweepPlanRequest& request, const std::string& expected) {
  try {
    plan_sweep(request);
    ADD_FAILURE() << "not refused: " << expected;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE((e.parts().what + " " + e.parts().expected).find(expected), std::string::npos)
        << e.parts().what << " " << e.parts().expected;
  }
}

TEST(SweepPlan, EveryCombinationInTheOrderOfTheOptions) {
  const SweepPlan plan = plan_sweep(
      {.recipe = "quick", .lists = {{"norm", {"none", "rms"}}, {"lambda", {"0.5", "0.1"}}}, .seeds = {0, 3}});
  EXPECT_EQ(names(plan), (std::vector<std::string>{"lambda 0.5, norm none", "lambda 0.5, norm rms",
                                                   "lambda 0.1, norm none", "lambda 0.1, norm rms"}));
  EXPECT_EQ(plan.runs(), 8u);
  ASSERT_EQ(plan.options.size(), 2u);
  EXPECT_EQ(plan.options[0].name, "lambda");
  EXPECT_EQ(plan.settings[3].options.lambda, 0.1);
  EXPECT_EQ(plan.settings[3].options.norm, "rms");
  EXPECT_EQ(plan.settings[3].options.d_model, 128u) << "the rest is the recipe's";
  // What differs from the recipe is the name of the folder.
  EXPECT_EQ(plan.settings[0].folder, "sqs");
  EXPECT_EQ(plan.settings[3].folder, "sqs-lambda-0.1-norm-rms");
  EXPECT_EQ(plan.directory("out", 3, 3), "out/runs/sqs-lambda-0.1-norm-rms/seed-3");
}

TEST(SweepPlan, OptionsThatAGateDoesNotHaveDoNotMultiplyItsRuns) {
  const SweepPlan plan = plan_sweep({.recipe = "quick",
                                     .lists = {{"gate", {"sqs", "bilinear", "swiglu"}},
                                               {"lambda", {"0", "0.5"}},
                                               {"p", {"1", "2"}},
                                               {"norm", {"none", "rms"}}}});
  // Without a shrink p means nothing either: 3 of SQS, 1 of each of the others, with and without a norm.
  EXPECT_EQ(names(plan),
            (std::vector<std::string>{
                "sqs, lambda 0, norm none", "sqs, lambda 0, norm rms", "sqs, lambda 0.5, p 1, norm none",
                "sqs, lambda 0.5, p 1, norm rms", "sqs, lambda 0.5, p 2, norm none", "sqs, lambda 0.5, p 2, norm rms",
                "identity, norm none", "identity, norm rms", "silu, norm none", "silu, norm rms"}));
  for (const SweepSetting& s : plan.settings)
    if (s.options.gate != "sqs") {
      EXPECT_EQ(s.options.lambda, 0.5) << "that of the recipe";
      EXPECT_EQ(s.value("lambda"), nullptr);
    }
}

TEST(SweepPlan, LongerListsAndMoreOptionsKeepTheFolders) {
  const SweepPlan small = plan_sweep({.recipe = "quick", .lists = {{"lambda", {"0.1", "0.5"}}}});
  const SweepPlan large =
      plan_sweep({.recipe = "quick",
                  .lists = {{"lambda", {"0.1", "0.5", "1"}}, {"lr", {"2e-3", "0.004"}}, {"bias", {"false", "true"}}}});
  std::set<std::string> folders;
  for (const SweepSetting& s : large.settings) folders.insert(s.folder);
  EXPECT_EQ(folders.size(), large.settings.size()) << "each has its own";
  for (const SweepSetting& s : small.settings) EXPECT_TRUE(folders.contains(s.folder)) << s.folder;
  EXPECT_TRUE(folders.contains("sqs-lambda-1-bias-true-lr-0.004"));
}

TEST(SweepPlan, ValuesThatAreTheSameCountOnce) {
  EXPECT_EQ(plan_sweep({.recipe = "quick", .lists = {{"lambda", {"0.50", "0.5", "5e-1"}}}}).settings.size(), 1u);
  EXPECT_EQ(plan_sweep({.recipe = "quick", .lists = {{"gate", {"identity", "bilinear"}}}}).settings.size(), 1u);
}

TEST(SweepPlan, OneAtATimeChangesTheRecipe) {
  const SweepPlan plan = plan_sweep({.recipe = "quick",
                                     .lists = {{"gate", {"sqs", "silu"}},
                                               {"lambda", {"0", "0.5"}},
                                               {"lr", {"1e-3", "2e-3", "4e-3"}},
                                               {"epochs", {"2"}}},
                                     .seeds = {0},
                                     .one_at_a_time = true});
  // The recipe has sqs, 0.5 and 0.002.
  EXPECT_EQ(names(plan),
            (std::vector<std::string>{"sqs, lambda 0.5, lr 0.002", "silu, lr 0.002", "sqs, lambda 0, lr 0.002",
                                      "sqs, lambda 0.5, lr 0.001", "sqs, lambda 0.5, lr 0.004"}));
  for (const SweepSetting& s : plan.settings) EXPECT_EQ(s.options.epochs, 2u);
}

TEST(SweepPlan, WhatMakesNoSenseIsRefused) {
  expect_usage({.recipe = "quick", .lists = {{"lamda", {"1"}}}}, "did you mean lambda?");
  expect_usage({.recipe = "quick", .lists = {{"lambda", {"-1", "1"}}}}, "`lambda` cannot be '-1'");
  expect_usage({.recipe = "quick", .lists = {{"seed", {"1", "2"}}}}, "seeds");
  expect_usage({.recipe = "quick", .lists = {{"data", {"mnist", "glyphs"}}}}, "one value of `data`");
  expect_usage({.recipe = "quick", .lists = {{"heads", {"2", "4"}}}}, "is for stories");
  expect_usage({.recipe = "quick", .lists = {{"gate", {"silu", "relu"}}, {"lambda", {"0", "1"}}}},
               "`lambda` means nothing for these gates");
  expect_usage({.recipe = "quick", .lists = {{"gate", {"silu"}}, {"lambda", {"0", "1"}}}, .one_at_a_time = true},
               "means nothing for the recipe");
  std::vector<std::string> many;
  for (int i = 0; i < 200; i++) many.push_back(std::to_string(i));
  expect_usage({.recipe = "quick", .lists = {{"lambda", many}, {"c", many}}}, "more than 20000 runs");
}

TEST(SweepPlan, ListsAsTheyAreTyped) {
  EXPECT_EQ(parse_option_list("lambda", "0, 0.1,2").values, (std::vector<std::string>{"0", "0.1", "2"}));
  for (const char* bad : {"", "1,", ",1", "1,,2"}) EXPECT_THROW(parse_option_list("lambda", bad), Error) << bad;
}

}  // namespace
}  // namespace glint

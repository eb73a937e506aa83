// What `glint reproduce` trains: every run of the paper's experiments with its place in OUT/runs and the
// command that makes it alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "glint/train/options.h"

namespace glint::cli {

struct PlanSetup {
  bool quick = false;
  size_t seeds = 5;
  std::vector<std::string> images = {"mnist", "fashion-mnist"};
  std::string stories = "tales";  // or the folder of a corpus
  bool all_stories = false;       // the corpus is about as large as the paper's
  std::string precision = "f32";
};

struct PlannedRun {
  std::string group;                                         // "mnist-4.2": folder in OUT/runs
  std::string recipe;                                        // that it starts from
  std::vector<std::pair<std::string, std::string>> changes;  // options over the recipe
  TrainOptions options;
  std::string path() const;  // "mnist-4.2/sqs/seed-0"
  std::string command(const std::string& out) const;
};

// Section 4.2: table 1 and figure 3. Section 4.1: what reads weights. Depth: 4.2 with other numbers of
// layers.
std::vector<PlannedRun> runs_42(const PlanSetup& setup);
std::vector<PlannedRun> runs_41(const PlanSetup& setup);
std::vector<PlannedRun> runs_41_pairs(const PlanSetup& setup);  // SQS and bilinear alone
std::vector<PlannedRun> runs_depth(const PlanSetup& setup);
std::vector<PlannedRun> runs_stories(const PlanSetup& setup);

// Names of groups.
std::string group_42(const std::string& data);
std::string group_41(const std::string& data);
std::string group_depth(const std::string& data, uint64_t layers);
std::string group_stories(const PlanSetup& setup);
// How table 1 calls the text: "tales", or "stories" for a corpus.
std::string stories_key(const PlanSetup& setup);

std::vector<uint64_t> depths();

// "2/4": the second of four shares, by index in the plan. Error (usage) for anything else.
struct Shard {
  size_t index = 0, of = 1;  // index from 0
};
Shard parse_shard(const std::string& text);

}  // namespace glint::cli

// What a sweep trains: a recipe with lists of values for its options, as settings, each with every seed.
// Nothing is trained here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "glint/lab/work/train.h"

namespace glint {

// An option of the option table and the values that it takes, as text.
struct OptionList {
  std::string name;
  std::vector<std::string> values;
};

// "0,0.05, 0.1" -> {"0", "0.05", "0.1"}. Error (usage) for an empty value.
OptionList parse_option_list(const std::string& name, const std::string& text);

struct SweepSetting {
  OptionChanges swept;    // the swept options that mean something for it, with their values
  OptionChanges changes;  // all that it has over the recipe
  TrainOptions options;   // with the seed of the recipe
  // "sqs-lambda-0.1-norm-rms": the gate and what differs from the recipe. So it is the same in every sweep of
  // the recipe, whichever lists that has, and finished runs are found again.
  std::string folder;

  // The value of a swept option; null when it means nothing here.
  const std::string* value(std::string_view option) const;
  std::string text() const;  // "sqs, lambda 0.1, norm rms"
};

struct SweepPlan {
  std::string recipe, data_dir;     // as they were named
  bool text = false;                // language models
  std::vector<OptionList> options;  // those with several values, in the order of the option table
  std::vector<SweepSetting> settings;
  std::vector<uint64_t> seeds;

  size_t runs() const { return settings.size() * seeds.size(); }
  // Where a run lies in the folder of the sweep.
  std::string directory(const std::string& out, size_t setting, uint64_t seed) const;
  // Its runs, each to be trained alone.
  std::vector<PlannedJob> jobs(const std::string& out) const;
};

struct SweepPlanRequest {
  std::string recipe;                 // name or file; "": the defaults
  std::vector<OptionList> lists;      // each option once
  std::vector<uint64_t> seeds = {0};  // each once
  // Not every combination: the recipe with the lists of one value, and that with one option changed at a
  // time.
  bool one_at_a_time = false;
  std::string data_dir = {};
};

// Every combination of the lists, each setting once: an option that means nothing for a gate (the shrink of
// SQS for SwiGLU) does not multiply the runs of that gate. Error (usage) for values that an option does not
// have, for a list of seeds, data or precisions, for a list that means nothing for any setting, and beyond
// kMostSweepRuns.
inline constexpr size_t kMostSweepRuns = 20000;
SweepPlan plan_sweep(const SweepPlanRequest& request);

}  // namespace glint

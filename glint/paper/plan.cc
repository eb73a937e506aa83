#include "glint/paper/plan.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/lab/train.h"
#include "glint/paper/verdicts.h"

namespace glint {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

// Seeds of the experiments for which the paper names no number, and which cost most.
constexpr size_t kFewSeeds = 3;

std::string prefix(const std::string& data) { return data == "fashion-mnist" ? "fashion" : data; }

// Data without a recipe of their own are trained as MNIST.
std::string recipe(const std::string& data, const std::string& section) {
  return (data == "fashion-mnist" ? "fashion-" : "mnist-") + section;
}

PlannedRun planned(const PlanSetup& setup, const std::string& group, const std::string& recipe_name,
                   Changes changes, const std::string& gate, uint64_t seed) {
  PlannedRun run{.group = group, .recipe = recipe_name, .changes = {}, .options = {}};
  run.changes = {{"gate", gate}, {"seed", std::to_string(seed)}};
  run.changes.insert(run.changes.end(), changes.begin(), changes.end());
  if (setup.precision != "f32") run.changes.emplace_back("precision", setup.precision);
  run.options = training_options(recipe_name, run.changes).options;
  return run;
}

Changes image_changes(const std::string& data) {
  if (data == "mnist" || data == "fashion-mnist") return {};
  return {{"data", data}};
}

void add(std::vector<PlannedRun>& runs, const PlanSetup& setup, const std::string& group,
         const std::string& recipe_name, const Changes& changes, const std::vector<std::string>& gates,
         size_t seeds) {
  // Seeds outside: an interrupted plan has whole comparisons of its first seeds.
  for (uint64_t seed = 0; seed < seeds; seed++)
    for (const std::string& gate : gates)
      runs.push_back(planned(setup, group, recipe_name, changes, gate, seed));
}

const std::vector<std::string> kAll = {"sqs", "identity", "relu", "silu", "gelu"};
const std::vector<std::string> kPair = {"sqs", "identity"};
const std::vector<std::string> kOthers = {"relu", "silu", "gelu"};

}  // namespace

std::string PlannedRun::path() const {
  return group + "/" + options.gate + "/seed-" + std::to_string(options.seed);
}

std::string PlannedRun::command(const std::string& out) const {
  std::string text = "glint train " + recipe;
  for (const auto& [name, value] : changes) text += " --" + name + " " + value;
  return text + " --out " + out + "/runs/" + path();
}

std::string group_42(const std::string& data) { return prefix(data) + "-4.2"; }
std::string group_41(const std::string& data) { return prefix(data) + "-4.1"; }
std::string group_depth(const std::string& data, uint64_t layers) {
  return prefix(data) + "-depth-" + std::to_string(layers);
}
std::string stories_key(const PlanSetup& setup) { return setup.stories == kTales ? kTales : "stories"; }
std::string group_stories(const PlanSetup& setup) { return stories_key(setup); }
std::vector<uint64_t> depths() { return {1, 2, 4, 6}; }

namespace {

// Epochs of the quick form of 4.2 are four, so that the checkpoints of table 1 are ends of epochs too.
std::vector<PlannedRun> runs_42(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images) {
    Changes changes = image_changes(data);
    changes.emplace_back("eval-steps", setup.quick ? "16" : "40");
    if (setup.quick) changes.emplace_back("epochs", "4");
    add(runs, setup, group_42(data), recipe(data, "4.2"), changes, kAll, setup.seeds);
  }
  return runs;
}

std::vector<PlannedRun> runs_41_pairs(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images) {
    Changes changes = image_changes(data);
    if (setup.quick) changes.emplace_back("epochs", "4");
    add(runs, setup, group_41(data), recipe(data, "4.1"), changes, kPair, setup.seeds);
  }
  return runs;
}

std::vector<PlannedRun> runs_41_others(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images) {
    Changes changes = image_changes(data);
    if (setup.quick) changes.emplace_back("epochs", "4");
    add(runs, setup, group_41(data), recipe(data, "4.1"), changes, kOthers,
        std::min(setup.seeds, setup.quick ? size_t{1} : kFewSeeds));
  }
  return runs;
}

std::vector<PlannedRun> runs_depth(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images)
    for (const uint64_t layers : depths()) {
      Changes changes = image_changes(data);
      changes.emplace_back("layers", std::to_string(layers));
      changes.emplace_back("epochs", setup.quick ? "2" : "5");
      add(runs, setup, group_depth(data, layers), recipe(data, "4.2"), changes, kPair,
          std::min(setup.seeds, setup.quick ? size_t{1} : kFewSeeds));
    }
  return runs;
}

std::vector<PlannedRun> runs_stories(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  const bool tales = setup.stories == kTales;
  Changes changes;
  if (!tales) changes.emplace_back("data", setup.stories);
  if (setup.quick) changes.emplace_back("epochs", "1");
  const std::string recipe_name = tales || setup.quick ? "tales"
                                  : setup.all_stories  ? "tinystories"
                                                       : "tinystories-small";
  add(runs, setup, group_stories(setup), recipe_name, changes, kAll,
      std::min(setup.seeds, setup.quick ? size_t{1} : kFewSeeds));
  return runs;
}

}  // namespace

Plan make_plan(PlanSetup setup, const std::vector<RunSet>& sets) {
  Plan plan{.setup = std::move(setup), .runs = {}};
  const auto runs_of = [&](RunSet set) {
    switch (set) {
      case RunSet::section_42:
        return runs_42(plan.setup);
      case RunSet::section_41_pairs:
        return runs_41_pairs(plan.setup);
      case RunSet::section_41_others:
        return runs_41_others(plan.setup);
      case RunSet::depth:
        return runs_depth(plan.setup);
      case RunSet::stories:
        break;
    }
    return runs_stories(plan.setup);
  };
  std::vector<RunSet> taken;
  for (const RunSet set : sets) {
    if (std::ranges::find(taken, set) != taken.end()) continue;
    taken.push_back(set);
    for (PlannedRun& run : runs_of(set)) plan.runs.push_back(std::move(run));
  }
  return plan;
}

std::string smaller_images(const PlanSetup& setup, const std::string& data) {
  std::string text;
  if (data != "mnist" && data != "fashion-mnist") text = "not a data set of the paper";
  if (setup.quick) text += (text.empty() ? "" : ", ") + std::string("fewer epochs than the paper");
  return text;
}

std::string smaller_models(const PlanSetup& setup) {
  for (const std::string& data : setup.images)
    if (const std::string why = smaller_images(setup, data); !why.empty()) return why;
  return setup.seeds < kEnoughSeeds ? std::to_string(setup.seeds) + " seeds" : "";
}

}  // namespace glint

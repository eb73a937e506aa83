#include "glint/paper/plan.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/lab/work/train.h"
#include "glint/paper/measure.h"
#include "glint/paper/verdicts.h"
#include "glint/paper/write.h"

namespace glint {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

std::string prefix(const std::string& data) { return data == "fashion-mnist" ? "fashion" : data; }

// Data without a recipe of their own are trained as MNIST.
std::string recipe(const std::string& data, const std::string& section) {
  return (data == "fashion-mnist" ? "fashion-" : "mnist-") + section;
}

PlannedRun planned(const PlanSetup& setup, const std::string& group, const std::string& recipe_name, Changes changes,
                   const std::string& gate, uint64_t seed) {
  PlannedRun run{.group = group, .recipe = recipe_name, .changes = {}, .options = {}};
  run.changes = {{"gate", gate}, {"seed", std::to_string(seed)}};
  run.changes.insert(run.changes.end(), changes.begin(), changes.end());
  if (setup.precision != "f32") run.changes.emplace_back("precision", setup.precision);
  run.options = training_options(recipe_name, run.changes).options;
  return run;
}

// The glyphs are few and small: with the paper's batches and noise they would hardly be learned at all.
Changes image_changes(const std::string& data) {
  if (data == "mnist" || data == "fashion-mnist") return {};
  if (data == "glyphs")
    return {{"data", data}, {"batch", "256"}, {"d-model", "128"}, {"lr", "2e-3"}, {"noise-std", "0.3"}};
  return {{"data", data}};
}

// Epochs of the quick form, where the paper has 20 and the depth study 5. The glyphs are so few that more of
// them take no longer.
std::string quick_epochs(const std::string& data) { return data == "glyphs" ? "8" : "4"; }
std::string depth_epochs(const PlanSetup& setup, const std::string& data) {
  return !setup.quick ? "5" : data == "glyphs" ? "4" : "2";
}

void add(std::vector<PlannedRun>& runs, const PlanSetup& setup, const std::string& group,
         const std::string& recipe_name, const Changes& changes, const std::vector<std::string>& gates, size_t seeds) {
  // Seeds outside: an interrupted plan has whole comparisons of its first seeds.
  for (uint64_t seed = 0; seed < seeds; seed++)
    for (const std::string& gate : gates) runs.push_back(planned(setup, group, recipe_name, changes, gate, seed));
}

const std::vector<std::string> kAll = {"sqs", "identity", "relu", "silu", "gelu"};
const std::vector<std::string> kPair = {"sqs", "identity"};
const std::vector<std::string> kOthers = {"relu", "silu", "gelu"};

}  // namespace

std::string PlannedRun::path() const { return group + "/" + options.gate + "/seed-" + std::to_string(options.seed); }

TrainRequest PlannedRun::request(const std::string& out) const {
  return {.recipe = recipe, .changes = changes, .out = directory(out)};
}

std::string PlannedRun::command(const std::string& out) const { return train_command(request(out)); }

std::string group_42(const std::string& data, const std::string& norm) {
  return prefix(data) + "-4.2" + (norm == "none" ? "" : "-" + norm);
}
std::string group_41(const std::string& data) { return prefix(data) + "-4.1"; }
std::string group_depth(const std::string& data, uint64_t layers, const std::string& norm) {
  return prefix(data) + "-depth-" + std::to_string(layers) + (norm == "none" ? "" : "-" + norm);
}
std::string group_choice(const std::string& data, const SqsChoice& choice) {
  return prefix(data) + "-4.1-lambda-" + number_text(choice.lambda) + "-c-" + number_text(choice.c);
}
std::string stories_key(const PlanSetup& setup) { return setup.stories == kTales ? kTales : "stories"; }
std::string group_stories(const PlanSetup& setup) { return stories_key(setup); }
std::vector<uint64_t> depths() { return {1, 2, 4, 6}; }

std::vector<SqsChoice> other_choices(bool quick) {
  const auto [lambda, c] = kPaperChoice;
  if (quick) return {{0.1, c}, {2, c}, {lambda, 0.5}};
  return {{0, c}, {0.1, c}, {0.2, c}, {1, c}, {2, c}, {lambda, 0}, {lambda, 0.1}, {lambda, 0.5}};
}

namespace {

// Seeds of what is not in the paper.
size_t few_seeds(const PlanSetup& setup) { return std::min(setup.seeds, setup.quick ? size_t{1} : kFewSeeds); }

// Epochs of the quick form are a multiple of four, so that the checkpoints of table 1 are ends of epochs too.
// A test after every step up to 200 says who is the first to reach an accuracy.
std::vector<PlannedRun> runs_42(const PlanSetup& setup, const std::string& norm) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images) {
    Changes changes = image_changes(data);
    changes.emplace_back("eval-steps", setup.quick ? "16" : "40");
    if (norm == "none") changes.emplace_back("eval-first", setup.quick ? "100" : "200");
    if (setup.quick) changes.emplace_back("epochs", quick_epochs(data));
    if (norm != "none") changes.emplace_back("norm", norm);
    add(runs, setup, group_42(data, norm), recipe(data, "4.2"), changes, kAll, setup.seeds);
  }
  return runs;
}

std::vector<PlannedRun> runs_41(const PlanSetup& setup, const std::vector<std::string>& gates, size_t seeds) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images) {
    Changes changes = image_changes(data);
    if (setup.quick) changes.emplace_back("epochs", quick_epochs(data));
    add(runs, setup, group_41(data), recipe(data, "4.1"), changes, gates, seeds);
  }
  return runs;
}

std::vector<PlannedRun> runs_choices(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images)
    for (const SqsChoice& choice : other_choices(setup.quick)) {
      Changes changes = image_changes(data);
      changes.emplace_back("lambda", number_text(choice.lambda));
      changes.emplace_back("c", number_text(choice.c));
      if (setup.quick) changes.emplace_back("epochs", quick_epochs(data));
      add(runs, setup, group_choice(data, choice), recipe(data, "4.1"), changes, {"sqs"},
          std::min(setup.seeds, kFewSeeds));
    }
  return runs;
}

std::vector<PlannedRun> runs_depth(const PlanSetup& setup, const std::vector<std::string>& gates,
                                   const std::string& norm) {
  std::vector<PlannedRun> runs;
  for (const std::string& data : setup.images)
    for (const uint64_t layers : depths()) {
      Changes changes = image_changes(data);
      changes.emplace_back("layers", std::to_string(layers));
      changes.emplace_back("epochs", depth_epochs(setup, data));
      if (norm != "none") changes.emplace_back("norm", norm);
      add(runs, setup, group_depth(data, layers, norm), recipe(data, "4.2"), changes, gates, few_seeds(setup));
    }
  return runs;
}

std::vector<PlannedRun> runs_stories(const PlanSetup& setup) {
  std::vector<PlannedRun> runs;
  const bool tales = setup.stories == kTales;
  Changes changes;
  if (!tales) changes.emplace_back("data", setup.stories);
  if (setup.quick) changes.emplace_back("epochs", tales ? "3" : "1");
  const std::string recipe_name = tales || setup.quick ? "tales"
                                  : setup.all_stories  ? "tinystories"
                                                       : "tinystories-small";
  add(runs, setup, group_stories(setup), recipe_name, changes, kAll, few_seeds(setup));
  return runs;
}

}  // namespace

Plan make_plan(PlanSetup setup, const std::vector<RunSet>& sets) {
  Plan plan{.setup = std::move(setup), .runs = {}};
  const auto runs_of = [&](RunSet set) {
    switch (set) {
      case RunSet::section_42:
        return runs_42(plan.setup, "none");
      case RunSet::norm_42:
        return runs_42(plan.setup, "rms");
      case RunSet::section_41_pairs:
        return runs_41(plan.setup, kPair, plan.setup.seeds);
      case RunSet::section_41_others:
        return runs_41(plan.setup, kOthers, few_seeds(plan.setup));
      case RunSet::choices:
        return runs_choices(plan.setup);
      case RunSet::depth:
        return runs_depth(plan.setup, kPair, "none");
      case RunSet::depth_others:  // left out of the quick form
        return plan.setup.quick ? std::vector<PlannedRun>() : runs_depth(plan.setup, kOthers, "none");
      case RunSet::depth_norm:
        return runs_depth(plan.setup, plan.setup.quick ? kPair : kAll, "rms");
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

const std::vector<Experiment>& experiments() {
  using enum RunSet;
  static const std::vector<Experiment> kTable = {
      {"table1", "Table 1: performance", {section_42, stories}, {measure_images, measure_stories}, write_table1},
      {"fig3", "Figure 3: training curves", {section_42}, {measure_images}, write_figure3},
      {"fig2",
       "Figure 2: eigenvectors",
       {section_41_pairs},
       {measure_features, measure_similarity, measure_matches},
       write_figure2},
      {"fidelity", "Fidelity of the forms", {section_41_pairs, section_41_others}, {measure_trust}, write_fidelity},
      {"choice", "The choice of \xce\xbb and c", {section_41_pairs, choices}, {measure_choices}, write_choices},
      {"depth", "Depth", {depth}, {measure_depth}, write_depth},
      {"norm",
       "With a norm",
       {section_42, norm_42, depth, depth_others, depth_norm},
       {measure_images, measure_depth},
       write_norm},
      {"spectra", "Appendix B: spectra", {section_41_pairs}, {measure_class_spectra, measure_spectra}, write_spectra},
      {"explain", "Appendix B: a decision explained", {section_41_pairs}, {measure_explanation}, write_explanation},
      {"timing", "Appendix C: time of a gate", {}, {measure_timing}, write_timing},
      {"stories", "Appendix D: stories", {stories}, {measure_stories, measure_samples}, write_stories},
      {"language", "Reading language models", {stories}, {measure_stories, measure_language}, write_language},
      {"fig1", "Figure 1: the gates", {}, {}, write_gates},
      {"formulas", "Formulas", {}, {measure_formulas}, write_formulas},
  };
  return kTable;
}

std::vector<Experiment> chosen_experiments(const std::string& what) {
  if (what == "all") return experiments();
  std::vector<std::string> names = {"all"};
  for (const Experiment& e : experiments()) {
    if (e.name == what) return {e};
    names.push_back(e.name);
  }
  bad_argument("what", "there is no experiment '" + what + "'", suggest(what, names));
}

}  // namespace glint

// What the paper's experiments train: every run with its place in OUT/runs and the command that makes it
// alone.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "glint/lab/work/engine.h"
#include "glint/lab/work/jobs.h"
#include "glint/lab/work/train.h"
#include "glint/paper/measured.h"
#include "glint/report/report_page.h"
#include "glint/train/options.h"

namespace glint {

struct PlanSetup {
  std::string what = "all";  // or the name of one experiment
  bool quick = false;
  size_t seeds = 5;
  std::vector<std::string> images = {"mnist", "fashion-mnist"};
  std::string stories = "tales";  // or the folder of a corpus
  bool all_stories = false;       // the corpus is about as large as the paper's
  std::string precision = "f32";
  std::vector<std::string> notices = {};  // what the reader of the report must know about all this
};

struct PlannedRun {
  std::string group;                                         // "mnist-4.2": folder in OUT/runs
  std::string recipe;                                        // that it starts from
  std::vector<std::pair<std::string, std::string>> changes;  // options over the recipe
  TrainOptions options;
  std::string path() const;  // "mnist-4.2/sqs/seed-0"
  std::string directory(const std::string& out) const { return out + "/runs/" + path(); }
  TrainRequest request(const std::string& out) const;  // that trains it alone
  std::string command(const std::string& out) const;
};

// Groups of runs that experiments share. Section 4.2: table 1 and figure 3. Section 4.1: what reads weights;
// the pairs are SQS and bilinear, the others the remaining gates. Depth: 4.2 with other numbers of layers.
// choices: 4.1 with other options of SQS. norm_42, depth_norm: with an RMS norm before every layer, five
// gates; depth_others: depth without one, the gates that `depth` leaves out.
enum class RunSet {
  section_42,
  section_41_pairs,
  section_41_others,
  depth,
  stories,
  choices,
  norm_42,
  depth_others,
  depth_norm
};

struct Plan {
  PlanSetup setup;
  std::vector<PlannedRun> runs;  // each once
};

// The runs of these sets. Recipes are read here and nowhere else.
Plan make_plan(PlanSetup setup, const std::vector<RunSet>& sets);

// Options of SQS: the paper's, and those that it is compared with.
struct SqsChoice {
  double lambda = 0, c = 0;
};
inline constexpr SqsChoice kPaperChoice = {.lambda = 0.5, .c = 0.01};
std::vector<SqsChoice> other_choices(bool quick);

// Names of groups.
std::string group_42(const std::string& data, const std::string& norm = "none");
std::string group_41(const std::string& data);
std::string group_depth(const std::string& data, uint64_t layers, const std::string& norm = "none");
std::string group_choice(const std::string& data, const SqsChoice& choice);
std::string group_stories(const PlanSetup& setup);
// How table 1 calls the text: "tales", or "stories" for a corpus.
std::string stories_key(const PlanSetup& setup);

std::vector<uint64_t> depths();

// Seeds of the experiments for which the paper names no number, and which cost most.
inline constexpr size_t kFewSeeds = 3;

// How a plan is less than the paper's experiment; empty: it is not.
std::string smaller_images(const PlanSetup& setup, const std::string& data);
std::string smaller_models(const PlanSetup& setup);  // those of section 4.1

// The paper's experiments, one line each: what they train, what is measured of it, and the section of the
// report that shows it.

struct Measuring;

struct Experiment {
  std::string name;          // "table1"
  std::string title;         // of its section
  std::vector<RunSet> runs;  // what it needs
  std::vector<void (*)(Measuring&)> measure;
  void (*write)(const Measured&, ReportSection&);
};
const std::vector<Experiment>& experiments();

// "all", or one by its name; Error (usage) for another word.
std::vector<Experiment> chosen_experiments(const std::string& what);

// How the paper's experiments tell how far they are. All may be empty. One call at a time, from any thread.
struct PaperHooks {
  std::function<void(const ProgressReport&)> progress;
  std::function<void(const std::string&)> line;  // a run has ended, for logs
  std::function<void(const std::string&)> note;

  void tell(const ProgressReport& p) const {
    if (progress) progress(p);
  }
};

// How the stories of appendix D begin: measured so, and said so in the report.
inline constexpr const char* kSamplePrompt = "once upon a time";
inline constexpr double kSampleTemperature = 0.8;

// Trains the runs of a plan: finished ones are recognised, interrupted ones go on.

// Trains what is not finished: with `sharing` only its share, and gives how many runs others still train.
// When the engine is asked to stop: Error (interrupted). A run whose numbers blow up is kept as failed and
// does not stop the others.
size_t train_plan(const Engine& engine, TrainingData& data, const std::string& out, const Plan& plan,
                  const Sharing& sharing, const PaperHooks& hooks);

// Ended in numbers that are not finite.
bool run_failed(const std::string& directory);
bool run_finished(const std::string& directory);

}  // namespace glint

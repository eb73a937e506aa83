// Training from a recipe: its options, one run directory per seed, and what came out of it.
//
//   glint::Engine engine;
//   const glint::TrainingResult r = glint::train(engine, {.recipe = "quick", .out = "runs/first"});
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "glint/base/statistics.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/work/jobs.h"

namespace glint {

// Options over a recipe by the names of the option table, the last of a name counts: {"gate", "relu"}.
using OptionChanges = std::vector<std::pair<std::string, std::string>>;

// A recipe resolved.
struct TrainingOptions {
  TrainOptions options;
  std::string label;  // for names of directories: the recipe's name, else what the data are
};

// The options of a recipe ("" for the defaults) with changes. The data say whether it is a language model,
// and where there are none of that name the options. Error (usage) for a name that is no option, for text
// that is not tokenized yet, and for options and keys of the recipe that mean nothing for the data. With
// `images` the data are those, and what the recipe says of data does not count.
TrainingOptions training_options(const std::string& recipe, const OptionChanges& changes,
                                 const std::string& data_dir = {}, const Dataset* images = nullptr);

struct TrainRequest {
  std::string recipe;  // name or file; "": the defaults
  OptionChanges changes = {};
  std::vector<uint64_t> seeds = {};  // empty: the one of the options
  std::string out = {};              // "": runs/LABEL-GATE-seed-N; with several seeds one directory each in it
  bool force = false;                // remove the run that is in the directory
  size_t checkpoint_every = 0;       // steps; 0: at the end of an epoch, at most every ten seconds
  std::string data_dir = {};         // looked in first
  std::shared_ptr<const Dataset> images = {};  // the data, when a program has them in memory: data/arrays.h
};

struct TrainedRun {
  std::string out, gate;
  uint64_t seed = 0;
  TrainResult::State state = TrainResult::State::finished;
  uint64_t steps = 0, total_steps = 0;  // steps 0: never begun
  Evaluation last = {};                 // on the test or validation set
  bool done() const { return steps > 0 && state != TrainResult::State::interrupted; }
};

struct TrainingResult {
  std::vector<TrainedRun> runs;        // one per seed
  bool text = false;                   // a language model: its test set are validation stories
  MeanAndSd test_loss, test_accuracy;  // over the runs

  // Error (interrupted) that says how far the first unfinished run came; nothing when all are done.
  void check_done() const;
};

// Runs that are finished are not trained again, interrupted ones go on. The engine must have been made for
// the precision of the options, which training_options(...).options.precision says; Error (usage) otherwise.
// When the engine is asked to stop, the runs are saved and the result says which are interrupted.
TrainingResult train(const Engine& engine, const TrainRequest& request, const JobHooks& hooks = {});

OrderedJson to_json(const TrainingResult& result);  // "glint-train/1"

// One run of a plan as anybody can train it alone: another process, another machine, a job of a queue.
struct PlannedJob {
  TrainRequest train;   // one seed, among the changes; `out` is the run's own directory
  std::string setting;  // what it is called among the others: "sqs, lambda 0.1"
  uint64_t seed = 0;
  bool finished = false;  // the directory has it already
};

PlannedJob planned_job(TrainRequest train, std::string setting, uint64_t seed);
// The jobs of a training with several seeds: train.h.
std::vector<PlannedJob> planned_jobs(const TrainRequest& request);

// "glint train quick --gate relu --seed 0 --out runs/a"
std::string train_command(const TrainRequest& train);

OrderedJson to_json(const std::vector<PlannedJob>& jobs);  // "glint-plan/1"

}  // namespace glint

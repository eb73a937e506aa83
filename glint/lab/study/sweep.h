// What readability costs: a recipe with lists of values for its options, every setting trained with every
// seed and read, loss beside how far the weights explain the model. The capability behind `glint sweep`.
//
//   glint::sweep(engine, {.plan = {.recipe = "quick", .lists = {{"lambda", {"0", "0.5"}}}}, .out = "sweep"});
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "glint/base/statistics.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/study/sweep_plan.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/runs.h"
#include "glint/report/spectrum_figure.h"
#include "glint/report/table.h"

namespace glint {

struct SweepRequest {
  SweepPlanRequest plan;
  std::string out = "sweep";
  Sharing sharing = {};     // train only a share, or with others; nothing else unless all is trained
  double tolerance = 0.05;  // a setting may be chosen whose loss is higher than the lowest by this share of it
};

// A number that every finished run has.
struct SweepMeasure {
  std::string key;    // in files: "agreement_weights"
  std::string title;  // in figures: "agreement of the weights form %"
  std::string head;   // in tables: "weights %"
  double factor = 1;  // from the number to what is shown: 100 for shares
  int decimals = 3;
  bool in_table = true;  // otherwise in the files alone
  bool lower_is_better = false;
  size_t spread_from = 2;  // runs from which on a standard deviation says something
};

struct SweptRun {
  std::string directory;
  uint64_t seed = 0;
  RunState state = RunState::stopped;
  std::map<std::string, double> values;  // by the keys of the measures; none when it diverged
};

struct SweptSetting {
  SweepSetting setting;
  std::vector<SweptRun> runs;               // one per seed
  size_t finished = 0;                      // runs that did not diverge
  std::map<std::string, MeanAndSd> spread;  // over the finished runs, by the keys of the measures
  bool front = false;                       // no other setting has a lower loss and a higher fidelity
  FeatureGrid pictures = {};                // eigenvectors of the weights form, first seed; image models
};

struct SweepResult {
  SweepPlan plan;
  std::string out;
  double tolerance = 0;
  std::vector<SweepMeasure> measures;
  std::string
      fidelity;  // the key of the measure that stands for readability: agreement or correlation of the weights form
  std::vector<SweptSetting> settings;
  bool shared = false;             // only a share was trained: what follows is empty
  size_t left = 0;                 // runs that other workers still train
  size_t chosen = 0, lowest = 0;   // settings: the answer, and the one with the lowest loss
  std::string answer;              // which one to choose, and why: a sentence
  std::vector<std::string> files;  // that were written

  const SweepMeasure& measure(const std::string& key) const;
  std::string shown(const SweptSetting& setting, const SweepMeasure& measure) const;  // "0.424 ± 0.002"
};

// The answer and the front from what the settings have; settings of which a run diverged are neither. Error
// (numeric) when all diverged.
void judge_sweep(SweepResult& result);

struct SweepHooks {
  // A run has been trained in this call: of so many that were to be trained.
  std::function<void(const std::string& run, const Evaluation&, size_t done, size_t of)> trained;
  std::function<void(const std::string& run, size_t done, size_t of)> read;
};

// Trains what is missing, several runs at a time; reads every run; writes sweep.csv, sweep.json, sweep.html
// and figures/ into `out`, where runs/ and readings/ are kept. Finished runs and readings are used again.
// When the engine is asked to stop: Error (interrupted), and the same call goes on from there. A run whose
// loss diverges is a result and stops nothing.
SweepResult sweep(const Engine& engine, const SweepRequest& request, const SweepHooks& hooks = {});

// One row per setting, mean ± standard deviation over the seeds.
Table sweep_table(const SweepResult& result);
OrderedJson to_json(const SweepResult& result);  // "glint-sweep/1"

}  // namespace glint

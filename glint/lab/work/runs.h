// The runs below some folders: what each was trained with, how far it is and what came out of it; filtered,
// sorted, and their losses as curves. The capability behind `glint runs`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/io/fields.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/report/chart.h"
#include "glint/report/table.h"

namespace glint {

// imported: weights without a record of a training, as `import` and `export` write them.
enum class RunState { finished, running, stopped, diverged, imported, damaged };
std::string_view name(RunState state);

// What a run says of itself, without its weights.
struct RunSummary {
  std::string directory;
  RunState state = RunState::damaged;
  std::string problem = {};                                       // damaged: what is wrong
  std::vector<std::pair<std::string, std::string>> options = {};  // in the order of the option table, but c, lambda
                                                                  // and p only for gates that have them
  bool text = false;             // a language model: its test set are validation stories
  uint64_t step = 0, steps = 0;  // done, and of how many; stopped: where it would go on
  double test_loss = 0, test_accuracy = 0, train_loss = 0, seconds = 0;  // NaN where not known

  const std::string* option(std::string_view name) const;
  // "finished", "stopped at step 30 of 120", "damaged: run.json ..."
  std::string state_text() const;
};

// One run directory. Never an Error for what is in it: that is what `damaged` is for. The checksum of the
// weights is looked at, unless `quick`.
RunSummary summarize_run(const std::string& directory, bool quick = false);

struct RunsRequest {
  std::vector<std::string> folders;  // runs, or folders with runs in them at any depth
  // "gate=sqs", "lambda>=0.1", "state!=finished", "accuracy>0.9": options by their names, and state, loss,
  // accuracy, train-loss, time, step, run. All must hold. A run without the option does not pass.
  std::vector<std::string> where = {};
  std::string sort = {};    // an option or result; "-loss": the largest first; "": by directory
  std::string figure = {};  // an .svg file for the curves; "": none
};
std::vector<Field> fields_of(RunsRequest& request);

struct RunsResult {
  std::vector<RunSummary> runs;
  size_t found = 0;                    // before the filters
  std::vector<std::string> differing;  // options in which the runs differ, in the order of the option table
  std::string figure;                  // the file that was written
  std::vector<std::string> notes;      // runs whose curves are not in the figure, and why
};

// Error (bad_file) for a folder that is not there or has no run in it, (usage) for a filter or key that
// cannot be read, with the nearest name.
RunsResult list_runs(const Engine& engine, const RunsRequest& request);

// One row per run: directory, the options that differ, state and results. People see the time as 1:05 and "-"
// where nothing is known; programs get seconds and an empty cell.
enum class TableFor { people, programs };
Table runs_table(const RunsResult& result, TableFor reader = TableFor::people);
// The loss on the test or validation set over the steps. Runs that differ in their seed alone are one curve,
// the mean, with a band of one standard deviation. Error (usage) for more than kMostCurves.
inline constexpr size_t kMostCurves = 24;
Chart runs_chart(const RunsResult& result, std::vector<std::string>& notes);

OrderedJson to_json(const RunsResult& result);  // "glint-runs/1"

}  // namespace glint

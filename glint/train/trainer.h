// The training loop of every model: steps, evaluations, metrics, checkpoints, interruption and resuming. The
// same options, data and seed give the same weights and metrics at any number of threads and ranks,
// interrupted or not.
#pragma once

#include <functional>
#include <string>

#include "glint/train/checkpoint.h"
#include "glint/train/group.h"
#include "glint/train/options.h"
#include "glint/train/run_dir.h"
#include "glint/train/task.h"

namespace glint {

// One evaluation on the test set; a line of metrics.jsonl.
struct Evaluation {
  uint64_t step = 0, epoch = 0;  // done
  bool epoch_end = false;
  double train_loss = 0, train_accuracy = 0;  // over the epoch so far; NaN when that is not known any more
  double test_loss = 0, test_accuracy = 0;
  double lr = 0, seconds = 0;
  // Of each rank, which share of the time since the last evaluation it computed; the rest it waited for
  // others. Empty alone.
  std::vector<double> busy = {};
};

// All but should_stop are called at rank 0 only.
struct TrainHooks {
  std::function<void(uint64_t step, uint64_t total, double loss)> on_step;
  std::function<void(const Evaluation&)> on_evaluation;
  std::function<void(const std::string&)> on_note;  // something the user should know
  // Asked after every step, and with several ranks also within one, which is then not counted: a launcher
  // gives a second to save. A StopScope around train() is not.
  std::function<bool()> should_stop;
};

struct TrainSetup {
  std::string out;  // the run directory; empty: in memory, nothing is written and TrainResult has the weights
  bool force = false;
  uint64_t checkpoint_every = 0;  // steps; 0: at the end of an epoch when checkpoint_seconds have passed
  double checkpoint_seconds = 10;
  Json machine;  // for run.json: cpu, isa, threads, version
  // All ranks call train() with the same options and a task of this group. Rank 0 alone reads and writes the
  // directory. Null: alone.
  Group* group = nullptr;
};

// Whole at rank 0; elsewhere without evaluations.
struct TrainResult {
  enum class State { finished, already_finished, interrupted } state = State::finished;
  uint64_t step = 0, total_steps = 0, resumed_from = 0;
  double seconds = 0;  // of this call
  Evaluation last;
  std::vector<Evaluation> evaluations = {};  // of this call, in order
  Matrix<float> weights = {};  // of a run in memory: [1, floats of the task's params()], also when it was stopped
};

// Steps at which the test set is evaluated besides the ends of epochs: `count` of them, spaced evenly in the
// logarithm.
std::vector<uint64_t> log_spaced_steps(uint64_t total, uint64_t count);

// First evaluated step with at least this test accuracy; 0 when there is none.
uint64_t first_step_reaching(const std::vector<Json>& metrics, double accuracy);

TrainResult train(const TrainOptions& options, Task& task, const Compute& compute, FileSystem& files,
                  const TrainSetup& setup, const TrainHooks& hooks);

}  // namespace glint

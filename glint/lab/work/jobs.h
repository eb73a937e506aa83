// Training runs side by side, each in a directory of its own: what lab/train.h and the paper's plan are made
// of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "glint/base/error.h"
#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/leases.h"
#include "glint/train/start.h"
#include "glint/train/options.h"
#include "glint/train/trainer.h"

namespace glint {

// Data sets, each loaded once, by the first job that needs it. Any thread may ask.
class TrainingData {
 public:
  explicit TrainingData(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  std::unique_ptr<Task> task(const TrainOptions& options, const Compute& compute, Group* group = nullptr);
  std::shared_ptr<const Dataset> images(const std::string& name);
  std::shared_ptr<const TextData> text(const std::string& name);
  // These are the data of that name.
  void give(std::shared_ptr<const Dataset> images);

 private:
  template <class Data>
  using Loaded = std::vector<std::pair<std::string, std::shared_ptr<const Data>>>;
  std::string data_dir_;
  std::mutex mutex_;
  Loaded<Dataset> images_;
  Loaded<TextData> texts_;
  Loaded<TrainingStart> starts_;
};

struct TrainJob {
  TrainOptions options;
  std::string out;
  TrainResult result = {};
  bool done() const { return result.step > 0 && result.state != TrainResult::State::interrupted; }
};

struct JobSetup {
  size_t checkpoint_every = 0;
  bool force = false;
};

// One call at a time, from the threads of the jobs.
struct JobHooks {
  std::function<void(const TrainJob&, uint64_t total_steps)> begin;
  std::function<void(const TrainJob&, uint64_t step)> resumed;  // before the first step of this process
  std::function<void(const TrainJob&, double loss)> step;
  std::function<void(const TrainJob&, const Evaluation&)> evaluation;
  std::function<void(const TrainJob&, const std::string&)> note;
  std::function<void(const TrainJob&)> end;
  // Whether the others go on; without it the first error ends them all.
  std::function<bool(const TrainJob&, const Error&)> failed = {};
};

// Runs jobs side by side, each on its own threads, as many in all as the engine has: no time is lost at
// barriers, and the result of a job does not depend on it. Several ranks work together on one job after the
// other. It ends when the engine is asked to stop, or at the first error that the hooks do not take; that one
// is thrown when the other jobs have ended.
void run_jobs(const Engine& engine, TrainingData& data, const JobSetup& setup, std::vector<TrainJob>& jobs,
              const JobHooks& hooks);

// A share of a plan, for one of several machines: every run whose index leaves `index` when divided by `of`.
struct Shard {
  size_t index = 0, of = 1;
  bool has(size_t run) const { return run % of == index; }
};

// Which runs of a plan this process trains.
struct Sharing {
  Shard shard = {};
  // With any number of other workers on one file system: each takes the next run that nobody has, by leases
  // (leases.h) beside the run directories.
  bool join = false;
  bool wait = false;  // with join: until the others have finished theirs too
  LeaseTimes times = {};
  // Whether this process trains all of the plan, or waits for it.
  bool whole() const { return join ? wait : shard.of == 1; }
};

// The same with other workers. `settled` says whether a run needs no more training; those are left alone.
// Gives how many are not settled: others train them.
size_t run_joined_jobs(const Engine& engine, TrainingData& data, const JobSetup& setup, std::vector<TrainJob>& jobs,
                       const JobHooks& hooks, const Sharing& sharing,
                       const std::function<bool(const TrainJob&)>& settled);

// "3", "0..4", "0,2,5..7"
std::vector<uint64_t> parse_seeds(const std::string& text);

// Where recipes are looked for before the built-in ones.
std::vector<std::string> recipe_folders();

// What a training must hold at least, told before anything is asked for: a recipe of two lines can describe a
// model that no machine holds.

// Bytes of the weights, their gradients (with stories one more of each lane) and the two moments.
uint64_t training_bytes(const TrainOptions& options, size_t inputs, size_t classes);
uint64_t training_bytes(const TrainOptions& options, size_t vocab);

// The memory of the machine, or what the limits of this process leave of it.
uint64_t memory_of_process();

// Error (failure) when the training needs more than there is.
void check_memory(uint64_t needed, uint64_t there);

}  // namespace glint

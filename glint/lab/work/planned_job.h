// One run of a plan as anybody can train it alone: another process, another machine, a job of a queue.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/work/train.h"

namespace glint {

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

// What the parts of sweep.cc share; not for callers.
#pragma once

#include <optional>

#include "glint/lab/study/sweep.h"
#include "glint/lab/work/jobs.h"

namespace glint {

// What reading a run gives: numbers by the keys of the measures, and pictures when they were wanted.
struct SweepReading {
  std::map<std::string, double> values;
  FeatureGrid pictures = {};
};
// From the file of an earlier call when that is of the same weights, otherwise measured and stored there.
SweepReading read_swept_run(const Engine& engine, TrainingData& data, const SweepPlan& plan,
                            const std::string& directory, const std::string& file, bool pictures);

// How alike the leading eigenvectors of every run of a setting are to those of its other seeds; from the file
// of an earlier call, or measured and stored there. [runs]
std::vector<std::optional<double>> read_seed_stability(const Engine& engine, const SweepPlan& plan,
                                                       const std::vector<std::string>& directories,
                                                       const std::string& file);

// The measures that runs of this kind may have, in the order of tables.
std::vector<SweepMeasure> sweep_measures(bool text);

// Figures, CSV, JSON and page; sets `files`.
void write_sweep(const Engine& engine, SweepResult& result);

}  // namespace glint

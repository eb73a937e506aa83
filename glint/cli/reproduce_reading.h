// What one model of section 4.1 says about its weights: computed once and shared by the experiments.
#pragma once

#include <memory>

#include "glint/lab/opened_run.h"
#include "glint/cli/reproduce_lab.h"

namespace glint::cli {

struct ModelReading {
  std::string data, gate;
  uint64_t seed = 0;
  Fidelity weights, calibrated;
  TruncationCurve cut_weights, cut_calibrated;
  std::vector<std::vector<double>> energy;  // [class][k - 1], weights form
};

// The reading of a finished run.
const ModelReading& read_model(Lab& lab, const PlannedRun& run, const std::string& data);

// A run opened for pictures: seed 0 of a gate. Null when it is not finished.
std::unique_ptr<OpenedRun> open_first(Lab& lab, const std::string& data, const std::string& gate);

// Runs of section 4.1 that are finished, of one data set and gate.
std::vector<PlannedRun> finished_41(const Lab& lab, const std::string& data, const std::string& gate);

}  // namespace glint::cli

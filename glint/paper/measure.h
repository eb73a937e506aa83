// From finished runs to numbers: everything that the verdicts and the report need.
#pragma once

#include "glint/paper/experiments.h"
#include "glint/paper/hooks.h"
#include "glint/paper/measured.h"

namespace glint {

// Reads the runs of the plan in OUT/runs; runs that are missing leave gaps. `command` is what the report says
// made it. Times of gates are taken from OUT/timing.json when they are of this machine and version, else
// measured.
Measured measure(const Engine& engine, TrainingData& data, const Plan& plan,
                 const std::vector<Experiment>& experiments, const std::string& out,
                 const std::string& command, const PaperHooks& hooks);

}  // namespace glint

// Trains the runs of a plan: finished ones are recognised, interrupted ones go on.
#pragma once

#include "glint/lab/work/engine.h"
#include "glint/paper/hooks.h"
#include "glint/paper/plan.h"

namespace glint {

// Trains what is not finished: with `sharing` only its share, and gives how many runs others still train.
// When the engine is asked to stop: Error (interrupted). A run whose numbers blow up is kept as failed and
// does not stop the others.
size_t train_plan(const Engine& engine, TrainingData& data, const std::string& out, const Plan& plan,
                  const Sharing& sharing, const PaperHooks& hooks);

// Ended in numbers that are not finite.
bool run_failed(const std::string& directory);
bool run_finished(const std::string& directory);

}  // namespace glint

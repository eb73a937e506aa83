// What the trainer knows of an optimiser: a step over flat buffers, and a state that checkpoints keep by
// name. Another optimiser is a class in a file of its own and a line in make_optimizer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/nn/compute.h"

namespace glint {

class ParamTable;
struct TrainOptions;

// A part of the state: floats of any number, under a name that no other part has.
struct StateBuffer {
  std::string name;
  std::span<float> values;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step; `step` counts from 1. Returns the norm of the gradient before clipping (0 without clipping).
  // Allocates nothing.
  virtual double step(const Compute& compute, uint64_t step, double lr, std::span<const float> gradients,
                      std::span<float> params) = 0;
  // All that a step reads besides its arguments. Writing to the buffers sets the state: a run resumes so.
  virtual std::vector<StateBuffer> state() = 0;
};

// The optimiser that the options ask for.
std::unique_ptr<Optimizer> make_optimizer(const ParamTable& table, const TrainOptions& options);

}  // namespace glint

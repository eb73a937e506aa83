// What the trainer knows of an optimiser: a step over flat buffers, and a state that checkpoints keep by
// name. Another optimiser is a class in a file of its own and a line in make_optimizer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/model/params.h"
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

// AdamW over flat buffers.
//   m = b1 m + (1 - b1) g     v = b2 v + (1 - b2) g^2
//   p = p (1 - lr decay) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  double clip = 0;  // largest norm of the whole gradient; 0: any
};

class Adamw : public Optimizer {
 public:
  Adamw(const ParamTable& table, const AdamwOptions& options);

  double step(const Compute& compute, uint64_t step, double lr, std::span<const float> gradients,
              std::span<float> params) override;
  std::vector<StateBuffer> state() override { return {{"moment1", m_.span()}, {"moment2", v_.span()}}; }

 private:
  struct Block {
    size_t first, count;
    bool decay;
  };
  AdamwOptions options_;
  std::vector<Block> blocks_;  // of a size that does not depend on the threads
  std::vector<double> squares_;
  Matrix<float> m_, v_;
};

// The learning rate over time.

enum class Schedule { cosine_epoch, cosine_step, constant };
Schedule parse_schedule(const std::string& word);

struct LearningRate {
  double base = 1e-3;
  Schedule schedule = Schedule::cosine_epoch;
  uint64_t warmup = 0, steps_per_epoch = 1, epochs = 1;
  double at(uint64_t step) const;  // of the step with this index, from 0
};

}  // namespace glint

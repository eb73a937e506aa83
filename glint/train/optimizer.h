// AdamW over flat buffers, and the learning rate over time.
//   m = b1 m + (1 - b1) g     v = b2 v + (1 - b2) g^2
//   p = p (1 - lr decay) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/model/params.h"
#include "glint/nn/compute.h"

namespace glint {

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  double clip = 0;  // largest norm of the whole gradient; 0: any
};

class Adamw {
 public:
  Adamw(const ParamTable& table, const AdamwOptions& options);

  // One step; `step` counts from 1. Returns the norm of the gradient before clipping (0 without clipping).
  double step(const Compute& compute, uint64_t step, double lr, std::span<const float> gradients,
              std::span<float> params);

  std::span<float> moment1() { return m_.span(); }
  std::span<float> moment2() { return v_.span(); }

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

enum class Schedule { cosine_epoch, cosine_step, constant };
Schedule parse_schedule(const std::string& word);

struct LearningRate {
  double base = 1e-3;
  Schedule schedule = Schedule::cosine_epoch;
  uint64_t warmup = 0, steps_per_epoch = 1, epochs = 1;
  double at(uint64_t step) const;  // of the step with this index, from 0
};

}  // namespace glint

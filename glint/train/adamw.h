// AdamW over flat buffers.
//   m = b1 m + (1 - b1) g     v = b2 v + (1 - b2) g^2
//   p = p (1 - lr decay) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
#pragma once

#include "glint/base/matrix.h"
#include "glint/model/params.h"
#include "glint/train/optimizer.h"

namespace glint {

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

}  // namespace glint

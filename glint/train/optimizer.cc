#include "glint/train/optimizer.h"

#include "glint/train/adamw.h"
#include "glint/train/options.h"

namespace glint {

std::unique_ptr<Optimizer> make_optimizer(const ParamTable& table, const TrainOptions& o) {
  return std::make_unique<Adamw>(table, AdamwOptions{o.beta1, o.beta2, o.eps, o.weight_decay, o.clip});
}

}  // namespace glint

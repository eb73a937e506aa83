#include "glint/train/optimizer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "glint/base/error.h"
#include "glint/train/options.h"

namespace glint {

std::unique_ptr<Optimizer> make_optimizer(const ParamTable& table, const TrainOptions& o) {
  return std::make_unique<Adamw>(table, AdamwOptions{o.beta1, o.beta2, o.eps, o.weight_decay, o.clip});
}

Adamw::Adamw(const ParamTable& table, const AdamwOptions& options)
    : options_(options), m_(1, table.floats()), v_(1, table.floats()) {
  constexpr size_t kBlock = size_t{1} << 14;  // 4 x 64 KB: in L2
  for (const ParamSpec& s : table.specs())
    for (size_t i = 0; i < s.size(); i += kBlock)
      blocks_.push_back({s.offset + i, std::min(kBlock, s.size() - i), s.decay});
  squares_.resize(blocks_.size());
}

double Adamw::step(const Compute& compute, uint64_t step, double lr, std::span<const float> gradients,
                   std::span<float> params) {
  assert(gradients.size() == m_.size() && params.size() == m_.size() && step >= 1);
  const Kernels& k = compute.kernels();
  double norm = 0, scale = 1;
  if (options_.clip > 0) {
    compute.pool.for_tiles(blocks_.size(), [&](size_t b, size_t) {
      squares_[b] = k.sum_squares(blocks_[b].count, gradients.data() + blocks_[b].first);
    });
    for (const double s : squares_) norm += s;
    norm = std::sqrt(norm);
    if (norm > options_.clip) scale = options_.clip / (norm + 1e-6);  // as PyTorch's clip_grad_norm_
  }
  const double t = static_cast<double>(step);
  AdamwStep s{.lr = static_cast<float>(lr),
              .beta1 = static_cast<float>(options_.beta1),
              .beta2 = static_cast<float>(options_.beta2),
              .eps = static_cast<float>(options_.eps),
              .decay = 0,
              .rest1 = static_cast<float>(1 - options_.beta1),
              .rest2 = static_cast<float>(1 - options_.beta2),
              .correction1 = static_cast<float>(1 - std::pow(options_.beta1, t)),
              .correction2 = static_cast<float>(1 - std::pow(options_.beta2, t)),
              .grad_scale = static_cast<float>(scale)};
  compute.pool.for_tiles(blocks_.size(), [&](size_t b, size_t) {
    const Block& block = blocks_[b];
    AdamwStep mine = s;
    mine.decay = block.decay ? static_cast<float>(options_.weight_decay) : 0.0f;
    k.adamw(mine, block.count, gradients.data() + block.first, m_.data() + block.first, v_.data() + block.first,
            params.data() + block.first);
  });
  return norm;
}

Schedule parse_schedule(const std::string& word) {
  if (word == "cosine-epoch") return Schedule::cosine_epoch;
  if (word == "cosine-step") return Schedule::cosine_step;
  if (word == "constant") return Schedule::constant;
  throw Error({.code = ErrorCode::usage,
               .what = "unknown schedule '" + word + "'",
               .where = "schedule",
               .expected = suggest(word, {"cosine-epoch", "cosine-step", "constant"})});
}

double LearningRate::at(uint64_t step) const {
  if (step < warmup) return base * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double total = static_cast<double>(steps_per_epoch * epochs);
  double part = 0;
  if (schedule == Schedule::cosine_epoch)
    part = static_cast<double>(step / steps_per_epoch) / static_cast<double>(epochs);
  else if (schedule == Schedule::cosine_step)
    part = static_cast<double>(step - warmup) / std::max(1.0, total - static_cast<double>(warmup));
  return base * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

}  // namespace glint

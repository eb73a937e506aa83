#include "glint/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "glint/base/error.h"

namespace glint {

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

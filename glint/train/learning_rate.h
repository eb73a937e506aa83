// The learning rate over time.
#pragma once

#include <cstdint>
#include <string>

namespace glint {

enum class Schedule { cosine_epoch, cosine_step, constant };
Schedule parse_schedule(const std::string& word);

struct LearningRate {
  double base = 1e-3;
  Schedule schedule = Schedule::cosine_epoch;
  uint64_t warmup = 0, steps_per_epoch = 1, epochs = 1;
  double at(uint64_t step) const;  // of the step with this index, from 0
};

}  // namespace glint

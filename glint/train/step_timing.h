// Whole training steps (noise, forward, backward, AdamW, packing) of the paper's image models, beside the
// bare matrix products of the same step.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/train/options.h"

namespace glint {

struct StepTiming {
  std::string model;  // "4.1", "4.2"
  size_t width = 0, batch = 0, layers = 0, repeats = 0;
  double median_ms = 0, low_ms = 0, high_ms = 0, best_ms = 0;
  double products_ms = 0;  // median, on packed weights
};

struct StepModel {
  std::string name;
  size_t layers, batch, width;
};
std::vector<StepModel> paper_step_models();  // 4.1 at widths 256 and 512, 4.2 at 256

// Steps and products take turns.
StepTiming time_step(const Compute& compute, const StepModel& model, const Gate& gate, size_t repeats,
                     const std::function<void(size_t done, size_t total)>& progress);

}  // namespace glint

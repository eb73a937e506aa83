// What a training must hold at least, told before anything is asked for: a recipe of two lines can describe a
// model that no machine holds.
#pragma once

#include <cstdint>

#include "glint/train/options.h"

namespace glint {

// Bytes of the weights, their gradients (with stories one more of each lane) and the two moments.
uint64_t training_bytes(const TrainOptions& options, size_t inputs, size_t classes);
uint64_t training_bytes(const TrainOptions& options, size_t vocab);

// The memory of the machine, or what the limits of this process leave of it.
uint64_t memory_of_process();

// Error (failure) when the training needs more than there is.
void check_memory(uint64_t needed, uint64_t there);

}  // namespace glint

// Checkpoints: the whole state of a run after a step, in a file that is whole or absent. The newest two are
// kept, so that a damaged one falls back to the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "glint/base/file.h"
#include "glint/base/matrix.h"

namespace glint {

struct EpochSums {
  double loss = 0;  // sums over the samples of the epoch so far
  uint64_t correct = 0, samples = 0;
};

struct TrainState {
  uint64_t step = 0;  // steps done
  EpochSums sums;
  Matrix<float> params, moment1, moment2;
};

// `identity` names the run (a hash of its options): a checkpoint of another run is refused.
void save_checkpoint(FileSystem& files, const std::string& directory, const std::string& identity,
                     const TrainState& state);

// The newest checkpoint that is whole; nothing when there is none. `note` is told of those that are not.
// The buffers of `state` must have the size of the model.
bool load_newest_checkpoint(const std::string& directory, const std::string& identity, TrainState& state,
                            const std::function<void(const std::string&)>& note);

}  // namespace glint

// Checkpoints: the whole state of a run after a step, in a file that is whole or absent. The newest two are
// kept, so that a damaged one falls back to the one before.
//
// A safetensors file with `params` and the buffers of the optimiser under their names, [1, n] each. Its
// checksum is that of the run's identity, the step, the sums, `params`, and the buffers in the order of their
// names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/base/matrix.h"
#include "glint/train/optimizer.h"

namespace glint {

struct EpochSums {
  double loss = 0;  // sums over the samples of the epoch so far
  uint64_t correct = 0, samples = 0;
};

struct TrainState {
  uint64_t step = 0;  // steps done
  EpochSums sums;
  Matrix<float> params;
};

// `identity` names the run (a hash of its options): a checkpoint of another run is refused.
void save_checkpoint(FileSystem& files, const std::string& directory, const std::string& identity,
                     const TrainState& state, std::span<const StateBuffer> optimizer);

// The newest checkpoint that is whole, into `state` and the buffers, which must have the sizes of the model;
// a file with other buffers counts as damaged. False when there is none, and then nothing is changed. `note`
// is told of those that are not whole.
bool load_newest_checkpoint(const std::string& directory, const std::string& identity, TrainState& state,
                            std::span<const StateBuffer> optimizer,
                            const std::function<void(const std::string&)>& note);

// Whether a checkpoint says that it is of this run; the rest of it is not looked at.
bool has_checkpoint_of(const std::string& directory, const std::string& identity);

// The step of the newest checkpoint by its name, where a run would go on if the file is whole; 0 when there
// is none.
uint64_t newest_checkpoint_step(const std::string& directory);

// The weights [1, floats] of a checkpoint after just this step, and its path; nothing when there is none that
// is whole.
struct CheckpointWeights {
  std::string path;
  Matrix<float> weights;
};
std::optional<CheckpointWeights> checkpoint_weights(const std::string& directory, const std::string& identity,
                                                    uint64_t step, size_t floats);

// Moves what is no file but has the name of a checkpoint out of the way, and says what it did.
std::vector<std::string> clear_checkpoint_names(FileSystem& files, const std::string& directory);

}  // namespace glint

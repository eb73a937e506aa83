// What the trainer needs of a model and its data. Samples are images, or tokens of stories.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "glint/io/json.h"
#include "glint/model/params.h"

namespace glint {

struct StepResult {
  double loss = 0;  // sum over the samples
  uint64_t correct = 0, samples = 0;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual const ParamTable& params() const = 0;
  virtual uint64_t steps_per_epoch() const = 0;
  // After the weights changed. Keeps the span.
  virtual void set_weights(std::span<const float> weights) = 0;
  // Gradient of the mean loss of batch `index` of an epoch. Allocates only when the epoch changes.
  virtual StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) = 0;
  // On the clean test set, or on the validation stories.
  virtual StepResult evaluate() = 0;
  // config.json and whatever else the run directory needs besides the weights: names and contents.
  virtual std::map<std::string, std::string> description() const = 0;
  // Name and checksum of the data, for run.json.
  virtual Json data_description() const = 0;
  // A language model: its metrics have a perplexity, and it is evaluated at every quarter of the training.
  virtual bool text() const { return false; }
};

}  // namespace glint

// What the trainer needs of a model and its data. Samples are images, or tokens of stories.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "glint/io/json.h"
#include "glint/model/params.h"
#include "glint/train/group.h"

namespace glint {

struct StepResult {
  double loss = 0;  // sum over the samples
  uint64_t correct = 0, samples = 0;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual const ParamTable& params() const = 0;
  // The weights before the first step.
  virtual void initialise(std::span<float> weights, uint64_t seed) const { params().initialise(weights, seed); }
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

// Evaluation in batches that ranks share: each computes some, and rank 0 adds all of them in their order.

// `evaluate(batch)` gives loss and hits of one; `group` null: all are computed here. Whole at rank 0 only.
template <class Result, class Evaluate>
StepResult evaluate_in_parts(Group* group, size_t batches, uint64_t samples, const Evaluate& evaluate) {
  static_assert(std::is_trivially_copyable_v<Result>);
  StepResult total{.samples = samples};
  const auto add = [&](const Result& r) {
    total.loss += r.loss;
    total.correct += r.correct;
  };
  if (!group) {
    for (size_t i = 0; i < batches; i++) add(evaluate(i));
    return total;
  }
  std::vector<Result> results(batches);
  std::vector<Range> parts;
  for (size_t r = 0; r < group->size(); r++) {
    const Range part = part_of(batches, r, group->size());
    parts.push_back({part.first * sizeof(Result), part.count * sizeof(Result)});
    for (size_t i = part.first; r == group->rank() && i < part.first + part.count; i++) results[i] = evaluate(i);
  }
  group->gather(std::as_writable_bytes(std::span(results)), parts);
  for (const Result& r : results) add(r);
  return total;
}

}  // namespace glint

// Evaluation in batches that ranks share: each computes some, and rank 0 adds all of them in their order.
#pragma once

#include <type_traits>
#include <vector>

#include "glint/train/group.h"
#include "glint/train/task.h"

namespace glint {

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
    for (size_t i = part.first; r == group->rank() && i < part.first + part.count; i++)
      results[i] = evaluate(i);
  }
  group->gather(std::as_writable_bytes(std::span(results)), parts);
  for (const Result& r : results) add(r);
  return total;
}

}  // namespace glint

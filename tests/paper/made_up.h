// Made-up measurements, and what the rules find in them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "glint/paper/verdicts.h"

namespace glint {

using Losses = std::map<std::string, double>;

// Runs whose loss is `last` at the end and falls in a line from twice that; three seeds that differ by a
// thousandth, so that differences between gates are clear.
inline GateRuns runs_of(const std::string& gate, double last, double metric, size_t seeds = 3) {
  GateRuns g{gate, {}};
  for (uint64_t seed = 0; seed < seeds; seed++) {
    RunCurve r{.seed = seed, .points = {}};
    const double shift = 0.001 * last * static_cast<double>(seed);
    for (size_t c = 0; c < kCheckpoints; c++) {
      const CurvePoint p{100 * (c + 1), last * (2 - kCheckpointShares[c]) + shift, metric};
      r.points.push_back(p);
      r.at[c] = p;
    }
    r.reached = {10, 20, 30};
    g.runs.push_back(r);
  }
  return g;
}

inline TaskRuns task_of(const std::string& data, const Losses& losses, const Losses& metrics = {}, size_t seeds = 3) {
  TaskRuns t{.data = data, .text = data == "stories", .train = 60000, .test = 10000, .steps = 400, .epochs = 20};
  for (const auto& [gate, loss] : losses)
    t.gates.push_back(runs_of(gate, loss, metrics.contains(gate) ? metrics.at(gate) : 0.95, seeds));
  return t;
}

inline const Losses kSqsLowest = {{"sqs", .1}, {"relu", .2}, {"gelu", .3}, {"silu", .3}, {"identity", .2}};
inline const Losses kSqsMiddle = {{"sqs", .1}, {"relu", .2}, {"gelu", .08}, {"silu", .09}, {"identity", .2}};
inline const Losses kSqsHighest = {{"sqs", .5}, {"relu", .2}, {"gelu", .3}, {"silu", .3}, {"identity", .2}};

inline Measured images(const Losses& mnist, const Losses& fashion) {
  Measured m;
  m.tasks = {task_of("mnist", mnist), task_of("fashion-mnist", fashion)};
  return m;
}

inline Finding find(const Measured& m, const std::string& id) {
  for (const Finding& f : judge(m))
    if (f.id == id) return f;
  ADD_FAILURE() << "no rule " << id;
  return {};
}
inline Verdict verdict(const Measured& m, const std::string& id) { return find(m, id).verdict; }

}  // namespace glint

#include "glint/paper/paper_measured.h"

#include <cmath>

#include "glint/paper/reproduction_tables.h"

namespace glint {

Measured paper_measured() {
  Measured m;
  m.seeds = 1;
  m.images = {"mnist", "fashion-mnist"};
  m.stories = "stories";
  constexpr uint64_t kSteps = 100;  // the paper says shares of the steps, not how many there are
  for (const char* data : {"mnist", "fashion-mnist", "stories"}) {
    TaskRuns task{.data = data, .text = data == m.stories, .steps = kSteps};
    for (const std::string_view gate : kPaperGates) {
      const PaperRow row = *paper_row(data, gate);
      RunCurve curve;
      for (size_t c = 0; c < kCheckpoints; c++) {
        curve.at[c] = {static_cast<uint64_t>(std::lround(kSteps * kCheckpointShares[c])), row.at[c].loss,
                       row.at[c].metric};
        curve.points.push_back(curve.at[c]);
      }
      task.gates.push_back({std::string(gate), {std::move(curve)}});
    }
    m.tasks.push_back(std::move(task));
  }
  // Section 4.1: ".95 for the most important eigenvectors", "never below .5"; it does not say how they were
  // compared.
  for (const char* data : {"mnist", "fashion-mnist"})
    m.similarity.push_back({.data = data,
                            .form = "weights",
                            .space = "space not said",
                            .measure = "as printed",
                            .mean = {.95, .5},
                            .sd = {0, 0},
                            .min = {.95, .5},
                            .pairs = 1,
                            .pair_sd = {0, 0}});
  for (const PaperTiming& t : paper_timing())
    for (const std::string_view gate : kPaperGates)
      m.times.push_back({.batch = t.batch, .width = t.width, .gate = std::string(gate), .median_ms = t.ms(gate)});
  m.timing = timing_numbers(m.times);
  return m;
}

}  // namespace glint

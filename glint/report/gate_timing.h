// The paper's appendix C: forward + backward time of a one-layer GLU for every gate, beside the bare matrix
// products.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "glint/kernels/gates.h"
#include "glint/nn/compute.h"

namespace glint {

struct TimingShape {
  size_t batch, d_in, d_out;
};

struct GateTimingOptions {
  std::vector<TimingShape> shapes;
  std::vector<Gate> gates;
  size_t repeats = 0;    // 0: as many as about two seconds a shape and gate allow, from 5 to 40
  bool unfused = false;  // also with the gate in passes of its own
};

// Milliseconds. A row without a gate is the bare products.
struct GateTiming {
  TimingShape shape;
  bool products = false;
  Gate gate;
  bool fused = true;
  size_t repeats = 0;
  double median_ms = 0, low_ms = 0, high_ms = 0, best_ms = 0;  // low, high: quartiles
};

// The sixteen shapes of the paper.
std::vector<TimingShape> paper_timing_shapes();

// All variants of a shape take turns within a repeat, so that a drift of the machine hits them alike.
// `progress(done, total, shape)` counts timed runs.
std::vector<GateTiming> time_gates(
    const Compute& compute, const GateTimingOptions& options,
    const std::function<void(size_t done, size_t total, const TimingShape&)>& progress);

}  // namespace glint

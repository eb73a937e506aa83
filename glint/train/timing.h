// How long things take on this machine: a one-layer GLU with every gate (the paper's appendix C), whole
// training steps of the paper's image and language models, each beside the bare matrix products of the same
// work, and stories written with a KV cache.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "glint/kernels/gates.h"
#include "glint/model/transformer.h"
#include "glint/nn/compute.h"

namespace glint {

// Milliseconds over the repeats; low and high are the quartiles.
struct TimeSpread {
  size_t repeats = 0;
  double median_ms = 0, low_ms = 0, high_ms = 0, best_ms = 0;
};
TimeSpread time_spread(const std::vector<double>& milliseconds);
double milliseconds_of(const std::function<void()>& work);

using TimingProgress = std::function<void(size_t done, size_t total)>;  // may be empty

// One layer, forward + backward.
struct TimingShape {
  size_t batch, d_in, d_out;
};

struct GateTimingOptions {
  std::vector<TimingShape> shapes;
  std::vector<Gate> gates;
  size_t repeats = 0;    // 0: as many as about two seconds per shape and gate allow, from 5 to 40
  bool unfused = false;  // also with the gate in passes of its own
};

// One without a gate is the bare products.
struct GateTiming : TimeSpread {
  TimingShape shape;
  bool products = false;
  Gate gate;
  bool fused = true;
};

// The sixteen shapes of the paper.
std::vector<TimingShape> paper_timing_shapes();

// All variants of a shape take turns within a repeat, so that a drift of the machine hits them alike.
// `progress(done, total, shape)` counts timed runs.
std::vector<GateTiming> time_gates(const Compute& compute, const GateTimingOptions& options,
                                   const std::function<void(size_t done, size_t total, const TimingShape&)>& progress);

// Whole training steps (noise, forward, backward, AdamW, packing) of the paper's image models.
struct StepModel {
  std::string name;  // "4.1", "4.2"
  size_t layers, batch, width;
};
std::vector<StepModel> paper_step_models();  // 4.1 at widths 256 and 512, 4.2 at 256

struct StepTiming : TimeSpread {
  StepModel model;
  double products_ms = 0;  // median, on packed weights
};

// Steps and products take turns.
StepTiming time_step(const Compute& compute, const StepModel& model, const Gate& gate, size_t repeats,
                     const TimingProgress& progress);

// Whole training steps (forward, backward, clipping, AdamW, packing) of the paper's language model.
struct LanguageTimingOptions {
  TransformerConfig model;
  size_t rows = 32;        // sequences per step
  size_t micro_batch = 8;  // of them at once
  size_t shortest = 256;   // lengths are drawn from here to the context
  size_t repeats = 5;
};

struct LanguageTiming : TimeSpread {
  size_t tokens = 0;       // per step
  double products_ms = 0;  // the bare products of a step's linear layers, without attention
  double tokens_per_second() const { return static_cast<double>(tokens) / median_ms * 1e3; }
};

// Lengths of the rows that are timed: a peer can time the same.
std::vector<size_t> timing_lengths(const LanguageTimingOptions& options);

LanguageTiming time_language_step(const Compute& compute, const LanguageTimingOptions& options,
                                  const TimingProgress& progress);

// The paper's language model with random weights writes stories side by side that fill its context, from one
// token on.
struct GenerateTiming : TimeSpread {
  size_t stories = 0, tokens = 0;
  double tokens_per_second() const { return static_cast<double>(tokens) / median_ms * 1e3; }
};
GenerateTiming time_generation(const Compute& compute, const Gate& gate, size_t stories, size_t repeats,
                               const TimingProgress& progress);

}  // namespace glint

// Whole training steps (forward, backward, clipping, AdamW, packing) of the paper's language model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/model/transformer.h"

namespace glint {

struct LanguageTimingOptions {
  TransformerConfig model;
  size_t rows = 32;        // sequences a step
  size_t micro_batch = 8;  // of them at once
  size_t shortest = 256;   // lengths are drawn from here to the context
  size_t repeats = 5;
};

struct LanguageTiming {
  size_t tokens = 0;  // a step
  size_t repeats = 0;
  double median_ms = 0, low_ms = 0, high_ms = 0, best_ms = 0;  // a step
  double products_ms = 0;  // the bare products of a step's linear layers, without attention
  double tokens_per_second() const { return static_cast<double>(tokens) / median_ms * 1e3; }
};

// Lengths of the rows that are timed: a peer can time the same.
std::vector<size_t> timing_lengths(const LanguageTimingOptions& options);

LanguageTiming time_language_step(const Compute& compute, const LanguageTimingOptions& options,
                                  const std::function<void(size_t done, size_t total)>& progress);

}  // namespace glint

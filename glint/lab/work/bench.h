// Times measured on this machine, with what they are compared with: the bare products of the same work, the
// identity of the same shape.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/train/timing.h"

namespace glint {

struct BenchMachine {
  std::string cpu, isa, precision, bf16_unit;
  size_t threads = 0;
};

// Forward + backward of a one-layer GLU.
struct GateBenchRow {
  GateTiming t;
  double products_ms = 0, identity_ms = 0;  // of the same shape; identity 0: it was not timed
  std::string gate() const;                 // or "products"
  double over_products() const { return t.median_ms / products_ms; }
  double over_identity() const { return t.products || identity_ms == 0 ? 0 : t.median_ms / identity_ms; }
};
// Geometric means over the shapes; identity 0: it was not timed.
struct GateBenchMean {
  std::string gate;  // "sqs", "sqs (unfused)"
  double over_products = 0, over_identity = 0, worst_over_identity = 0;
};
struct GateBench {
  BenchMachine machine;
  size_t shapes = 0;
  std::vector<GateBenchRow> rows;
  std::vector<GateBenchMean> means;
};
GateBench bench_gates(const Engine& engine, const GateTimingOptions& request);
OrderedJson to_json(const GateBench& result);
// The rows with what they are compared with, and the means of `rows`: parts of bench_gates.
std::vector<GateBenchRow> with_ratios(const std::vector<GateTiming>& timings);
std::vector<GateBenchMean> geometric_means(const std::vector<GateBenchRow>& rows);

// Training steps of the paper's image models.
struct StepBenchRow {
  std::string gate;
  StepTiming t;
};
struct StepBench {
  BenchMachine machine;
  std::vector<StepBenchRow> rows;
};
struct StepBenchRequest {
  std::vector<Gate> gates = {Gate{}};
  size_t repeats = 20;
};
StepBench bench_steps(const Engine& engine, const StepBenchRequest& request);
OrderedJson to_json(const StepBench& result);

// Training steps of the paper's language model: whole rows, and rows of different lengths.
struct LanguageBenchRow {
  std::string gate;
  size_t rows = 0, micro_batch = 0, shortest = 0, longest = 0;  // tokens per row
  std::vector<size_t> lengths;
  LanguageTiming t;
};
struct LanguageBench {
  BenchMachine machine;
  double peak_memory_mb = 0;  // of the process
  std::vector<LanguageBenchRow> rows;
};
struct LanguageBenchRequest {
  std::vector<Gate> gates = {Gate{}};
  size_t repeats = 5, rows = 32, micro_batch = 8;
};
LanguageBench bench_language(const Engine& engine, const LanguageBenchRequest& request);
OrderedJson to_json(const LanguageBench& result);

// Tokens per second when the paper's language model writes 1 and 32 stories.
struct GenerateBench {
  BenchMachine machine;
  std::string gate;
  std::vector<GenerateTiming> rows;
};
struct GenerateBenchRequest {
  Gate gate = {};
  size_t repeats = 5;
};
GenerateBench bench_generation(const Engine& engine, const GenerateBenchRequest& request);
OrderedJson to_json(const GenerateBench& result);

}  // namespace glint

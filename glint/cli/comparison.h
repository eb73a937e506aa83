// The runs of a comparison opened, paired, compared, and a control beside them: what glint compare reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/cli/run_pairs.h"
#include "glint/lab/engine.h"
#include "glint/spectra/model_comparison.h"

namespace glint::cli {

struct ComparisonOptions {
  std::vector<std::string> runs;
  std::string control, unit = "all", form = "weights", space = "pixels", data, data_dir;
  size_t top = 10;
};

struct ComparedModel {
  std::string directory, gate, data;
  std::optional<uint64_t> seed;
  size_t width = 0, layers = 0;
  double agreement = 0, r2 = 0;  // of the form with the model, on the test images
};

struct Comparison {
  std::vector<ComparedModel> a, b;      // [pairs]
  std::vector<PairComparison> results;  // [pairs]
  std::vector<PairComparison> control;
  bool random_control = false;
  std::string control_text;  // which control it is
  std::vector<size_t> units;
  std::vector<std::string> unit_names;  // "3 Dress"
  // |cos| of the first pair, [units]: rows those of a, columns of b; the top k above 0, then the top k below,
  // the strongest first.
  std::vector<Matrix<double>> matrices;
  size_t positive_rows = 0, positive_columns = 0;  // of the first matrix
};

Comparison compare_runs(const Context& context, const Engine& engine, const ComparisonOptions& options);

}  // namespace glint::cli

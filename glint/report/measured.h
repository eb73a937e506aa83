// What the experiments of `glint reproduce` measured, as plain numbers: the tables, the figures and the
// verdicts are all made from these.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "glint/report/paired.h"
#include "glint/report/paper_values.h"

namespace glint {

// Accuracies whose first step the paper speaks of.
inline constexpr std::array<double, 3> kMilestones = {0.80, 0.85, 0.90};

struct CurvePoint {
  uint64_t step = 0;
  double loss = 0, metric = 0;  // on the test set; metric as in table 1
  double train_loss = 0;        // mean over the epoch so far
};

// One finished training run.
struct RunCurve {
  uint64_t seed = 0;
  std::vector<CurvePoint> points = {};                    // ascending in step
  std::array<CurvePoint, kCheckpoints> at = {};           // table 1
  std::array<uint64_t, kMilestones.size()> reached = {};  // first evaluated step; 0: never
};

struct GateRuns {
  std::string gate;
  std::vector<RunCurve> runs = {};  // one a seed, ascending
  std::vector<double> loss(size_t checkpoint) const;
  std::vector<double> metric(size_t checkpoint) const;
  std::vector<double> train_loss(size_t checkpoint) const;
};

// All gates on one data set.
struct TaskRuns {
  std::string data;            // "mnist", "fashion-mnist", "stories", "glyphs"
  bool text = false;           // the metric is a perplexity: lower is better
  size_t train = 0, test = 0;  // images or stories
  uint64_t steps = 0, epochs = 0;
  std::vector<GateRuns> gates = {};  // in the paper's order
  std::string smaller = {};          // how this is less than the paper's experiment; empty: it is not
  const GateRuns* find(std::string_view gate) const;
};

enum class Quantity { loss, metric };
// Over the seeds that both gates have.
PairedDifference paired_at(const TaskRuns& task, std::string_view gate, std::string_view rival,
                           Quantity quantity, size_t checkpoint);

// Figure 2B: eigenvectors of SQS against those of the bilinear model of the same seed, by rank.
struct SimilarityCurve {
  std::string data, form, space, measure;            // form of the SQS model: "weights" or "calibrated"
  std::vector<double> mean = {}, sd = {}, min = {};  // [rank]
  std::vector<double> control = {};                  // [rank]: bilinear against bilinear of another seed
  size_t pairs = 0;
  std::vector<double> pair_sd = {}, control_sd = {};  // [rank]: between the means of the pairs
  size_t control_pairs = 0;
};

// Appendix B: how much of a class's quadratic form its strongest eigenvectors carry.
struct SpectrumShare {
  std::string data, gate;
  size_t few = 0, width = 0;        // eigenvectors counted, of so many
  std::vector<double> energy = {};  // [class]: share of the sum of squared eigenvalues, mean over seeds
  double accuracy_few = 0, accuracy_all = 0;  // of the form with `few` terms a class, and with all
  size_t seeds = 0;
  std::vector<std::vector<double>> energy_by_seed = {};                      // [seed][class]
  std::vector<double> few_accuracy_by_seed = {}, all_accuracy_by_seed = {};  // [seed]
};

// How far a quadratic form stands for the model.
struct FormTrust {
  std::string data, gate, form;
  std::vector<double> agreement = {}, r2 = {}, correlation = {};  // [seed]
  double accuracy_model = 0, accuracy_form = 0;                   // means
  std::vector<double> accuracy_model_by_seed = {}, accuracy_form_by_seed = {};
};

struct TimingNumbers {
  size_t shapes = 0, fastest = 0;                    // shapes in which SQS was the fastest of the five
  std::vector<std::pair<std::string, double>> over;  // rival, geometric mean of SQS time / its time
  size_t compared = 0, below_products = 0;  // gates of all shapes; measured faster than their own products
};

struct DepthPoint {
  std::string data, gate;
  size_t layers = 0;
  std::vector<double> accuracy = {}, loss = {};  // [seed], at the end
  size_t failed = 0;                             // runs that ended in numbers that are not finite
};

struct Measured {
  std::vector<TaskRuns> tasks;
  std::vector<SimilarityCurve> similarity;
  std::vector<SpectrumShare> spectra;
  std::vector<FormTrust> trust;
  std::optional<TimingNumbers> timing;
  std::vector<DepthPoint> depth;
  std::string small_spectra;  // how the models of section 4.1 are less than the paper's; empty: they are not
  std::string small_depth;
  const TaskRuns* task(std::string_view data) const;
};

}  // namespace glint

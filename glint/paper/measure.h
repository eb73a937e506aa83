// From finished runs to numbers: everything that the verdicts and the report need.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/data/dataset.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/work/engine.h"
#include "glint/lab/work/jobs.h"
#include "glint/paper/measured.h"
#include "glint/paper/plan.h"

namespace glint {

// Whether the pictures of eigenvectors look like the classes that they speak for.

// The mean image of every class minus the mean of all images, [classes, pixels], in 0 ... 1.
Matrix<double> class_deviations(const ImageSet& images);

struct ClassLikeness {
  double matched = 0;  // share of the pictures that are most like the deviation of their own class
  double cosine = 0;   // |cos| with that, mean over classes
  size_t twins = 0;    // pairs of pictures with |cos| >= kTwin
};
// One picture per class [classes, pixels]; signs are free. A picture of zeros is like nothing.
ClassLikeness class_likeness(ConstMatrixView<double> pictures, ConstMatrixView<double> deviations);

// The workplace of measuring: the plan, its finished runs, the data, and what has been measured so far. Only
// the measure_*.cc files and measure.cc use it.
struct ModelReading;

struct Measuring {
  const Engine& engine;
  TrainingData& data;
  const Plan& plan;
  std::string out;
  const PaperHooks& hooks;
  Measured measured = {};  // its runs are those of the plan, one for one, from the beginning
  std::map<std::string, std::shared_ptr<const ModelReading>> readings = {};  // by directory

  std::string directory(const PlannedRun& run) const { return run.directory(out); }
  // The finished runs of a group with this gate, in the order of the plan.
  std::vector<const PlannedRun*> finished(const std::string& group, std::string_view gate) const;
  // How many of them failed.
  size_t failed(const std::string& group, std::string_view gate) const;
  // Error (interrupted) when the engine is asked to stop.
  void check_stop(const std::string& while_doing) const;
};

// Each fills its part of `measured`, once; nothing when its runs are not finished.
void measure_images(Measuring& m);   // curves of section 4.2
void measure_stories(Measuring& m);  // curves of the language models
void measure_samples(Measuring& m);  // what they write
void measure_depth(Measuring& m);
void measure_trust(Measuring& m);          // fidelity of the forms
void measure_spectra(Measuring& m);        // appendix B: shares of the strongest eigenvectors
void measure_similarity(Measuring& m);     // figure 2B
void measure_features(Measuring& m);       // figure 2A
void measure_class_spectra(Measuring& m);  // appendix B: eigenvalues of single classes
void measure_explanation(Measuring& m);
void measure_timing(Measuring& m);
void measure_formulas(Measuring& m);
void measure_matches(Measuring& m);   // figure 2A: pictures and classes
void measure_choices(Measuring& m);   // SQS with other options
void measure_language(Measuring& m);  // readability of the language models

// What the metrics of a finished run say. Error (bad_file) when they are not complete.
RunCurve curve_of(const std::string& directory, const TrainOptions& options);

// One form of a model of section 4.1, measured on the test images.
struct MeasuredForm {
  Fidelity fidelity;
  TruncationCurve cut;
};

// Takes up the times of a GPU, where a file of bench/gpu/appendix_c.py lies in the folder. Error (bad_file) for another one.
inline constexpr const char* kGpuTiming = "gpu-timing.json";
void read_gpu_timing(const std::string& folder, Measured& measured);

// What one model says about its weights: computed once and shared by the parts.
struct ModelReading {
  std::map<Form, MeasuredForm> forms;       // always that of the weights
  std::vector<std::vector<double>> energy;  // [class][k - 1], weights form
  ClassLikeness likeness;                   // of its strongest eigenvectors, weights form
  Controls controls;
};

// The strongest eigenvector for every class as a picture, [classes, pixels].
Matrix<double> top_pictures(const ImageReading& reading, std::span<const UnitForm> units,
                            std::span<const GateTerms> lines);

std::unique_ptr<ImageRun> open_run_of(const Measuring& m, const PlannedRun& run, const std::string& data);
// The first finished SQS run, for pictures. Null when there is none.
std::unique_ptr<ImageRun> open_first_sqs(const Measuring& m, const std::string& data);

// Reads the runs of the plan in OUT/runs; runs that are missing leave gaps. `command` is what the report says
// made it. Times of gates are taken from OUT/timing.json when they are of this machine and version, else
// measured.
Measured measure(const Engine& engine, TrainingData& data, const Plan& plan, const std::vector<Experiment>& experiments,
                 const std::string& out, const std::string& command, const PaperHooks& hooks);

// The median of numbers that come in groups, with a bootstrap interval that keeps the groups together.
struct MedianInterval {
  double median = 0, low = 0, high = 0;  // 95 %
  double least = 0;                      // the lowest of all numbers
};
// groups[i]: the numbers of one direction, one per seed; there must be some. 1000 draws of as many groups as
// there are, always the same ones.
MedianInterval median_interval(const std::vector<std::vector<double>>& groups, uint32_t stream);

}  // namespace glint

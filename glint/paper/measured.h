// What the paper's experiments measured, as plain numbers: the tables, the figures and the verdicts are all
// made from these and from nothing else. measured_file.cc keeps them in a file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/paper/paired.h"
#include "glint/paper/paper_values.h"
#include "glint/report/explain_figure.h"
#include "glint/report/signed_picture.h"

namespace glint {

// Pictures this much alike, by |cosine|, show the same.
inline constexpr double kTwin = 0.9;

// Accuracies whose first step the paper speaks of.
inline constexpr std::array<double, 3> kMilestones = {0.80, 0.85, 0.90};

struct CurvePoint {
  uint64_t step = 0;
  double loss = 0, metric = 0;  // on the test set; metric as in table 1
  double train_loss = 0;        // mean over the epoch so far
};

// One run of the plan: where it comes from, as run.json has it. Of one that is not finished only the first
// five.
struct MeasuredRun {
  std::string path;   // in OUT/runs: "mnist-4.2/sqs/seed-0"
  std::string group;  // "mnist-4.2"
  std::string command;
  std::string state;  // "finished", "failed" (numbers that are not finite) or "not run"
  uint64_t seed = 0;
  uint64_t steps = 0;
  double seconds = 0;
  std::string version = {}, cpu = {}, precision = {}, data_checksum = {};
  bool finished() const { return state == "finished"; }
  bool failed() const { return state == "failed"; }
};

// The curve of one finished training run.
struct RunCurve {
  uint64_t seed = 0;
  std::vector<CurvePoint> points = {};                    // ascending in step
  std::array<CurvePoint, kCheckpoints> at = {};           // table 1
  std::array<uint64_t, kMilestones.size()> reached = {};  // first evaluated step; 0: never
};

struct GateRuns {
  std::string gate;
  std::vector<RunCurve> runs = {};  // one per seed, ascending
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
  std::string norm = "none";         // before every layer: the paper has none
  const GateRuns* find(std::string_view gate) const;
};

enum class Quantity { loss, metric };
// Over the seeds that both gates have.
PairedDifference paired_at(const TaskRuns& task, std::string_view gate, std::string_view rival, Quantity quantity,
                           size_t checkpoint);

// Figure 2B: eigenvectors of SQS against those of the bilinear model of the same seed, by rank.
struct SimilarityCurve {
  std::string data, form, space, measure;            // form of the SQS model: "weights" or "calibrated"
  std::vector<double> mean = {}, sd = {}, min = {};  // [rank]
  std::vector<double> control = {};                  // [rank]: bilinear against bilinear of another seed
  size_t pairs = 0;
  std::vector<double> pair_sd = {}, control_sd = {};  // [rank]: between the means of the pairs
  size_t control_pairs = 0;
  std::string control_text = {};  // what the control is
};

// Appendix B: how much of a class's quadratic form its strongest eigenvectors carry.
struct SpectrumShare {
  std::string data, gate;
  bool trained = true;                        // false: the control, models as they are before the first step
  size_t few = 0, width = 0;                  // eigenvectors counted, of so many
  std::vector<double> energy = {};            // [class]: share of the sum of squared eigenvalues, mean over seeds
  double accuracy_few = 0, accuracy_all = 0;  // of the form with `few` terms per class, and with all
  size_t seeds = 0;
  std::vector<std::vector<double>> energy_by_seed = {};                      // [seed][class]
  std::vector<double> few_accuracy_by_seed = {}, all_accuracy_by_seed = {};  // [seed]
};

// The spectrum of one class in the weights form, its strongest eigenvectors as pictures.
struct ClassSpectrum {
  size_t index = 0;
  std::string name;                 // "3 Dress"
  double r2 = 0;                    // of its logit
  std::vector<double> values = {};  // descending
  std::vector<uint32_t> groups = {};
  std::vector<SignedPicture> positive = {}, negative = {};
};

// Figure 2A and appendix B: the SQS model of the first seed.
struct ModelPictures {
  std::string data;
  PictureSize size;
  double r2 = 0, agreement = 0;  // of the form with the model
  std::vector<ClassSpectrum> classes = {};
};

// Appendix B: one decision of the SQS model of the first seed, in the calibrated form.
struct ExplainedImage {
  std::string data, run;  // run: its directory
  size_t index = 0;       // of the test image
  bool constant = false;  // the head has a bias
  double r2 = 0, agreement = 0;
  Explanation explanation = {};  // without title and note
};

// How far a quadratic form stands for the model.
// Beside the forms stands a control, kLinearMap: the best linear map of the layer's input, which has no
// eigenvectors.
inline constexpr const char* kLinearMap = "linear map";
struct FormTrust {
  std::string data, gate, form;
  std::vector<double> agreement = {}, r2 = {}, correlation = {};  // [seed]
  double accuracy_model = 0, accuracy_form = 0;                   // means
  std::vector<double> accuracy_model_by_seed = {}, accuracy_form_by_seed = {};
  std::vector<double> truncation = {};  // [k]: accuracy with k eigenvectors per class, mean over seeds
  std::vector<double> eigenvectors_agreement = {}, eigenvectors_r2 = {};  // [seed]: without the linear part
  std::vector<double> r2_centred = {}, r2_scaled = {};                    // [seed]
  std::vector<double> even_share = {};                                    // [seed]
  std::vector<double> untrained_agreement = {}, untrained_r2 = {};        // [seed]: the same form of untrained models
};

// Figure 2A: whether the strongest eigenvector for a class looks like that class. The picture is compared
// with the mean image of each class minus the mean of all images, by |cosine|: its sign is free.
struct ClassMatch {
  std::string data, gate;
  size_t classes = 0;
  std::vector<double> matched = {};  // [seed]: share of the classes whose own mean is the most alike
  std::vector<double> cosine = {};   // [seed]: with the own mean, mean over classes
  std::vector<double> twins = {};    // [seed]: pairs of classes whose pictures are alike, |cos| >= kTwin
};

// SQS with other options on the recipe of section 4.1.
struct GateChoice {
  std::string data;
  double lambda = 0, c = 0;
  std::vector<double> loss = {}, accuracy = {};               // [seed], of the model
  std::vector<double> agreement = {}, r2 = {}, matched = {};  // [seed], weights form; matched as above
};

// How far one form of one layer of a language model stands for that layer, along the directions of tokens
// drawn by their frequency: what the eigenvectors alone explain, without any linear part. Two controls stand
// beside the forms: kLinearMap, and kUntrained before the name of a form.
inline constexpr const char* kUntrained = "untrained, ";
struct LanguageLayer {
  std::string data, gate, form;
  size_t layer = 0;  // from 1
  size_t seeds = 0, directions = 0, tokens = 0;
  // Medians over directions and seeds with 95 % bootstrap intervals over directions, and the worst case.
  double r2 = 0, r2_low = 0, r2_high = 0, r2_worst = 0;
  double correlation = 0, correlation_low = 0, correlation_high = 0;
};

// One measured time of the timing table.
struct TimedGate {
  size_t batch = 0, width = 0;
  std::string gate;  // "products": the bare matrix products
  double median_ms = 0, low_ms = 0, high_ms = 0;
  size_t repeats = 0;
};

struct TimingNumbers {
  size_t shapes = 0, fastest = 0;                    // shapes in which SQS was the fastest of the five
  std::vector<std::pair<std::string, double>> over;  // rival, geometric mean of SQS time / its time
  size_t compared = 0, below_products = 0;           // gates of all shapes; measured faster than their own products
};

struct DepthPoint {
  std::string data, gate;
  size_t layers = 0;
  std::vector<double> accuracy = {}, loss = {};  // [seed], at the end
  size_t failed = 0;                             // runs that ended in numbers that are not finite
  uint64_t epochs = 0;
  size_t classes = 0;  // of the data: the loss of a guess is log(classes)
  std::string norm = "none";
};

// One statement of the paper about its formulas, as numbers: formulas.h.
struct FormulaNumber {
  std::string name;
  double value = 0;
};
struct FormulaCheck {
  std::string id;
  std::vector<FormulaNumber> numbers = {};
};

// What a language model wrote.
struct StorySample {
  std::string gate, text;
};

struct Measured {
  std::string what = "all";  // or the name of the one experiment
  bool quick = false;
  size_t seeds = 0;
  std::vector<std::string> images;         // the data sets, in the order of the report
  std::string stories;                     // "tales", or "stories" for a corpus
  std::string out, command;                // the folder, and what made all this
  std::string version, cpu, linalg, date;  // of the measuring
  std::vector<std::string> notices;        // what the reader must know first
  std::vector<MeasuredRun> runs;           // of the whole plan, in its order
  std::vector<TaskRuns> tasks;
  std::vector<SimilarityCurve> similarity;
  std::vector<SpectrumShare> spectra;
  std::vector<FormTrust> trust;
  std::vector<TimedGate> times;
  std::optional<TimingNumbers> timing;  // made from the times
  // From kGpuTiming beside the measured numbers, which bench/gpu/appendix_c.py wrote on another machine; not among them.
  std::string gpu;
  std::vector<TimedGate> gpu_times;
  std::vector<ModelPictures> pictures;  // one per data set
  std::optional<ExplainedImage> explained;
  std::vector<StorySample> samples;
  std::vector<DepthPoint> depth;
  std::vector<FormulaCheck> formulas;
  std::vector<ClassMatch> matches;
  std::vector<GateChoice> choices;
  std::vector<LanguageLayer> language;
  // What the verdicts say of a smaller experiment than the paper's, "fewer epochs"; empty: full scale.
  std::string small_spectra;  // of the models of section 4.1
  std::string small_depth;    // of the study of depth
  const TaskRuns* task(std::string_view data, std::string_view norm = "none") const;
  const ModelPictures* pictures_of(std::string_view data) const;
};

// What was measured, in a file: OUT/measured.json, from which a report can be judged and written again
// without a run.
//
//   {"schema": "glint-measured/1", "what": "all", ..., "sha256": "..."}
//
// Numbers read back as the same doubles, so that the report is the same to the byte.

inline constexpr const char* kMeasuredFile = "measured.json";

// Error (numeric) for a number that is not finite.
void write_measured(FileSystem& files, const std::string& path, const Measured& measured);

// Error (bad_file) for a file that is not there, is damaged, lacks something or has what it must not, and for
// lists whose lengths do not fit each other: what it gives can be judged and written.
Measured read_measured(const std::string& path);

// Whether measured numbers fit together, so that rules, tables and figures may rely on it.

// Error (bad_file) that names what does not fit; `where` is the file.
void check_measured(const Measured& measured, const std::string& where);

// The numbers that the paper prints as if they had been measured here: one seed, its checkpoints alone. The
// rules are applied to them too.

Measured paper_measured();

}  // namespace glint

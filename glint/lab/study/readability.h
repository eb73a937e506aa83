// How readable the weights of runs are: a few numbers per run that order models as looking at their
// eigenvectors does. What each means, and which way is better, is in docs/formats.md and in the help of
// `glint readability`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/direction.h"
#include "glint/spectra/ablation.h"

namespace glint {

struct ReadabilityRequest {
  std::vector<std::string> runs;  // runs, or folders with one run per seed
  RunSource source = {};          // of each; `run` is not looked at
  std::string form = "auto";
  // Language models: from 1 on, none: the last. Image models are read at their last layer.
  std::optional<size_t> layer = {};
  Along along = {};  // language models; none: the most frequent tokens
};
std::vector<Field> fields_of(ReadabilityRequest& request);

struct RunReadability {
  std::string run, model_text, gate, data;
  Form form = Form::weights;
  ModelKind kind = ModelKind::image;
  std::optional<uint64_t> seed = {};
  size_t layer = 0;                          // from 0
  std::vector<std::string> directions = {};  // classes or tokens
  // Image models. The pictures are those of each class's leading eigenvectors (spectra/readability.h).
  std::optional<double> distinct_pictures = {};
  size_t pictures = 0;                 // of how many
  std::optional<double> auc = {};      // mean over the classes
  std::vector<double> class_auc = {};  // NaN for a class without test images
  // Each direction's leading eigenvectors removed: does its output change as the reading says?
  double ablation_r = 0, ablation_slope = 0;  // means over the directions
  std::vector<ChangeFit> ablations = {};      // [directions]
  // How alike the leading eigenvectors are, mean |cos| of their pictures (language: of their products with
  // all token embeddings) over the directions. None where nothing is fitted to data, and where there is no
  // other seed.
  std::optional<double> stability_halves = {}, stability_seeds = {};
  size_t other_seeds = 0;  // runs of the same options with another seed, that it was compared with
};

// Runs that differ in their seed alone, two or more: indices into the runs.
struct SeedGroup {
  std::vector<size_t> runs;
};

struct ReadabilityResult {
  std::string linalg;
  std::vector<RunReadability> runs;
  std::vector<SeedGroup> groups;
};

// Error (usage) without a run.
ReadabilityResult readability(const Engine& engine, const ReadabilityRequest& request);
// Parts of it. For every run of the request, how alike its leading eigenvectors are to those of the others
// that differ in their seed alone; for its first run, those of the form from one half of the data and the
// other.
std::vector<std::optional<double>> seed_stability(const Engine& engine, const ReadabilityRequest& request);
std::optional<double> half_stability(const Engine& engine, const ReadabilityRequest& request);
// "schema": "glint-readability/1".
OrderedJson to_json(const ReadabilityResult& result);

}  // namespace glint

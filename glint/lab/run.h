// A trained model and its data, from a run directory or from a folder with config.json and model.safetensors.
//
//   glint::Run run(engine, {.run = "runs/first"});   // an image or a language model: run.kind() says which
//   glint::Reading r = glint::read(run.reading(), directions, run.lines("weights")[0], run.measured(0));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/io/json.h"
#include "glint/lab/engine.h"
#include "glint/model/config_file.h"
#include "glint/model/language_file.h"
#include "glint/model/model_file.h"
#include "glint/spectra/image_reading.h"
#include "glint/spectra/language_reading.h"

namespace glint {

// What every finished run says of itself.
struct RunInfo {
  std::string directory;
  std::string precision = "f32";  // that it was trained and measured in
  std::string data_checksum;      // "" when the run does not say
  Json run;                       // run.json; null in a folder that has none
  bool sealed = true;             // false: run.json of an earlier version, without checksums
};
// Error (bad_file) for what is no run directory or is damaged, and for a run that is not finished, with the
// call that resumes it. The weights are looked at when they are loaded.
RunInfo open_run(const std::string& directory);

// Says what the user should know of the run: that it has no checksums, that its weights are damaged and those
// of a checkpoint are used.

struct LoadedRun : RunInfo {
  ImageModel model;
};
LoadedRun load_run(const Engine& engine, const std::string& directory);

// A language model, with the tokenizer that lies beside it.
struct LanguageRun : RunInfo {
  LanguageModel model;
  Tokenizer tokenizer;
};
LanguageRun load_language_run(const Engine& engine, const std::string& directory);

// `name_or_dir`, or when it is empty the data that the run was trained on; checked as below.
Dataset load_run_data(const Engine& engine, const LoadedRun& run, const std::string& name_or_dir,
                      const DataOptions& options);
// Error when the samples have another size than the model's, or a label that it does not know; a note when
// they are the run's `own` and have changed since.
void check_run_data(const Engine& engine, const LoadedRun& run, const Dataset& data, bool own);

// The same for stories: `name_or_dir`, or the corpus of the run. Error when another tokenizer made it.
TextData load_run_text(const Engine& engine, const LanguageRun& run, const std::string& name_or_dir);

// "sqs, 1 layer, width 256, 334336 parameters".
std::string model_text(const ImageModel& model);
std::string model_text(const LanguageModel& model);

// Text from a file, for the terminal: without control characters.
std::string printable(std::string text);

// What to open, and the data to measure on: "" takes those that it was trained on. A program that has them in
// memory (data/arrays.h) gives them as `images`, and `data` is not looked at.
struct RunSource {
  std::string run, data = {}, data_dir = {};
  std::shared_ptr<const Dataset> images = {};
  bool refine = false;  // the scaled form refined: spectra/refine.h; image models that have that form
};

class Run {
 public:
  // `engine` is kept. Errors as open_run, and (usage) where there is nothing to refine. Runs on the same
  // images share them: `data` are those of another run, or null.
  Run(const Engine& engine, const RunSource& source, std::shared_ptr<const Dataset> data = nullptr);
  virtual ~Run() = default;

  const RunInfo& info() const;
  const std::string& directory() const { return info().directory; }
  ModelKind kind() const { return image_ ? ModelKind::image : ModelKind::language; }
  std::string text() const;  // "sqs, 1 layer, width 256, 334336 parameters"
  Json config() const;       // of the model
  GateKind gate() const;
  const std::string& trained_on() const;  // the name of its data

  // The model, for reading. The other kind of model is an Error (bad_file).
  const GluModel& reading() const { return *reading_; }
  const LoadedRun& image() const;
  const LanguageRun& language() const;
  const ImageReading& image_reading() const;
  const LanguageReading& language_reading() const;

  // Its data, loaded when they are first asked for.
  const Dataset& images();
  std::shared_ptr<const Dataset> share_images();
  const TextData& stories();
  const std::string& data_name();
  const std::string& data_checksum();
  // What a layer sees on the data that readings are measured on: the test images; the first validation
  // stories, about LanguageReading::kFidelityTokens tokens.
  Activations measured(size_t layer);
  // What it sees on data that none of those are: kFitted of the training images, evenly spaced, or tokens of
  // the first training stories. For fits of controls.
  static constexpr size_t kFitted = 10000;
  Activations fitted(size_t layer);
  // The same configuration and data with fresh weights, those of seed 0: a control. Made when it is first
  // asked for; its calibration is measured on kTwinSamples images or tokens and is not stored.
  static constexpr size_t kTwinSamples = 5000;
  Run& untrained();

  // From calibration.safetensors of the run when that fits its weights; otherwise measured on the training
  // data and stored there when those are the run's (a note when not, and when the directory cannot be
  // written). What a file of an earlier version lacks is added to it.
  const StoredCalibration& calibration();
  // Whether the model has the scaled form: spectra/scaled.h.
  bool has_scaled() const;
  // The form that is meant: for "auto" the scaled one where the gate is odd, the calibrated one for other
  // gates, and that of the weights where the data of the run are not at hand; any other name as it is. Error
  // (usage) for "scaled" where the model has none.
  std::string form(const std::string& asked);
  // The forms that this model has and that data are read by: weights, scaled, calibrated.
  std::vector<std::string> forms() const;
  // "weights", "scaled" (refined where the source says so) or "calibrated", of every layer.
  std::vector<GateLine> lines(const std::string& form);

  // Image models: printable names of the classes; "3 Dress", or "3" where that is the name.
  std::vector<std::string> class_names() const;
  std::string class_text(size_t c) const;
  // Language models: a piece as people read it, "·happy" where a word begins; what the GLU of a layer reads
  // on validation stories, about so many tokens.
  std::string piece(TokenId token) const;
  Matrix<float> inputs(size_t layer, size_t tokens);

 private:
  struct Twin {
    Run& of;
  };
  explicit Run(Twin twin);

  const Engine& engine_;
  RunSource source_;
  std::unique_ptr<LoadedRun> image_;
  std::unique_ptr<LanguageRun> language_;
  std::unique_ptr<GluModel> reading_;
  std::shared_ptr<const Dataset> images_;
  std::shared_ptr<TextData> stories_;
  std::unique_ptr<StoredCalibration> calibration_;
  std::unique_ptr<Run> untrained_;
};

}  // namespace glint

// A trained model and its data, from a run directory, from a folder with config.json and model.safetensors,
// or a language model of another program (foreign.h) from its file or folder.
//
//   glint::Run run(engine, {.run = "runs/first"});   // an image or a language model: run.kind() says which
//   glint::Reading r = glint::read(run.reading(), directions, run.lines("weights")[0], run.measured(0));
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/data/text_batches.h"
#include "glint/data/text_data.h"
#include "glint/io/json.h"
#include "glint/lab/engine.h"
#include "glint/lab/foreign.h"
#include "glint/model/config_file.h"
#include "glint/model/language_file.h"
#include "glint/model/model_file.h"
#include "glint/spectra/image_reading.h"
#include "glint/spectra/token_model.h"

namespace glint {

// What every finished run says of itself.
struct RunInfo {
  std::string directory;
  std::string precision = "f32";  // that it was trained and measured in
  std::string data_checksum;      // "" when the run does not say
  Json run;                       // run.json; null in a folder that has none
};
// Error (bad_file) for what is no run directory or is damaged, and for a run that is not finished, with the
// call that resumes it. The weights are looked at when they are loaded.
RunInfo open_run(const std::string& directory);

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

// A language model of another program. It was trained on nothing that glint knows.
struct ForeignRun : RunInfo {
  ForeignModel model;
  std::string trained_on = {};
};

// What a path opens as. Errors as open_run.
ModelKind run_kind(const std::string& path);

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

// What to open, and the data to measure on: "" takes those that it was trained on, for a language model of
// another program the built-in tales. A language model also takes a file with text (reading_text.h). A
// program that has images in memory (data/arrays.h) gives them as `images`, and `data` is not looked at.
struct RunSource {
  std::string run, data = {}, data_dir = {};
  std::shared_ptr<const Dataset> images = {};
  bool refine = false;         // the scaled form refined: spectra/refine.h; image models that have that form
  std::string tokenizer = {};  // models of other programs: a file instead of their own
  std::string expert = {};     // of a mixture of experts: its number from 1 on, or "shared"
  size_t tokens = 0;           // language models: Run::tokens; 0: as many as is usual
};

class Run {
 public:
  // `engine` is kept. Errors as open_run, and (usage) where there is nothing to refine. Runs on the same
  // images share them: `data` are those of another run, or null.
  Run(const Engine& engine, const RunSource& source, std::shared_ptr<const Dataset> data = nullptr);
  virtual ~Run() = default;

  const RunInfo& info() const;
  const std::string& directory() const { return info().directory; }
  // Where results go when the caller does not say: the run itself; of a model of another program NAME-reading
  // in the current folder.
  std::string results() const;
  ModelKind kind() const { return image_ ? ModelKind::image : ModelKind::language; }
  std::string text() const;  // "sqs, 1 layer, width 256, 334336 parameters"
  Json config() const;       // of the model
  GateKind gate() const;
  const std::string& trained_on() const;  // the name of its data

  // The model, for reading. The other kind of model is an Error (bad_file).
  const GluModel& reading() const { return *reading_; }
  const LoadedRun& image() const;
  const ImageReading& image_reading() const;
  // Any language model.
  const TokenModel& token_model() const;
  bool has_tokenizer() const { return !foreign_ || !foreign_->model.tokenizer.empty(); }
  const Tokenizer& tokenizer() const;  // Error (bad_file) where a model of another program has none
  // Whether another program made it; then foreign_run() is the model, otherwise language() is.
  bool foreign() const { return foreign_ != nullptr; }
  // A mixture of experts is not run: there is nothing to measure on, and the form is that of the weights.
  bool mixture() const { return foreign_ && foreign_->model.model.mixture(); }
  const ForeignRun& foreign_run() const;
  const LanguageRun& language() const;

  // Its data, loaded when they are first asked for.
  const Dataset& images();
  std::shared_ptr<const Dataset> share_images();
  // Of a language model: `train` calibrates, readings are measured on `valid`. `samples` says what `valid`
  // is: "validation stories", "the built-in tales", the name of a file.
  const TextData& stories();
  std::string samples() const;
  const std::string& data_name();
  const std::string& data_checksum();
  // Makes rows of stories as the model reads them.
  TextRows rows() const;
  // Of how many tokens the first stories calibrate (a run's own calibration: kCalibrationTokens), and of how
  // many readings are measured on: kFidelityTokens; of a model of another program 4000, for models of more
  // than 100 million parameters fewer, down to 500.
  size_t tokens() const;
  // What a layer sees on the data that readings are measured on: the test images; the first validation
  // stories, about tokens() tokens.
  Activations measured(size_t layer);
  // What it sees on data that none of those are: kFitted of the training images, evenly spaced, or tokens of
  // the first training stories. For fits of controls.
  static constexpr size_t kFitted = 10000;
  Activations fitted(size_t layer);
  // The same configuration and data with fresh weights, those of seed 0: a control. Of a model of another
  // program every matrix is redrawn (model/redrawn.h), which takes memory: beyond kTwinBytes there is none.
  // Made when it is first asked for; its calibration is measured on kTwinSamples images or tokens and is not
  // stored.
  static constexpr size_t kTwinSamples = 5000;
  static constexpr uint64_t kTwinBytes = uint64_t{2} << 30;
  bool has_untrained() const;
  std::string untrained_text() const;  // what it is: "an untrained model", "the model with redrawn matrices"
  Run& untrained();

  // From calibration.safetensors of the run when that fits its weights; otherwise measured on the training
  // data and stored there when those are the run's (a note when not, and when the directory cannot be
  // written). The refined form is added to it when it is first asked for. That of a model of another program is
  // measured layer by layer and not stored.
  const StoredCalibration& calibration();
  // Of one layer: of what kind it is, and of how many images or tokens.
  struct CalibrationInfo {
    Calibration kind;
    size_t inputs;
  };
  CalibrationInfo calibration_info(size_t layer);
  // Whether the model has the scaled form: spectra/scaled.h.
  bool has_scaled() const;
  // Why there is nothing to measure on: a mixture of experts is not run, or the data of the run are not at
  // hand; "": there is. Data that somebody asked for have to be there.
  std::string unmeasured();
  // The form that is meant: for "auto" the scaled one where the gate is odd, the calibrated one for other
  // gates, and that of the weights where nothing can be measured; any other name as it is. Error
  // (usage) for "scaled" where the model has none.
  std::string form(const std::string& asked);
  // The forms that this model has and that data are read by: weights, scaled, calibrated.
  std::vector<std::string> forms() const;
  // "weights", "scaled" (refined where the source says so) or "calibrated", of every layer, and of one layer,
  // which alone is then calibrated where that is possible.
  std::vector<GateLine> lines(const std::string& form);
  GateLine line(const std::string& form, size_t layer);

  // Image models: printable names of the classes; "3 Dress", or "3" where that is the name.
  std::vector<std::string> class_names() const;
  std::string class_text(size_t c) const;
  // Language models: a piece as people read it, "·happy" where a word begins, "#300" where the tokenizer has
  // none; what the GLU of a layer reads on validation stories, about so many tokens.
  std::string piece(TokenId token) const;
  Matrix<float> inputs(size_t layer, size_t tokens);

 private:
  struct Twin {
    Run& of;
  };
  explicit Run(Twin twin);
  bool own_text() const;  // read on a text or on tales, not on the corpus of a run
  const TokenModel::Lines& foreign_lines(size_t layer);
  void check_form_name(const std::string& form) const;

  const Engine& engine_;
  RunSource source_;
  std::unique_ptr<LoadedRun> image_;
  std::unique_ptr<LanguageRun> language_;
  std::unique_ptr<ForeignRun> foreign_;
  std::unique_ptr<GluModel> reading_;
  std::shared_ptr<const Dataset> images_;
  std::shared_ptr<TextData> stories_;
  std::unique_ptr<StoredCalibration> calibration_;
  std::map<size_t, TokenModel::Lines> foreign_lines_;  // of layers
  std::unique_ptr<Run> untrained_;
};

}  // namespace glint

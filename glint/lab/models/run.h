// An open model with its data, the one thing that every call of lab takes. It is opened once: from a run
// directory, from a folder with config.json and model.safetensors, or from the file or folder of a language
// model of another program. What is computed of it (text, calibration, what layers read) is computed once.
//
//   const auto run = glint::open_run(engine, {.run = "runs/first"});
//   glint::Reading r = glint::read(run->reading(), directions, run->line(Form::weights, 0), run->measured(0));
//
// image_run.h and language_run.h are the two kinds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/io/fields.h"
#include "glint/io/json.h"
#include "glint/lab/work/engine.h"
#include "glint/model/config_file.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/glu_model.h"

namespace glint {

// What every finished run says of itself.
struct RunInfo {
  std::string directory;
  std::string precision = "f32";   // that it was trained and measured in
  std::string data_checksum = {};  // "" when the run does not say
  Json run = {};                   // run.json; null in a folder that has none
};
// Error (bad_file) for what is no run directory or is damaged, and for a run that is not finished, with the
// call that resumes it. The weights are looked at when they are loaded.
RunInfo run_info(const std::string& directory);

// What to open, and the data to measure on: "" takes those that it was trained on, for a language model of
// another program the built-in tales. A language model also takes a file with text (model_stories.h). A
// program that has images in memory (data/arrays.h) gives them as `images`, and `data` is not looked at.
struct RunSource {
  std::string run = {}, data = {}, data_dir = {};
  std::string text = {};  // language models: a file to read on instead of `data`
  std::shared_ptr<const Dataset> images = {};
  bool refine = false;         // the scaled form refined: spectra/refine.h; image models that have that form
  std::string tokenizer = {};  // models of other programs: a file instead of their own
  std::string expert = {};     // of a mixture of experts: its number from 1 on, or "shared"
  size_t tokens = 0;           // language models: LanguageRun::tokens; 0: as many as is usual
  bool operator==(const RunSource&) const = default;
};

std::vector<Field> fields_of(RunSource& source);

class ImageRun;
class LanguageRun;

class Run {
 public:
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const RunInfo& info() const { return info_; }
  // What was opened; `text` is then its data.
  const RunSource& source() const { return source_; }
  const std::string& directory() const { return info_.directory; }
  // Where results go when the caller does not say: the run itself; of a model of another program NAME-reading
  // in the current folder.
  virtual std::string results() const { return directory(); }
  virtual ModelKind kind() const = 0;
  virtual bool foreign() const { return false; }  // a model of another program
  virtual std::string text() const = 0;           // "sqs, 1 layer, width 256, 334336 parameters"
  virtual Json config() const = 0;                // of the model
  virtual GateKind gate() const = 0;
  virtual const std::string& trained_on() const = 0;  // the name of its data
  virtual const GluModel& reading() const = 0;        // the model, for reading
  // The same model, of which no file is opened again, with what else `source` says: other data, an expert.
  virtual std::unique_ptr<Run> again(const Engine& engine, const RunSource& source) const = 0;
  // The run of one kind; the other is an Error (bad_file).
  ImageRun& image();
  const ImageRun& image() const;
  LanguageRun& language();
  const LanguageRun& language() const;

  // Its data, loaded when they are first asked for.
  virtual const std::string& data_name() = 0;
  virtual const std::string& data_checksum() = 0;
  // What a layer sees on the data that readings are measured on: the test images; the first validation
  // stories, about tokens() tokens.
  virtual Activations measured(size_t layer) = 0;
  // What it sees on data that none of those are: kFitted of the training images, evenly spaced, or tokens of
  // the first training stories. For fits of controls.
  static constexpr size_t kFitted = 10000;
  virtual Activations fitted(size_t layer) = 0;
  // The same configuration and data with fresh weights: a control, made when it is first asked for. Of glint's
  // own models the weights are those of seed 0, of others every matrix is redrawn (model/redrawn.h). Its
  // calibration is measured on kTwinSamples images or tokens and is not stored.
  static constexpr size_t kTwinSamples = 5000;
  virtual bool has_untrained() const { return true; }
  virtual std::string untrained_text() const { return "an untrained model"; }
  Run& untrained();

  // The forms that this model has and that data are read by.
  virtual bool has(Form form) const { return has_form(reading(), form); }
  std::vector<Form> forms() const;
  // Why there is nothing to measure on: a mixture of experts is not run, or the data of the run are not at
  // hand; "": there is. Data that somebody asked for have to be there.
  virtual std::string unmeasured();
  // The form that is meant by a word; "auto" is default_form, and that of the weights where nothing can be
  // measured. Error (usage) for one that the model has not.
  Form form(const std::string& asked, FormNeeds most = FormNeeds::data);
  // Of every layer; of one layer, which alone is then calibrated where that is possible. The scaled form is
  // refined where the source says so.
  virtual std::vector<GateTerms> lines(Form form);
  virtual GateTerms line(Form form, size_t layer) { return lines(form)[layer]; }
  // Fitted to the training data: from calibration.safetensors of the run when that fits its weights; otherwise
  // measured, and stored there when the data are the run's (a note when not, and when the directory cannot be
  // written).
  const StoredCalibration& calibration();
  // Of one layer: of what kind it is, and of how many images or tokens.
  struct CalibrationInfo {
    Calibration kind = Calibration::affine;
    size_t inputs = 0;
  };
  virtual CalibrationInfo calibration_info(size_t layer);

 protected:
  // Keeps the engine.
  Run(const Engine& engine, const RunSource& source, RunInfo info);
  virtual std::unique_ptr<Run> make_untrained() = 0;
  virtual StoredCalibration measure_calibration() = 0;
  // Adds what the source asks for and a stored one lacks; whether that was anything.
  virtual bool complete(StoredCalibration&) { return false; }

  const Engine& engine_;
  RunSource source_;
  RunInfo info_;
  std::unique_ptr<StoredCalibration> calibration_;
  bool stored_ = true;  // false: no calibration is read from a file or written

 private:
  StoredCalibration stored_or_measured();
  void keep(const std::string& path, const StoredCalibration& calibration);
  void check_has(Form form) const;
  std::unique_ptr<Run> untrained_;
};

// The fields of a request in their ranges, and nothing asked of this model that only the other kind has.
template <class Request>
void check_request(const Request& request, const Run& run) {
  check_request(request, {.language = run.kind() == ModelKind::language, .foreign = run.foreign()}, run.directory());
}

// What a path opens as. Errors as run_info.
ModelKind run_kind(const std::string& path);

// Errors as run_info, and (usage) where there is nothing to refine. Runs on the same images share them:
// `data` are those of another run, or null. The second and third refuse the other kind before they load it.
std::unique_ptr<Run> open_run(const Engine& engine, const RunSource& source,
                              std::shared_ptr<const Dataset> data = nullptr);
std::unique_ptr<ImageRun> open_image_run(const Engine& engine, const RunSource& source,
                                         std::shared_ptr<const Dataset> data = nullptr);
std::unique_ptr<LanguageRun> open_language_run(const Engine& engine, const RunSource& source);

}  // namespace glint

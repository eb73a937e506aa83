// A run opened for reading its weights: the model, its data, and its calibration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/lab/run.h"
#include "glint/lab/engine.h"
#include "glint/spectra/image_reading.h"
#include "glint/spectra/language_reading.h"

namespace glint {

// What every reading of weights is asked with.
struct ReadingOptions {
  std::string run, data, data_dir;
};

class OpenedRun {
 public:
  // `engine` is kept. Data are loaded once: runs on the same set share `data`.
  OpenedRun(const Engine& engine, const ReadingOptions& options,
            std::shared_ptr<const Dataset> data = nullptr);

  const LoadedRun& run() const { return run_; }
  const ImageModel& model() const { return run_.model; }
  const ImageReading& reading() const { return reading_; }
  const Dataset& data() const { return *data_; }
  std::shared_ptr<const Dataset> share_data() const { return data_; }
  std::vector<std::string> class_names() const;  // printable
  std::string class_text(size_t c) const;        // "3 Dress", or "3" where that is the name

  // From calibration.safetensors of the run when that fits its weights; otherwise measured on the training
  // images and stored there (a note when the directory cannot be written).
  const StoredCalibration& calibration();
  // "weights" or "calibrated", of every layer.
  std::vector<GateLine> lines(const std::string& form);

 private:
  const Engine& engine_;
  LoadedRun run_;
  ImageReading reading_;
  std::shared_ptr<const Dataset> data_;
  std::unique_ptr<StoredCalibration> calibration_;
};

// A language run opened for reading its weights.
class OpenedLanguageRun {
 public:
  OpenedLanguageRun(const Engine& engine, const std::string& directory,
                    const std::string& data);
  const LanguageRun& run() const { return run_; }
  const LanguageReading& reading() const { return reading_; }
  const TextData& data() const { return data_; }
  // As OpenedRun::calibration, from training stories.
  const StoredCalibration& calibration();
  std::vector<GateLine> lines(const std::string& form);
  // What the GLU of a layer reads on validation stories, about so many tokens.
  Matrix<float> inputs(size_t layer, size_t tokens) const;
  // A piece as people read it: "·happy" where a word begins.
  std::string piece(TokenId token) const;

 private:
  const Engine& engine_;
  LanguageRun run_;
  LanguageReading reading_;
  TextData data_;
  std::unique_ptr<StoredCalibration> calibration_;
};

// The calibration stored in a run directory when it is that of the weights, else what `measure` gives. That
// is stored when `data_checksum` is the data that the run was trained on; otherwise, and when it cannot be
// written, a note.
StoredCalibration stored_or_measured(const Engine& engine, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure);

// The run's files that verbs write beside it: DIR/figures, made when it is not there.
std::string figures_directory(const std::string& directory);

}  // namespace glint

// A run opened for reading its weights: the model, its data, and its calibration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/cli/load_run.h"
#include "glint/lab/engine.h"
#include "glint/spectra/image_reading.h"

namespace glint::cli {

// The options that every verb that reads weights has.
struct ReadingOptions {
  std::string run, data, data_dir;
};
void add_reading_options(Verb& verb, ReadingOptions& options);

class OpenedRun {
 public:
  // `engine` and `context` are kept. Data are loaded once: runs on the same set share `data`.
  OpenedRun(const Context& context, const Engine& engine, const ReadingOptions& options,
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
  const Context& context_;
  LoadedRun run_;
  ImageReading reading_;
  std::shared_ptr<const Dataset> data_;
  std::unique_ptr<StoredCalibration> calibration_;
};

// The calibration stored in a run directory when it is that of the weights, else what `measure` gives. That
// is stored when `data_checksum` is the data that the run was trained on; otherwise, and when it cannot be
// written, a note.
StoredCalibration stored_or_measured(const Context& context, const RunInfo& run,
                                     const std::string& data_checksum, const std::vector<size_t>& hidden,
                                     const std::string& weights_hash,
                                     const std::function<StoredCalibration()>& measure);

// The run's files that verbs write beside it: DIR/figures, made when it is not there.
std::string figures_directory(const Context& context, const std::string& directory);

}  // namespace glint::cli

// An open image model, and its images.
#pragma once

#include "glint/lab/models/run.h"
#include "glint/model/model_file.h"
#include "glint/spectra/image_reading.h"

namespace glint {

class ImageRun : public Run {
 public:
  // For open_image_run.
  ImageRun(const Engine& engine, const RunSource& source, RunInfo info, ImageModel model,
           std::shared_ptr<const Dataset> data);

  ModelKind kind() const override { return ModelKind::image; }
  std::string text() const override;
  Json config() const override;
  GateKind gate() const override { return model_.config.gate.kind; }
  const std::string& trained_on() const override { return model_.data; }
  const ImageReading& reading() const override { return reading_; }
  std::unique_ptr<Run> again(const Engine& engine, const RunSource& source) const override;
  const ImageModel& model() const { return model_; }

  const Dataset& images() { return *share_images(); }
  std::shared_ptr<const Dataset> share_images();
  const std::string& data_name() override { return images().name; }
  const std::string& data_checksum() override { return images().checksum; }
  Activations measured(size_t layer) override;
  Activations fitted(size_t layer) override;
  std::vector<GateTerms> lines(Form form) override;

  // Printable names of the classes; "3 Dress", or "3" where that is the name.
  std::vector<std::string> class_names() const;
  std::string class_text(size_t c) const;

 private:
  std::unique_ptr<Run> make_untrained() override;
  StoredCalibration measure_calibration() override;
  bool complete(StoredCalibration& calibration) override;
  // Error when the samples have another size than the model's, or a label that it does not know; a note when
  // they are the run's `own` and have changed since.
  void check_data(const Dataset& data, bool own) const;

  ImageModel model_;
  ImageReading reading_;
  std::shared_ptr<const Dataset> images_;
};

}  // namespace glint

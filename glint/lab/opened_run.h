// Runs of one kind, with their data loaded: thin names for `Run` (lab/run.h), which reads both kinds.
#pragma once

#include <memory>
#include <string>

#include "glint/lab/run.h"

namespace glint {

using ReadingOptions = RunSource;

// A run on images. Error (bad_file) for a language model.
class OpenedRun : public Run {
 public:
  OpenedRun(const Engine& engine, const ReadingOptions& options,
            std::shared_ptr<const Dataset> data = nullptr);
  const LoadedRun& run() const { return image(); }
  const ImageModel& model() const { return image().model; }
  const ImageReading& reading() const { return image_reading(); }
  const Dataset& data() const { return *data_; }
  std::shared_ptr<const Dataset> share_data() const { return data_; }

 private:
  std::shared_ptr<const Dataset> data_;
};

// A run on stories. Error (bad_file) for an image model.
class OpenedLanguageRun : public Run {
 public:
  OpenedLanguageRun(const Engine& engine, const std::string& directory, const std::string& data);
  const LanguageRun& run() const { return language(); }
  const LanguageReading& reading() const { return language_reading(); }
  const TextData& data() const { return *data_; }

 private:
  const TextData* data_;
};

// The run's files that are written beside it: DIR/figures, made when it is not there.
std::string figures_directory(const std::string& directory);

}  // namespace glint

// The part of `glint spectrum` for language models: the GLU of a layer, with tokens as its outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "glint/cli/load_run.h"
#include "glint/lab/engine.h"
#include "glint/spectra/language_reading.h"

namespace glint::cli {

// A language run opened for reading its weights.
class OpenedLanguageRun {
 public:
  OpenedLanguageRun(const Context& context, const Engine& engine, const std::string& directory,
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
  const Context& context_;
  LanguageRun run_;
  LanguageReading reading_;
  TextData data_;
  std::unique_ptr<StoredCalibration> calibration_;
};

struct LanguageSpectrumOptions {
  std::string run, data, form = "calibrated";
  std::string token, direction;
  std::string hidden;  // the number of a hidden unit from 1 on, or a .npy file; "": not asked for
  bool scan = false, no_figures = false;
  size_t layer = 0;  // from 1 on; 0: the last
  size_t top = 0, show = 4, near = 8;
};
void language_spectrum(Context& context, const LanguageSpectrumOptions& options);

}  // namespace glint::cli

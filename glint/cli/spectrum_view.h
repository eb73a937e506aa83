// What `glint spectrum` found, and its three faces: terminal, JSON, figures.
#pragma once

#include <nlohmann/json.hpp>

#include "glint/cli/figure_files.h"
#include "glint/cli/opened_run.h"
#include "glint/cli/picture.h"
#include "glint/report/signed_picture.h"

namespace glint::cli {

struct ShownPictures {
  std::vector<SignedPicture> positive, negative;  // strongest first
};

struct SpectrumResult {
  Units units;
  std::string form;  // of what follows
  std::vector<UnitForm> forms;
  std::vector<double> r2;  // of each unit
  std::vector<ShownPictures> shown;
  bool whole_model = false;  // the last layer: fidelity is that of all classes
  Fidelity weights, calibrated;
  LocalError local;
  TruncationCurve cut_weights, cut_calibrated;  // only for the whole model
  SharedDirections shared;                      // empty for a single unit
  std::vector<SignedPicture> shared_pictures;   // of the first
};

std::string spectrum_text(OpenedRun& run, const SpectrumResult& result, const Drawing& drawing);
nlohmann::ordered_json spectrum_json(OpenedRun& run, const SpectrumResult& result);
// Stems begin with `directory`/.
std::vector<FigureFile> spectrum_figures(OpenedRun& run, const SpectrumResult& result,
                                         const std::string& directory);

// "97.6", or "-" for what is not a number.
std::string percent_text(double share, int decimals);
// How a calibration was made: "joint lines on 20000 training images".
std::string calibration_text(OpenedRun& run);

}  // namespace glint::cli

// What `glint spectrum` found, and its three faces: terminal, JSON, figures.
#pragma once

#include <nlohmann/json.hpp>

#include "glint/lab/figures.h"
#include "glint/lab/opened_run.h"
#include "glint/cli/picture.h"
#include "glint/report/signed_picture.h"

namespace glint::cli {

struct ShownPictures {
  std::vector<SignedPicture> positive, negative;  // strongest first
};

struct SpectrumResult {
  Units units;
  std::string form;  // of what follows
  // What file names say: the units asked for, and empty for all classes of the last layer.
  std::string asked = {};
  std::vector<UnitForm> forms;
  std::vector<double> r2;  // of each unit
  std::vector<ShownPictures> shown;
  bool whole_model = false;  // the last layer: fidelity is that of all classes
  Fidelity weights, calibrated;
  LocalError local;
  TruncationCurve cut_weights, cut_calibrated;  // only for the whole model
  bool linear_calibrated = false;               // the calibrated form has a linear part; `weights` has none
  SharedDirections shared;                      // empty for a single unit
  std::vector<SignedPicture> shared_pictures;   // of the first
};

std::string spectrum_text(OpenedRun& run, const SpectrumResult& result, const Drawing& drawing);
nlohmann::ordered_json spectrum_json(OpenedRun& run, const SpectrumResult& result);
// What stands in the names of files behind "spectra", "features" and so on: "" for all classes of the last
// layer in the calibrated form, "-3-minus-5-weights-layer-1" for others.
std::string file_tag(const SpectrumResult& result);
// Stems begin with `directory`/.
std::vector<FigureFile> spectrum_figures(OpenedRun& run, const SpectrumResult& result,
                                         const std::string& directory);

// "97.6", or "-" for what is not a number.
std::string percent_text(double share, int decimals);
// How a calibration was made: "joint lines on 20000 training images".
std::string calibration_text(OpenedRun& run);

}  // namespace glint::cli

// The lines that stand for the gates of a layer in its calibrated form, and the file that keeps them beside
// the model together with those of the scaled form (spectra/scaled.h). All are measured once, on data.
//
//   gain    a unit's own line through 0, each point weighted by r^2, as its error enters the output:
//           gain = E[r^2 gate(l) l] / E[r^2 l^2]
//   affine  the same with a shift, for gates that are not odd (ReLU, GELU, SiLU)
//   joint   gains and shifts of all units together, such that the squared error of the outputs themselves is
//           smallest: errors of units that an output adds up may cancel. A ridge holds it near `affine`.
// docs/decisions.md has how well each reads the trained models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/base/file.h"
#include "glint/spectra/forms.h"

namespace glint {

class GluModel;

enum class Calibration { gain, affine, joint };
std::string_view name(Calibration calibration);

// x [n, d]: inputs of the layer. A unit that the data never moves (r l = 0 everywhere) keeps gain 1. The
// affine line of a unit whose l hardly varies is that of `gain`.
GateTerms calibrated_form(const LayerReader& reader, ConstMatrixView<float> x, Calibration calibration);

// `joint`, for outputs with these hidden weights [units, h].
GateTerms joint_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x);
// Beyond this many hidden units the joint fit would take minutes; callers take `affine`.
inline constexpr size_t kJointUnits = 1024;

// The best of the three: `joint` where the outputs of the layer are known and it is not too wide, else
// `affine`.
Calibration best_kind(const GluLayerView& layer, ConstMatrixView<double> outputs);
GateTerms best_line(const LayerReader& reader, ConstMatrixView<double> outputs, ConstMatrixView<float> x);

// All layers of one model. `model` is the SHA-256 of its weights: the lines of other weights mean nothing.
struct StoredCalibration {
  std::string model, data;  // data: checksum of the set that it was measured on
  uint64_t inputs = 0;      // how many samples
  // Of every form that is fitted to data, for every layer; empty where the model has no such form.
  PerForm<std::vector<GateTerms>> terms = {};
  std::vector<Calibration> kinds = {};  // of the calibrated form
  std::vector<GateTerms> refined = {};  // the scaled form after spectra/refine.h; empty: nobody asked for it
  std::string linalg = {};              // what computed it, as LinearAlgebra::description
};

// Fits every form that is fitted to data to inputs of one layer [n, d], and adds them.
void add_layer(const GluModel& model, size_t layer, ConstMatrixView<float> x, StoredCalibration& calibration);

void save_calibration(FileSystem& files, const std::string& path, const StoredCalibration& calibration);
// Error (bad_file) for what is damaged, or no calibration of a model with so many hidden units in its layers.
StoredCalibration load_calibration(const std::string& path, std::span<const size_t> hidden);

}  // namespace glint

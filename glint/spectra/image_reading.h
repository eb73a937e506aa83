// A trained image model opened for reading: each of its GLU layers as "layer + output directions + input
// map", what the layer sees on images, and the pictures of eigenvectors. Everything that shows a model builds
// on this.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/model/model_file.h"
#include "glint/nn/compute.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/measures.h"

namespace glint {

// Output directions of one layer.
struct Units {
  size_t layer = 0;
  std::vector<std::string> names;
  Matrix<double> weights;        // [units, h] of the layer
  std::vector<float> constants;  // [units], or empty
  bool decisions = false;        // the units are all classes: their largest is what the model decides
  size_t count() const { return names.size(); }
};

// A model's own pass over images.
struct ImagePass {
  Matrix<float> inputs;  // [n, d]: what the layer reads
  Matrix<float> logits;  // [n, classes]
  Matrix<double>
      around;  // [n, classes]: what reaches the logits past the last layer; empty without a residual
};

// Units read through one form, and how far to trust it.
struct FormReading {
  std::vector<UnitForm> units;
  Fidelity fidelity;  // against the model's logits for classes, else against the layer's own outputs
};

// How far the local form, the exact one, is from the model: what rounding leaves.
struct LocalError {
  double largest = 0;  // |value - the model's own|
  double scale = 0;    // the largest |own value|
  size_t inputs = 0;
};

class ImageReading {
 public:
  // Keeps references. The weights must be those of the configuration: load_image_model checks that.
  ImageReading(const ImageModel& model, const Compute& compute, const LinearAlgebra& linalg);

  const ImageModel& model() const { return model_; }
  const LinearAlgebra& linalg() const { return linalg_; }
  ThreadPool& pool() const { return compute_.pool; }
  size_t layers() const { return model_.config.layers; }
  size_t last() const { return layers() - 1; }
  GluLayerView layer(size_t i) const;
  // From pixels to the input of layer 0; with a norm, to that input before it is scaled.
  InputMap input_map() const;
  ConstMatrixView<float> head() const;
  std::span<const float> head_bias() const;
  std::string weights_hash() const;

  // Runs the model on `count` images; `source` writes image i as floats, as in ClassifierEngine.
  ImagePass run(size_t count, const ClassifierEngine::RowSource& source, size_t layer) const;
  // `rows` picks some, empty: all. Pixels are 0 ... 255.
  ImagePass run(const ImageSet& set, size_t layer, std::span<const uint32_t> rows = {}) const;
  ImagePass run(ConstMatrixView<uint8_t> pixels, size_t layer, std::span<const uint32_t> rows = {}) const;

  // Gains and shifts of all layers from training images, at most kCalibrationImages of them, evenly spaced.
  // `joint` applies to the last layer, whose outputs are known; the layers below get `affine`.
  static constexpr size_t kCalibrationImages = 20000;
  StoredCalibration calibrate(const ImageSet& train, const std::string& data_checksum,
                              Calibration calibration = Calibration::joint) const;

  // All classes; one class against another.
  Units classes() const;
  Units difference(size_t a, size_t b) const;
  // Directions [units, h or h + 1] in the input space of the layer above: its eigenvectors. An entry for a
  // bias is left out.
  Units directions(size_t layer, ConstMatrixView<double> vectors, std::vector<std::string> names) const;

  // `pass` must be of the units' layer; labels may be empty.
  FormReading read(const Units& units, const GateLine& line, const ImagePass& pass,
                   std::span<const uint32_t> labels = {}) const;
  // The fidelity of a form of the last layer over all classes, without its spectra.
  Fidelity trust(const GateLine& line, const ImagePass& pass, std::span<const uint32_t> labels = {}) const;
  // The local forms of the first `inputs` inputs of the pass, each evaluated as the quadratic form that it
  // is.
  LocalError local_error(const Units& units, const ImagePass& pass, size_t inputs) const;
  TruncationCurve truncation(const FormReading& reading, const ImagePass& pass,
                             std::span<const uint32_t> labels) const;

  // Eigenvectors [k, w] of a layer as pictures [k, inputs]. At layer 0 they are E' v. Above, each is taken as
  // an output direction of the layer below, whose strongest eigenvector (by |value|) stands for it, and so on
  // down; `lines` are the forms of all layers.
  Matrix<double> pictures(size_t layer, ConstMatrixView<double> vectors,
                          std::span<const GateLine> lines) const;

 private:
  const ImageModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  ClassifierParams params_;
};

std::vector<uint32_t> labels_of(const ImageSet& images);

// The plain form of every layer.
std::vector<GateLine> weights_lines(const ImageReading& reading);

}  // namespace glint

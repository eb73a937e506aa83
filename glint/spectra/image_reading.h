// A trained image model opened for reading: each of its GLU layers as "layer + output directions + input
// map", what the layer sees on images, and the pictures of eigenvectors. Everything that shows a model builds
// on this.
#pragma once

#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/model/model_file.h"
#include "glint/nn/compute.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/glu_model.h"

namespace glint {

class ImageReading : public GluModel {
 public:
  // Keeps references. The weights must be those of the configuration: load_image_model checks that.
  ImageReading(const ImageModel& model, const Compute& compute, const LinearAlgebra& linalg);

  const ImageModel& model() const { return model_; }
  const LinearAlgebra& linalg() const override { return linalg_; }
  ThreadPool& pool() const override { return compute_.pool; }
  size_t layers() const override { return model_.config.layers; }
  GluLayerView layer(size_t i) const override;
  WeightRows projection(size_t) const override { return {}; }
  // From pixels to the input of layer 0; with a norm, to that input before it is scaled.
  InputMap input_map() const override;
  ConstMatrixView<float> head() const;
  std::span<const float> head_bias() const;
  std::string weights_hash() const override;
  Matrix<double> logit_weights(size_t layer) const override;
  Activations activations(size_t layer, const ModelInputs& samples) const override;

  // Runs the model on `count` images; `source` writes image i as floats, as in ClassifierEngine. Of a set the
  // labels are known.
  Activations run(size_t count, const ClassifierEngine::RowSource& source, size_t layer) const;
  // `rows` picks some, empty: all. Bytes are 0 ... 255, floats are read as they are. Error (usage) for
  // samples of another size than the model's.
  Activations run(const ImageSet& set, size_t layer, std::span<const uint32_t> rows = {}) const;
  Activations run(ConstMatrixView<uint8_t> pixels, size_t layer, std::span<const uint32_t> rows = {}) const;
  Activations run(ConstMatrixView<float> values, size_t layer, std::span<const uint32_t> rows = {}) const;

  // The forms that are fitted to data, of all layers, from at most kCalibrationImages of the training images,
  // evenly spaced.
  static constexpr size_t kCalibrationImages = 20000;
  StoredCalibration calibrate(const ImageSet& train, const std::string& data_checksum) const;
  // The scaled form of all layers with that of the last one refined: spectra/refine.h.
  std::vector<GateTerms> refined_lines(const ImageSet& train, std::vector<GateTerms> scaled) const;

  // All classes; one class against another.
  Directions classes() const;
  Directions difference(size_t a, size_t b) const;

  // As glint::read.
  Reading read(const Directions& directions, const GateTerms& line, const Activations& activations) const {
    return glint::read(*this, directions, line, activations);
  }

  // Eigenvectors [k, w] of a layer as pictures [k, inputs]. At layer 0 they are E' v. Above, each is taken as
  // an output direction of the layer below, whose strongest eigenvector (by |value|) stands for it, and so on
  // down; `lines` are the forms of all layers.
  Matrix<double> pictures(size_t layer, ConstMatrixView<double> vectors, std::span<const GateTerms> lines) const;

 private:
  template <class T>
  Activations run_samples(ConstMatrixView<T> samples, size_t layer, std::span<const uint32_t> rows) const;

  const ImageModel& model_;
  const Compute& compute_;
  const LinearAlgebra& linalg_;
  ClassifierParams params_;
};

// At most `most` of `count` rows, evenly spaced.
std::vector<uint32_t> evenly_spaced(size_t count, size_t most);

}  // namespace glint

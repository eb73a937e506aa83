// A small image model with random weights, opened for reading.
#pragma once

#include "glint/spectra/image_reading.h"
#include "tests/model/model_testing.h"

namespace glint::fixtures {

struct OneImageModel {
  explicit OneImageModel(uint64_t seed, size_t layers = 1, bool bias = false, GateKind gate = GateKind::Identity,
                         bool residual = false)
      : model(make(seed, layers, bias, gate, residual)), reading(model, machine.compute, linalg) {}

  static ImageModel make(uint64_t seed, size_t layers, bool bias, GateKind gate, bool residual) {
    ImageModel m;
    m.config = {.inputs = 20,
                .classes = 3,
                .layers = layers,
                .d_model = 12,
                .gate = {.kind = gate, .params = {}},
                .bias = bias,
                .residual = residual};
    m.height = 4, m.width = 5;
    m.class_names = {"0", "1", "2"};
    const ClassifierParams params = classifier_params(m.config);
    m.weights = Matrix<float>(1, params.table.floats());
    params.table.initialise(m.weights.span(), seed);
    return m;
  }

  ImageModel model;
  LinearAlgebra linalg;
  model_testing::TestMachine machine{2};
  ImageReading reading;
};

}  // namespace glint::fixtures

// A model with random weights in a folder that opens as a run: config.json and model.safetensors, nothing
// else.
#pragma once

#include "glint/lab/work/engine.h"
#include "glint/model/model_file.h"
#include "tests/data/idx_files.h"

namespace glint::fixtures {

struct SavedModel {
  explicit SavedModel(size_t layers = 1, bool bias = false, size_t d_model = 12, size_t d_hidden = 0,
                      GateKind gate = GateKind::Sqs) {
    ImageModel m;
    m.config = {.inputs = 784,
                .classes = 10,
                .layers = layers,
                .d_model = d_model,
                .gate = {.kind = gate, .params = {}},
                .bias = bias};
    m.config.d_hidden = d_hidden;
    m.data = "glyphs";
    for (size_t c = 0; c < 10; c++) m.class_names.push_back(std::to_string(c));
    const ParamTable table = classifier_params(m.config).table;
    m.weights = Matrix<float>(1, table.floats());
    table.initialise(m.weights.span(), 11);
    for (float& w : m.weights.span()) w += 0.05f;  // biases too, so that they count
    save_config(real_files(), folder.path(), m);
    save_weights(real_files(), folder.path() + "/model.safetensors", table, m.weights.span());
  }
  TempFolder folder;
  Engine engine{{.threads = 2}};
};

}  // namespace glint::fixtures

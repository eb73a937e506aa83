// Classifiers that another program trained, made into a run: their weights under glint's names. Prefixes
// ("model."), separate tensors of the two halves and transposed matrices are understood; sizes follow from
// the shapes.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/work/engine.h"
#include "glint/model/classifier.h"

namespace glint {

struct ImportRequest {
  std::string weights;  // a safetensors file
  std::string gate = "identity";
  GateParams gate_params = {};
  size_t height = 0, width = 0;               // of the pictures that it reads; 0: plain vectors
  bool residual = false, rms_norm = false;    // what weights do not tell
  std::string data = {};                      // what it was trained on, where that is a set that glint knows
  std::vector<std::string> class_names = {};  // none: their numbers
  std::string out;                            // the run; must not be there
};

struct ImportResult {
  std::string run;
  ClassifierConfig config;
  struct Tensor {
    std::string from, to;
    bool transposed = false;
  };
  std::vector<Tensor> tensors;
  std::string text;  // "identity, 1 layer, width 256, 334336 parameters"
};

// Error (bad_file) for a tensor that has no place, for one that is missing, and for shapes that do not fit.
ImportResult import_classifier(const Engine& engine, const ImportRequest& request);
OrderedJson to_json(const ImportResult& result);

}  // namespace glint

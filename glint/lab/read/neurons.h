// What the neurons of a language model do to the stream that they read: classes by the cosines of gate, up
// and down weights (spectra/neurons.h), from the weights alone. The capability behind `glint neurons`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/engine.h"
#include "glint/report/figure.h"
#include "glint/spectra/neurons.h"

namespace glint {

struct NeuronsRequest {
  RunSource source = {};             // a language model; nothing is measured
  std::optional<size_t> layer = {};  // from 1 on; none: all
  bool figures = true;
  std::string out = {};  // folder of the CSV and of figures/; "": the run, or NAME-reading
};
std::vector<Field> fields_of(NeuronsRequest& request);

struct LayerNeurons {
  size_t layer = 0;  // from 0
  std::vector<Neuron> neurons;
  NeuronCounts counts{};
  // The median of cos(up, down); of an even number of neurons the larger of the two in the middle.
  double median = 0;
};

struct NeuronsResult {
  std::string run, model_text, gate;
  size_t layers = 0, width = 0;
  double threshold = kNeuronThreshold;
  std::vector<LayerNeurons> of_layers;
  NeuronCounts counts{};             // of all those layers
  std::string csv;                   // a line per neuron
  std::vector<std::string> figures;  // SVG files
  Figure drawn;                      // the classes of every layer, or of one layer its neurons as points
};

// Error (bad_file) for an image model, whose layers do not write where they read.
NeuronsResult neurons(const Engine& engine, const NeuronsRequest& request);
NeuronsResult neurons(const Engine& engine, const LanguageRun& run, const NeuronsRequest& request);
// "schema": "glint-neurons/1". The neurons of a layer as lists of cosines.
OrderedJson to_json(const NeuronsResult& result);

}  // namespace glint

// The same directions at every layer of a model: how far each layer can be read, in one table and one figure.
// The capability behind `glint spectrum --all-layers`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/lab/read/read.h"
#include "glint/report/chart.h"
#include "glint/report/table.h"

namespace glint {

// The spectrum of the first direction at a layer.
struct LayerSpectrum {
  size_t layer = 0;  // from 1 on
  double largest = 0, smallest = 0;
  std::optional<SpectrumRank> rank = {};
};

struct ReadLayersResult {
  std::string run, asked;           // the directions
  std::string alone;                // why nothing was measured, as in ReadResult
  Form form = Form::weights;        // of the spectra
  std::vector<OrderedJson> layers;  // each as to_json(ReadResult) has it
  std::string untrained;            // what "redrawn" is of, as in ReadResult; "": there is none
  // By layer, then form, over the directions; "linear map" and "redrawn", of the form of the spectra, are the
  // controls.
  std::vector<LayerTrust> trust;
  std::vector<LayerSpectrum> spectra;
  std::string csv, figure;  // files that were written
};

// Of each layer; `layer` and `spectra` are not looked at, and the figure is of all layers. Tells its progress and
// can be stopped. The text goes through the model once, layer by layer.
ReadLayersResult read_layers(const Engine& engine, const ReadRequest& request);
ReadLayersResult read_layers(const Engine& engine, Run& run, const ReadRequest& request);

// R2 over the layers, a line per form; where nothing was measured the strongest eigenvalues.
Chart layers_chart(const ReadLayersResult& result);
// A row per layer, a column per form: R2. Where nothing was measured the strongest eigenvalues and the rank.
Table layers_table(const ReadLayersResult& result);
OrderedJson to_json(const ReadLayersResult& result);  // "glint-read-layers/1"

}  // namespace glint

// The explorer of a language run: the weights, the tokenizer and the gate lines of every layer; the page
// splits sentences, runs the model and decomposes its layers itself.
#pragma once

#include <string>
#include <vector>

#include "glint/model/transformer.h"
#include "glint/report/page.h"

namespace glint {

// gate(l) ~ gain l + shift for every hidden unit of one layer, and how well that stands for what the layer
// adds to the residual stream.
struct LanguagePageLine {
  std::vector<double> gain, shift;  // [hidden]; shift may be empty: all 0
  Fidelity fidelity;                // units: the layer's output along the unembedding of each token, [vocab]
};

struct LanguagePageForm {
  std::string name;                     // "weights", "scaled", "calibrated"
  std::vector<LanguagePageLine> lines;  // one per layer
};

struct LanguagePageData {
  std::string version;
  std::string linalg;  // what computed the readings
  std::string name;    // what people call the run: the directory
  std::string data;
  TransformerConfig config;
  std::vector<float> weights;   // the flat buffer of model/params.h
  std::string tokenizer_model;  // the bytes of the file
  std::string sample;           // a sentence to begin with
  std::vector<LanguagePageForm> forms;
  std::vector<Controls> controls;  // one per layer
  std::string form = {};           // the one of them to begin with; "": the last
  double half_deviation = 0;       // largest change of a logit when the weights are rounded to f16
  Json run = Json::object();       // run.json
  std::vector<Json> metrics;       // the lines of metrics.jsonl
};

// Error (usage) when the page is over `max_bytes` even with f16 weights.
Page make_language_page(const LanguagePageData& data, size_t max_bytes);

}  // namespace glint

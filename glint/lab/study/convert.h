// A model whose gate cannot be read becomes one whose gate can: the gate is swapped, each hidden unit gets the gain
// that comes closest, and the model learns from its old self. The capability behind `glint convert`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/io/fields.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/models/run.h"
#include "glint/lab/work/jobs.h"

namespace glint {

struct ConvertRequest {
  std::string model;  // of glint or of another program
  std::string out;    // the run
  std::string gate = "sqs";
  double c = 0.01, lambda = 0.5, p = 1;
  std::string text;  // a file to learn from, or
  std::string data;  // a corpus of the model's own tokens; neither: what the model writes itself
  uint64_t tokens_trained = 800000;
  double distil = 0.5;  // TrainOptions::distil
  double lr = 3e-4;
  uint64_t batch = 8, context = 256, seed = 0;
  bool control = false;  // the original trained on the same tokens with its own gate, too: OUT-control
  bool readings = true;  // R2 per layer before and after
  bool force = false;
};
std::vector<Field> fields_of(ConvertRequest& request);

struct ConvertedLayer {
  size_t layer = 0;  // from 1 on
  std::string form;
  double r2_before = 0, r2_after = 0, correlation_before = 0, correlation_after = 0;
};

struct ConvertResult {
  std::string model, out, text;  // text: what was learned from
  std::string gate_before, gate_after;
  uint64_t stories = 0, tokens = 0;  // of the text
  uint64_t steps = 0, tokens_trained = 0;
  TrainResult::State state = TrainResult::State::finished;
  // Per token, on stories of the text that were held out.
  double loss_original = 0, loss_swapped = 0, loss_converted = 0;
  std::optional<double> loss_control = {};
  std::vector<Json> curve = {};  // lines of metrics: step, test_loss
  std::vector<ConvertedLayer> layers = {};
  std::string figure = {};
};

// A stopped conversion goes on where it was, with the same bytes. Error (usage) by name for a model whose shape cannot
// be trained.
ConvertResult convert(const Engine& engine, const ConvertRequest& request, const JobHooks& hooks = {});
OrderedJson to_json(const ConvertResult& result);  // "glint-convert/1"

}  // namespace glint

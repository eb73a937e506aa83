// A model that training goes on from: one of glint, or one of another program in the shape of Llama, whose weights
// become floats.
#pragma once

#include <memory>
#include <string>

#include "glint/data/text_data.h"
#include "glint/model/language_file.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

struct TrainOptions;

struct TrainingStart {
  std::string where;
  TransformerConfig config;
  Matrix<float> weights;
  std::string hash;     // of the weights
  Tokenizer tokenizer;  // empty: there is none
};

// The shape alone, and all of it. Error (usage) by name for a shape that cannot be trained.
TransformerConfig start_config(const std::string& path, size_t context = 0);
TrainingStart open_start(const std::string& path, size_t context = 0);
// Error (usage) when the stories were made with another tokenizer.
void check_start(const TrainingStart& start, const TextData& data);
// Shape, gate and context become those of the model; `given(name)` says which options somebody chose. Of these gate
// and a shorter context count, others have to be the model's: Error (usage).
void take_shape(TrainOptions& options, const std::function<bool(const std::string&)>& given);

}  // namespace glint

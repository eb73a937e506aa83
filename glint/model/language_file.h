// A trained language model on disk: config.json says what it is, model.safetensors holds the weights. The
// tokenizer lies beside them; its hash is in the config, so that a wrong one is noticed.
#pragma once

#include <memory>
#include <string>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/model/family_model.h"
#include "glint/model/model_file.h"
#include "glint/model/transformer.h"

namespace glint {

struct LanguageModel {
  TransformerConfig config;
  std::string data;            // the corpus it was trained on
  std::string tokenizer_hash;  // of the tokenizer's file
  Matrix<float> weights;       // [1, floats of the table]
};

// The weights are written with save_weights (model_file.h).
std::string config_text(const LanguageModel& model);  // of config.json
void save_config(FileSystem& files, const std::string& directory, const LanguageModel& model);

// From a run directory. Error (bad_file) for missing, extra or misshapen tensors, for values that are not
// finite, and for a model of another kind.
TransformerConfig language_config(const ConfigFile& config);
LanguageModel load_language_model(const ConfigFile& config, const WeightsSource& weights = {});
LanguageModel load_language_model(const std::string& directory, const WeightsSource& weights = {});

Json config_to_json(const TransformerConfig& config);

// As for image models: "lm_head.weight".
ConstMatrixView<float> find_tensor(const LanguageModel& model, std::string_view name);

// A model that glint trained, as one of the families: its weights stay where they are, as floats.

FamilyConfig family_config(const TransformerConfig& config);
// The model keeps the weights alive. `where`: the folder that they are from.
FamilyModel glint_model(std::shared_ptr<const LanguageModel> model, const std::string& where);

}  // namespace glint

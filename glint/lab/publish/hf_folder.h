// A model as a folder of the kind that model hubs and PyTorch users expect: config.json, a model card, and a
// PyTorch class that computes the same logits. The weights go beside them as model.safetensors.
#pragma once

#include <string>
#include <vector>

#include "glint/io/json.h"
#include "glint/model/fidelity.h"
#include "glint/model/language_file.h"
#include "glint/model/model_file.h"

namespace glint {

// A quadratic form of the weights, or a control to compare it with: how far it is the model, on the test
// images.
struct CardFidelity {
  std::string what;  // "weights", "control: linear map"
  Fidelity fidelity;
};

struct ModelCard {
  std::string name;  // of the run
  std::string version;
  Json options, result;  // of run.json; null when the run does not say
  std::vector<CardFidelity> fidelity;
};

// The fields of the model's own config.json and those that loaders look for.
Json hf_config(const ImageModel& model);
std::string hf_readme(const ImageModel& model, const ModelCard& card);
// modeling_glint.py: needs torch alone.
std::string hf_modeling();

// For the cards and loaders of all kinds of models: the section of training options ("" without any), and the
// eps of norms as the shortest text that is the same float.
std::string options_markdown(const Json& options);
std::string norm_eps_text();

// A language model of glint as a folder that transformers opens: config.json, a model card, and a modeling
// file that computes the same logits. The weights and the tokenizer go beside them.

struct LanguageCard {
  std::string name;  // of the run
  std::string version;
  Json options, result;  // of run.json; null when the run does not say
  // How far each form is each layer, over all that it adds to the residual stream, and R2 of a control, the
  // best linear map of the layer's input.
  std::vector<LayerTrust> layers;
  std::vector<double> linear_r2;  // [layer]
};

// The fields of the model's own config.json and those that transformers looks for. `end`: the token that ends
// a story and begins one.
Json hf_config(const LanguageModel& model, TokenId end);
std::string hf_readme(const LanguageModel& model, const LanguageCard& card);
// modeling_glint.py: AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).
std::string hf_language_modeling();

}  // namespace glint

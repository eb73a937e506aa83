// Models of other programs as models that glint trains, and back. Trainable is the shape of Llama: Llama, Mistral
// without windows, Qwen2, Qwen3, SmolLM, and whatever else has no more than model/transformer.h knows.
#pragma once

#include "glint/model/family_model.h"
#include "glint/model/language_file.h"

namespace glint {

// The shape of the model for texts of up to `context` tokens; 0: its own. Error (usage) that names the family and
// what about it cannot be trained.
TransformerConfig trainable_config(const FamilyModel& model, size_t context = 0);
// Its weights, widened, as the parameters of that shape. Pairs that turn are put side by halves.
Matrix<float> trainable_weights(const FamilyModel& model, const TransformerConfig& config);

// The other direction: the same model as one of the family whose shape it has (Llama, Qwen2, Qwen3), under the names
// of GGUF files, for files of other programs. Null when no family has this shape: glint's own.
const Family* family_of(const TransformerConfig& config);
FamilyModel family_model(std::shared_ptr<const LanguageModel> model, const std::string& where);

}  // namespace glint

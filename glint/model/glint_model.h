// A model that glint trained, as one of the families: its weights stay where they are, as floats.
#pragma once

#include <memory>

#include "glint/model/family_model.h"
#include "glint/model/language_file.h"

namespace glint {

FamilyConfig family_config(const TransformerConfig& config);
// The model keeps the weights alive. `where`: the folder that they are from.
FamilyModel glint_model(std::shared_ptr<const LanguageModel> model, const std::string& where);

}  // namespace glint

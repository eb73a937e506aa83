// What a person must be told before trusting a reading, in sentences.
#pragma once

#include <string>
#include <vector>

#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"

namespace glint {

// Below this R2 a form is said not to read a layer: it leaves more than half of the variance unexplained.
inline constexpr double kReadableR2 = 0.5;
// The one that a reading begins with: how far its eigenvectors can be trusted, by R2 and the linear map.
std::string trust_sentence(const ReadResult& result);
// One for every form that does not read layer `layer` (from 0 on), one where a linear map of the layer's input does
// better than the form that is shown, and one where that form reads `untrained` about as well.
std::vector<std::string> trust_sentences(const std::vector<ReadForm>& forms, Form shown, const Controls& controls,
                                         size_t layer, const std::string& untrained);
// And one where the model is too large to be redrawn.
void add_missing_control(const Run& run, std::vector<std::string>& sentences);

}  // namespace glint

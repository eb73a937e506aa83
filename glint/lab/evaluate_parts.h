// What the parts of evaluate.h share; not for callers.
#pragma once

#include "glint/lab/evaluate.h"

namespace glint {

TextEvaluation evaluate_foreign_text(const Engine& engine, const TextEvaluationRequest& request);

// Error (numeric) when the loss is not a number, a note when the perplexity is none.
void check_loss(const Engine& engine, const TextEvaluation& result);

}  // namespace glint

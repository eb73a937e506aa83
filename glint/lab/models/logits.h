// What a trained model says of inputs that a program has in memory.
#pragma once

#include <span>
#include <string>

#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/lab/models/language_run.h"

namespace glint {

// The logits [tokens, vocab] that follow each of these tokens, at most the context of the model. The first is
// one that begins texts, as prompt_tokens gives it, or any other.
Matrix<float> text_logits(const Engine& engine, const FamilyModel& model, std::span<const TokenId> tokens);
Matrix<float> language_logits(const Engine& engine, const LanguageRun& run, std::span<const TokenId> tokens);
// Tokens as text. Error (usage) for a token that the tokenizer has not.
std::string tokens_text(const LanguageRun& run, std::span<const TokenId> tokens);

}  // namespace glint

// What a trained model says of inputs that a program has in memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/lab/engine.h"

namespace glint {

// Images [n, pixels] as bytes, or images and vectors [n, inputs] as floats: logits [n, classes]. Error
// (usage) for inputs of another size than the model's.
Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<uint8_t> images);
Matrix<float> image_logits(const Engine& engine, const std::string& run, ConstMatrixView<float> images);

// The logits [tokens, vocab] that follow each of these tokens, at most the context of the model. The first is
// the token that begins stories, as prompt_tokens gives it, or any other. A run of glint, or a model of
// another program.
Matrix<float> language_logits(const Engine& engine, const std::string& run, std::span<const TokenId> tokens);
// The tokens of a text as the model is given them: lab/generate.h. `tokenizer`: as in RunSource.
std::vector<TokenId> text_tokens(const Engine& engine, const std::string& run, const std::string& text,
                                 const std::string& tokenizer = {});
// Tokens as text.
std::string tokens_text(const Engine& engine, const std::string& run, std::span<const TokenId> tokens,
                        const std::string& tokenizer = {});

}  // namespace glint

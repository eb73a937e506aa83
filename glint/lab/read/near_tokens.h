// Tokens that stand for a vector of a language model's layer, and the text of tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/base/tokens.h"
#include "glint/tokens/tokenizer.h"

namespace glint {

class LanguageRun;

struct NearToken {
  TokenId id = 0;
  std::string piece;  // as the tokenizer spells it
  std::string text;   // as people read it
  double cosine = 0;
};

// Tokens whose embeddings point along a vector, and against it.
struct NearTokens {
  std::vector<NearToken> along, against;
};

// For every row, the `count` nearest tokens that are text.
std::vector<NearTokens> near_tokens(const LanguageRun& run, ConstMatrixView<double> vectors, size_t count);
// "·happy ·glad ·merry".
std::string token_list(const std::vector<NearToken>& tokens);
nlohmann::ordered_json near_json(const std::vector<NearToken>& tokens);

// Not bytes and marks, which are rare or never seen.
bool is_text(const Tokenizer& tokenizer, TokenId token);

// What each token adds to the text of all: marks add nothing, and of the bytes of a character the last adds
// it.
std::vector<std::string> text_of_tokens(const Tokenizer& tokenizer, std::span<const TokenId> tokens);

}  // namespace glint

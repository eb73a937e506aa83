// Output directions of a language model's layer from what the user typed: tokens, sums of tokens, a hidden
// unit, a vector from a file.
#pragma once

#include <string>
#include <vector>

#include "glint/cli/language_view.h"

namespace glint::cli {

struct Direction {
  std::string name;
  Matrix<double> weights;  // [1, h], of the hidden units
};

// The token that a word names: a piece as it is spelled or as glint prints it ("·happy"), the one piece that
// a word becomes, or "#ID". Error (usage) for anything else.
TokenId find_token(const OpenedLanguageRun& run, const std::string& word, const std::string& flag);

// What --token, --direction and --hidden ask for. Error (usage) when that is nothing, or a direction is 0.
std::vector<Direction> asked_directions(const OpenedLanguageRun& run, size_t layer,
                                        const LanguageSpectrumOptions& options);

}  // namespace glint::cli

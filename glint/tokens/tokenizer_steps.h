// The steps of tokenizer.json as a tree of JSON, one function for each of its four parts. Null is no step.
// Error (bad_file) for a step that glint does not know, with its name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "glint/io/json_fwd.h"
#include "glint/tokens/bpe_tokenizer.h"

namespace glint {

void read_normalizer(const Json& json, const std::string& where, std::vector<NormalizerStep>& steps);
void read_splits(const Json& json, const std::string& where, std::vector<SplitStep>& steps);
void read_decoder(const Json& json, const std::string& where, std::vector<DecoderStep>& steps);
// The ids that the post-processor puts before a text. What it puts behind is left out: a text that goes on
// has no end.
std::vector<TokenId> read_prefix(const Json& json, const std::string& where, size_t vocabulary,
                                 std::span<const AddedToken> added);

}  // namespace glint

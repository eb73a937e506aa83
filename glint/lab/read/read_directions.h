// Output directions of a layer from what a person typed: classes and differences, tokens and sums of tokens,
// a hidden unit, a vector from a file, an eigenvector of the layer above.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/direction.h"

namespace glint {

// The layer that a request names, from 0 on: `layer` from 1 on, none: the last. Error (usage) for another.
size_t asked_layer(const GluModel& model, std::optional<size_t> layer);

// Image models, at the last layer.
Directions class_directions(const ImageReading& reading, const std::vector<UnitWord>& words);
// "2" or "2,1": which eigenvector of each of `steps` layers above, from the last layer down; 1 is the
// strongest.
std::vector<size_t> parse_via(const std::string& text, size_t steps);
// One step down: eigenvector `rank` (by magnitude) of each direction as a direction of the layer below.
Directions step_down(const GluModel& model, const Directions& directions, const GateTerms& line, size_t rank);
// For the names of files: "3 - 5, 7", "all via v1"; empty for all classes of the last layer.
std::string class_text(const std::vector<UnitWord>& words, const std::vector<std::string>& class_names,
                       const std::vector<size_t>& via);

// A hidden unit, from 1 on. Error (usage) for one that is not there.
Directions hidden_direction(const GluModel& model, size_t layer, size_t unit);
// Numbers of hidden units among the words, from 1 on.
std::vector<size_t> hidden_units(const Along& along, ModelKind kind);
// All of an image model: its classes, below the last layer through eigenvectors of `form`, or other directions,
// which are then all. Error (usage) for both.
Directions image_directions(ImageRun& run, size_t layer, const Along& along, Form form);
// The classes among them; none where there are other directions. "" is all.
std::vector<UnitWord> class_words(const ImageRun& run, const Along& along);

// Where the tokens that people name come from, and their directions in the residual stream.
struct TokenSpace {
  const Tokenizer& tokenizer;
  const LanguageReading& model;
};
TokenSpace token_space(const LanguageRun& run);  // of a language model; keeps references

// The token that a word names: a piece as it is spelled or as glint prints it ("·happy"), the one piece that
// a word becomes, or "#ID". Error (usage) for anything else.
TokenId find_token(const TokenSpace& space, const std::string& word, const std::string& where);
// The tokens among words with commas between; sums of tokens are left out.
std::vector<TokenId> single_tokens(const TokenSpace& space, const std::string& text);
// All words of `token`, each once; Error (usage) for one that is no token.
std::vector<TokenId> named_tokens(const TokenSpace& space, const std::string& text);
// The tokens that come most often in the stories that readings are measured on, at most so many; not bytes
// and marks.
std::vector<TokenId> frequent_tokens(LanguageRun& run, size_t most);
// Tokens, vectors, hidden units and latents, in this order. Error (usage) when there is none, or one is 0.
Directions language_directions(const TokenSpace& space, size_t layer, const Along& along);
// "+1", "-2", "+1,-1": ranks of eigenvectors among those of their sign. Error (usage) for anything else.
std::vector<int> parse_signed_ranks(const std::string& text);
// Eigenvectors of the forms of directions of a later layer, as directions of `layer`: what the later layer
// reads is the stream, but for the factor of its norm. Error (usage) for one that is not there.
Directions eigenvector_directions(const GluModel& model, const Directions& later, const GateTerms& line,
                                  std::span<const int> ranks, size_t layer);
// All that a language model is asked for, `from_layer` included; `form` is that of the later layer.
Directions asked_directions(LanguageRun& run, size_t layer, const Along& along, Form form);

}  // namespace glint

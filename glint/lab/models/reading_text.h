// The text that a language model is read on when that is no corpus: the stories of a file, or the built-in
// tales.
#pragma once

#include "glint/data/text_data.h"
#include "glint/lab/work/engine.h"

namespace glint {

// `train` has stories that calibrate and `valid` stories that readings are measured on, about `tokens` tokens
// each; no token is in both. The stories of a file go to the two by turns, those longer than `longest` tokens
// piece by piece; a text of one piece is cut in the middle. "" and "tales" are the built-in tales. Error
// (bad_file) for a text that is too short.
TextData reading_text(const Engine& engine, const std::string& file, const Tokenizer& tokenizer, size_t tokens,
                      size_t longest);

}  // namespace glint

// The options that every verb that reads weights has: RUN, --data, --data-dir, --refine.
#pragma once

#include <vector>

#include "glint/cli/given.h"
#include "glint/cli/verb.h"
#include "glint/lab/models/run.h"

namespace glint::cli {

inline constexpr char kRefineHelp[] =
    "images: improve the scaled form by descent on logits and decisions; once for a run, seconds";
inline constexpr char kTokenizerHelp[] = "Tokenizer of a model of another program; default: its own";

void add_reading_options(Verb& verb, RunSource& options);
// Beside them, where language models are read: --text, --tokens, --tokenizer. Gives them, to refuse them for
// image models.
std::vector<GivenOption> add_language_options(Verb& verb, RunSource& options, std::string& text);
// The data are the text, where one was given. Error (usage) where `data` were given too.
void take_text(std::string& data, const std::string& text);

}  // namespace glint::cli

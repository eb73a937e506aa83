// What verbs make sure of before they read a run or write beside it.
#pragma once

#include <string>

#include "glint/lab/models/run.h"

namespace glint {

// Error (bad_file) for a language model, with the verbs that read those.
[[noreturn]] void refuse_language(const std::string& path);
// The same for an image model where a language model is needed.
[[noreturn]] void refuse_image(const std::string& path);

// Error (bad_file) for a model of another program: `what` cannot take it. The first: where it is one.
void check_not_foreign(const std::string& path, const std::string& what);
[[noreturn]] void refuse_foreign(const std::string& path, const std::string& what);
// The same for a mixture of experts, where all of a model would be run or read.
[[noreturn]] void refuse_mixture(const std::string& path);

// Error (usage) where a tokenizer is given: a run of glint has its own.
void refuse_tokenizer(const std::string& tokenizer);
// An expert of a run of glint, which has none.
void refuse_expert(const std::string& expert);

// Error (usage) unless the samples are pictures of bytes: what `needs` them, "the explorer page", shows
// pixels or moves them within their range.
void check_pictures(const Dataset& data, const std::string& needs);

// Error (usage) unless it is "test" or "train".

}  // namespace glint

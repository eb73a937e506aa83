// The text part of glint data: TinyStories, the built-in tales, and folders that glint tokenize made.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "glint/lab/text_sources.h"
#include "glint/cli/verb.h"
#include "glint/data/text_data.h"

namespace glint::cli {

inline constexpr const char* kStoriesSummary = "short stories, for language models";
inline constexpr const char* kTalesSummary = "little tales from a grammar, no files needed";

std::string bytes_text(size_t bytes);

nlohmann::ordered_json stories_json(const StoryFiles& stories);
nlohmann::ordered_json corpus_json(const TextData& data);

// What is in `tinystories`, in plain text, or in what load_text_data takes. Error (bad_file) when it is not
// there, is no corpus or is damaged.
void show_text(Context& context, const std::string& name_or_path, const DataPaths& paths);

}  // namespace glint::cli

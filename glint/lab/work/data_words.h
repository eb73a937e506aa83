// What a word or path given as data is: images, a corpus, or text that must be tokenized first; and where the
// text of TinyStories lies.
#pragma once

#include <string>
#include <vector>

#include "glint/base/error.h"
#include "glint/data/dataset.h"
#include "glint/io/json_fwd.h"

namespace glint {

enum class DataKind {
  images,      // load_dataset takes it
  corpus,      // load_text_data takes it
  plain_text,  // `tinystories`, or a file whose name ends as that of a text
  unknown,
};
DataKind data_kind(const std::string& name_or_path);

// Error (usage) for a word that is neither a data set nor a path, with the nearest one; `where` says who
// named it.
void check_data_word(const std::string& name_or_path, const std::string& where);
// The words that are data: image sets, `tinystories`, `tales`.
std::vector<std::string> data_words();

// TinyStories is plain text, of which no checksum is published: its files are there or not.
inline constexpr const char* kStories = "tinystories";
inline constexpr const char* kStoriesCommand = "scripts/fetch-data tinystories";
inline constexpr const char* kStoryFiles[] = {"TinyStories-train.txt", "TinyStories-valid.txt"};

struct StoryFiles {
  std::string origin;               // the folder, "" when not found
  std::vector<std::string> looked;  // each folder, and what is missing there
  std::vector<std::string> paths;   // of each file
  std::vector<size_t> bytes;        // of each file
};
StoryFiles find_stories(const DataPaths& paths);

// For a training on plain text: an Error whose hint has the two commands, tokenize and train. `where` says
// who named the text.
Error not_tokenized(const std::string& text, const std::string& where, const std::string& recipe,
                    const DataPaths& paths);

// Whether the path is a model of another program: a file of weights, or a folder whose config.json names a
// family. False for what glint wrote, and for what is no model at all.
bool is_foreign(const std::string& path);
bool is_foreign_config(const Json& config);  // of config.json

}  // namespace glint

#include "glint/lab/work/data_words.h"

#include <filesystem>

#include "glint/data/text_data.h"
#include "glint/io/json.h"
#include "glint/io/weight_file.h"
#include "glint/train/run_file.h"

namespace glint {

namespace fs = std::filesystem;

DataKind data_kind(const std::string& name_or_path) {
  if (is_text_data(name_or_path)) return DataKind::corpus;
  if (is_image_data(name_or_path)) return DataKind::images;
  if (name_or_path == kStories) return DataKind::plain_text;
  std::error_code ignored;
  for (const char* ending : {".txt", ".txt.gz", ".txt.xz"})
    if (name_or_path.ends_with(ending) && !fs::is_directory(name_or_path, ignored)) return DataKind::plain_text;
  return DataKind::unknown;
}

std::vector<std::string> data_words() {
  std::vector<std::string> words = dataset_names();
  words.insert(words.end(), {kStories, kTales});
  return words;
}

void check_data_word(const std::string& name_or_path, const std::string& where) {
  std::error_code ignored;
  if (data_kind(name_or_path) != DataKind::unknown || name_or_path.find('/') != std::string::npos ||
      fs::is_directory(name_or_path, ignored))
    return;
  bad_argument(
      where, "no data set is called " + name_or_path,
      "mnist, fashion-mnist, glyphs or a folder with IDX files; for stories tales or a folder that `tokenize()` made",
      suggest(name_or_path, data_words()));
}

StoryFiles find_stories(const DataPaths& paths) {
  StoryFiles found;
  for (const std::string& folder : data_folders(paths, kStories)) {
    std::error_code error;
    std::string missing;
    StoryFiles here{.origin = folder, .looked = {}, .paths = {}, .bytes = {}};
    for (const char* file : kStoryFiles) {
      const fs::path path = fs::path(folder) / file;
      if (fs::is_regular_file(path, error)) {
        here.paths.push_back(path.string());
        here.bytes.push_back(static_cast<size_t>(fs::file_size(path, error)));
      } else {
        missing += (missing.empty() ? " (no " : ", ") + std::string(file);
      }
    }
    if (!fs::is_directory(folder, error)) missing = " (no such folder";
    found.looked.push_back(folder + (missing.empty() ? "" : missing + ")"));
    if (!missing.empty()) continue;
    here.looked = found.looked;
    return here;
  }
  return found;
}

Error not_tokenized(const std::string& text, const std::string& where, const std::string& recipe,
                    const DataPaths& paths) {
  const bool stories = text == kStories;
  std::error_code ignored;
  if (!stories && !fs::exists(text, ignored))
    return Error({.code = ErrorCode::bad_file, .what = "no such file: " + text, .where = where});
  std::string texts;
  const StoryFiles found = stories ? find_stories(paths) : StoryFiles{};
  if (!stories)
    texts = text;
  else if (found.paths.empty())
    texts = "TRAIN.txt, valid=VALID.txt";
  else
    texts = found.paths[0] + ", valid=" + found.paths[1];
  return Error({.code = ErrorCode::usage,
                .what = text + " is text, and must be tokenized before a training",
                .where = where,
                .expected = "tales, or a folder that `tokenize()` made" +
                            (stories && found.paths.empty() ? "; " + std::string(kStoriesCommand) + " gets the text"
                                                            : std::string()),
                .hint = "`tokenize(" + texts + ", out=corpus)` && `train(" + recipe + ", data=corpus)`"});
}

bool is_foreign(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return std::filesystem::is_regular_file(path, ignored) && weight_format(path).has_value();
  const std::string config = path + "/config.json";
  if (exists(path + "/" + kRunFile) || !exists(config)) return false;
  return is_foreign_config(read_json(config));
}

bool is_foreign_config(const Json& config) {
  return config.is_object() && config.contains("model_type") && !config.contains("format");
}

}  // namespace glint

#include "glint/cli/data_text.h"
#include "glint/cli/output.h"

#include <filesystem>

#include "glint/io/json.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

size_t sum(const std::vector<size_t>& values) {
  size_t total = 0;
  for (const size_t v : values) total += v;
  return total;
}

void show_stories(Context& context, const DataPaths& paths) {
  const StoryFiles stories = find_stories(paths);
  if (stories.origin.empty()) {
    std::string looked;
    for (const std::string& l : stories.looked) looked += (looked.empty() ? "looked in " : "; ") + l;
    throw Error({.code = ErrorCode::bad_file,
                 .what = std::string("data set ") + kStories + " is not on this machine",
                 .where = looked,
                 .expected = std::string(kStoryFiles[0]) + " and " + kStoryFiles[1],
                 .hint = kStoriesCommand});
  }
  if (context.shared.json) return context.print_json(stories_json(stories));
  context.out << kStories << ": " << kStoriesSummary << "\nin " << stories.origin << "\n\n";
  Table table({{.header = "file"}, {.header = "size", .align = Align::right}});
  for (size_t i = 0; i < stories.bytes.size(); i++) table.add({kStoryFiles[i], bytes_text(stories.bytes[i])});
  context.out << table.terminal(result_columns());
}

// load_text_data has compared the checksums in the .bin files with their content, and their tokenizer. What
// is left is corpus.json, which is written last.
std::string corpus_state(const TextData& data) {
  if (data.name == kTales) return "built in";
  const std::string path = (std::filesystem::path(data.origin) / kCorpusInfoFile).string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return "the checksums are right, but corpus.json is missing";
  const Json json = read_json(path);
  const JsonFields info(json, path);
  for (const auto& [part, corpus] : {std::pair("train", &data.train), std::pair("valid", &data.valid)})
    if (info.object(part).required<std::string>("checksum") != corpus->checksum())
      return "the checksums are right, but corpus.json is that of another corpus";
  return "verified: the checksums are right";
}

std::string mean_length(const Corpus& corpus) {
  return fixed_text(static_cast<double>(corpus.tokens()) / static_cast<double>(corpus.stories()), 1);
}

}  // namespace

std::string bytes_text(size_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1e3;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); unit++) value /= 1e3;
  return fixed_text(value, value < 99.95 ? 1 : 0) + " " + kUnits[unit];
}

ordered_json stories_json(const StoryFiles& stories) {
  ordered_json files = ordered_json::array();
  for (size_t i = 0; i < stories.bytes.size(); i++)
    files.push_back({{"name", kStoryFiles[i]}, {"bytes", stories.bytes[i]}});
  return {{"name", kStories},
          {"kind", "text"},
          {"summary", kStoriesSummary},
          {"state", stories.origin.empty() ? "not found" : "found"},
          {"origin", stories.origin},
          {"looked", stories.looked},
          {"files", files},
          {"bytes", sum(stories.bytes)},
          {"command", kStoriesCommand}};
}

ordered_json corpus_json(const TextData& data) {
  const auto part = [](const Corpus& corpus) {
    return ordered_json{
        {"stories", corpus.stories()}, {"tokens", corpus.tokens()}, {"checksum", corpus.checksum()}};
  };
  return {{"name", data.name},
          {"kind", "corpus"},
          {"state", corpus_state(data)},
          {"origin", data.origin},
          {"vocab", data.tokenizer.size()},
          {"tokenizer_sha256", data.tokenizer.sha256()},
          {"train", part(data.train)},
          {"valid", part(data.valid)},
          {"checksum", data.checksum}};
}

void show_text(Context& context, const std::string& name_or_path, const DataPaths& paths) {
  if (name_or_path == kStories && !is_text_data(name_or_path)) return show_stories(context, paths);
  const TextData data = load_text_data(name_or_path);
  if (context.shared.json) return context.print_json(corpus_json(data));
  context.out << data.name << ": " << data.train.stories() << " train and " << data.valid.stories()
              << " validation stories, vocabulary of " << data.tokenizer.size() << " pieces ("
              << name(data.tokenizer.kind()) << ")\n";
  if (data.name != data.origin) context.out << "where:     " << data.origin << "\n";
  context.out << "state:     " << corpus_state(data) << "\ntokenizer: " << data.tokenizer.sha256()
              << "\nchecksum:  " << data.checksum << "\n\n";
  Table table({{.header = ""},
               {.header = "stories", .align = Align::right},
               {.header = "tokens", .align = Align::right},
               {.header = "tokens a story", .align = Align::right}});
  for (const auto& [part, corpus] : {std::pair("train", &data.train), std::pair("valid", &data.valid)})
    table.add(
        {part, std::to_string(corpus->stories()), std::to_string(corpus->tokens()), mean_length(*corpus)});
  context.out << table.terminal(result_columns());
}

}  // namespace glint::cli

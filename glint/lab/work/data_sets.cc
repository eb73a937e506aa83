#include "glint/lab/work/data_sets.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "glint/base/error.h"
#include "glint/io/seal.h"
#include "glint/report/sheet.h"

namespace glint {
namespace {

constexpr const char* kTalesSummary = "little tales from a grammar, no files needed";

// load_text_data has compared the checksums in the .bin files with their content, and their tokenizer. What
// is left is corpus.json, which is written last.
std::string corpus_state(const TextData& data) {
  if (data.name == kTales) return "built in";
  const std::string path = (std::filesystem::path(data.origin) / kCorpusInfoFile).string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "the checksums are right, but corpus.json is missing";
  const std::string text = read_file(path);
  const Json json = parse_json(text, path);
  const JsonFields info(json, path);
  if (!is_sealed(text, json))
    bad_file(path, "the file is damaged: it is not what its checksum says", "corpus.json as `tokenize()` wrote it",
             "`tokenize(TEXT, out=" + data.origin + ", force=true)`");
  for (const auto& [part, corpus] : {std::pair("train", &data.train), std::pair("valid", &data.valid)})
    if (info.object(part).required<std::string>("checksum") != corpus->checksum())
      return "the checksums are right, but corpus.json is that of another corpus";
  return "verified: the checksums are right";
}

CorpusData describe_corpus(const std::string& name) {
  CorpusData corpus{.set = load_text_data(name), .state = {}, .summary = name == kTales ? kTalesSummary : ""};
  corpus.state = corpus_state(corpus.set);
  return corpus;
}

StoryFiles stories_or_error(const DataPaths& paths) {
  StoryFiles stories = find_stories(paths);
  if (!stories.origin.empty()) return stories;
  std::string looked;
  for (const std::string& l : stories.looked) looked += (looked.empty() ? "looked in " : "; ") + l;
  bad_file(looked, std::string("data set ") + kStories + " is not on this machine",
           std::string(kStoryFiles[0]) + " and " + kStoryFiles[1], kStoriesCommand);
}

ImageData describe_images(const std::string& name_or_dir, const DataOptions& options) {
  ImageData images{.set = load_dataset(name_or_dir, options), .state = {}, .train = {}, .test = {}};
  const Dataset& set = images.set;
  // load_dataset has compared the sets that have a published checksum.
  images.state = "no published checksum to compare with";
  if (set.origin.starts_with("built in"))
    images.state = name(DataState::built_in);
  else if (set.name != set.origin)
    images.state = name(DataState::verified);
  images.train.resize(set.train.classes), images.test.resize(set.train.classes);
  for (const uint32_t label : set.train.labels) images.train[label]++;
  for (const uint32_t label : set.test.labels) images.test[label]++;
  return images;
}

void write_class_sheet(const Engine& engine, const DataRequest& q, const ImageSet& set) {
  Sheet sheet{.height = set.height, .width = set.width};
  const auto first = first_of_classes(set, q.per_class);
  for (size_t c = 0; c < first.size(); c++) {
    sheet.rows.emplace_back();
    sheet.headings.push_back(std::to_string(c));
    for (const size_t i : first[c]) sheet.rows.back().push_back({.pixels = set.pixels.view().row(i)});
  }
  write_sheet(engine.files(), q.sheet, sheet);
}

OrderedJson status_json(const DatasetStatus& s) {
  return {{"name", s.name},         {"kind", "images"},     {"summary", s.summary}, {"state", name(s.state)},
          {"origin", s.origin},     {"looked", s.looked},   {"train", s.train},     {"test", s.test},
          {"height", s.height},     {"width", s.width},     {"classes", s.classes}, {"bytes", s.bytes},
          {"checksum", s.checksum}, {"problem", s.problem}, {"command", s.command}};
}

OrderedJson stories_json(const StoryFiles& stories) {
  OrderedJson files = OrderedJson::array();
  for (size_t i = 0; i < stories.bytes.size(); i++)
    files.push_back({{"name", kStoryFiles[i]}, {"bytes", stories.bytes[i]}});
  return {{"name", kStories},
          {"kind", "text"},
          {"summary", kStoriesSummary},
          {"state", stories.origin.empty() ? "not found" : "found"},
          {"origin", stories.origin},
          {"looked", stories.looked},
          {"files", files},
          {"bytes", std::accumulate(stories.bytes.begin(), stories.bytes.end(), size_t{0})},
          {"command", kStoriesCommand}};
}

OrderedJson corpus_json(const CorpusData& corpus) {
  const TextData& data = corpus.set;
  const auto part = [](const Corpus& c) {
    return OrderedJson{{"stories", c.stories()}, {"tokens", c.tokens()}, {"checksum", c.checksum()}};
  };
  OrderedJson j = {{"name", data.name},
                   {"kind", "corpus"},
                   {"state", corpus.state},
                   {"origin", data.origin},
                   {"vocab", data.tokenizer.size()},
                   {"tokenizer_sha256", data.tokenizer.sha256()},
                   {"train", part(data.train)},
                   {"valid", part(data.valid)},
                   {"checksum", data.checksum}};
  if (!corpus.summary.empty()) j["summary"] = corpus.summary;
  return j;
}

OrderedJson images_json(const ImageData& images) {
  const Dataset& data = images.set;
  OrderedJson j = {{"name", data.name},
                   {"kind", "images"},
                   {"state", images.state},
                   {"origin", data.origin},
                   {"train", data.train.count()},
                   {"test", data.test.count()},
                   {"height", data.train.height},
                   {"width", data.train.width},
                   {"bytes", unpacked_bytes(data)},
                   {"checksum", data.checksum}};
  j["classes"] = OrderedJson::array();
  for (size_t c = 0; c < images.train.size(); c++)
    j["classes"].push_back({{"name", data.class_names[c]}, {"train", images.train[c]}, {"test", images.test[c]}});
  return j;
}

}  // namespace

std::vector<std::vector<size_t>> first_of_classes(const ImageSet& set, size_t most) {
  std::vector<std::vector<size_t>> first(set.classes);
  for (size_t i = 0; i < set.count(); i++)
    if (first[set.labels[i]].size() < most) first[set.labels[i]].push_back(i);
  return first;
}

DataResult describe_data(const Engine& engine, const DataRequest& q) {
  if (q.name.empty() && !q.sheet.empty())
    bad_argument("sheet", "`sheet` needs a data set", "`data(NAME, sheet=" + q.sheet + ")`");
  DataOptions options;
  options.paths = data_paths_from_environment(q.data_dir);
  options.pool = &engine.pool();
  DataResult r{.list = q.name.empty()};
  if (r.list) {
    r.known = list_datasets(options);
    r.stories = find_stories(options.paths);
    r.corpus = describe_corpus(kTales);
    return r;
  }
  const DataKind kind = data_kind(q.name);
  if (kind == DataKind::corpus || kind == DataKind::plain_text) {
    if (!q.sheet.empty())
      throw Error(
          {.code = ErrorCode::usage, .what = q.name + " is text: there are no images for a sheet", .where = "sheet"});
    if (kind == DataKind::plain_text && q.name == kStories)
      r.stories = stories_or_error(options.paths);
    else
      r.corpus = describe_corpus(q.name);
    return r;
  }
  check_data_word(q.name, "`data(NAME)`");
  r.images = describe_images(q.name, options);
  if (!q.sheet.empty()) write_class_sheet(engine, q, r.images->set.train);
  r.sheet = q.sheet;
  return r;
}

OrderedJson to_json(const DataResult& r) {
  OrderedJson j = {{"schema", "glint-data/1"}};
  if (r.list) {
    j["datasets"] = OrderedJson::array();
    for (const DatasetStatus& s : r.known) j["datasets"].push_back(status_json(s));
    j["datasets"].push_back(stories_json(*r.stories));
    j["datasets"].push_back(corpus_json(*r.corpus));
    return j;
  }
  j.update(r.images ? images_json(*r.images) : r.corpus ? corpus_json(*r.corpus) : stories_json(*r.stories));
  if (!r.sheet.empty()) j["sheet"] = r.sheet;
  return j;
}

}  // namespace glint

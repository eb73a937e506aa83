// Which data sets there are, where they were found, and what is in one. The capability behind `glint data`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/io/json_fwd.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/engine.h"

namespace glint {

struct DataRequest {
  std::string name = {};      // a word or a folder, as for training; "": every set that glint knows
  std::string data_dir = {};  // looked in first
  std::string sheet = {};     // a .png file to write, with the first train images of each class
  size_t per_class = 10;      // images of a class in the sheet
};

struct ImageData {
  Dataset set;
  std::string state;                // "built in", "verified", or that there is nothing to compare it with
  std::vector<size_t> train, test;  // [classes]: how many images
};

struct CorpusData {
  TextData set;
  std::string state;    // "built in", or what became of its checksums
  std::string summary;  // one line for people, of the built-in tales
};

// One set: its part. The list: `known`, `stories`, and the built-in tales as `corpus`.
struct DataResult {
  bool list = false;
  std::vector<DatasetStatus> known = {};   // image sets
  std::optional<ImageData> images = {};    // of IDX files or built in
  std::optional<StoryFiles> stories = {};  // the text of TinyStories
  std::optional<CorpusData> corpus = {};   // built in, or made by tokenize()
  std::string sheet = {};                  // the file that was written
};

inline constexpr const char* kStoriesSummary = "short stories, for language models";

// Error (usage) for a word that is no data set and for a sheet of what has no images, (bad_file) for a set
// that is not there or is damaged; in a list those are entries.
DataResult describe_data(const Engine& engine, const DataRequest& request);
// "schema": "glint-data/1".
OrderedJson to_json(const DataResult& result);

// The first images of every class: [class][k] is an index into the set.
std::vector<std::vector<size_t>> first_of_classes(const ImageSet& set, size_t most);

}  // namespace glint

// A finished run and its data, for the verbs that read models.
#pragma once

#include <string>

#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/io/json.h"
#include "glint/lab/engine.h"
#include "glint/model/config_file.h"
#include "glint/model/language_file.h"
#include "glint/model/model_file.h"

namespace glint {

// What every finished run says of itself.
struct RunInfo {
  std::string directory;
  std::string precision = "f32";  // that it was trained and measured in
  std::string data_checksum;      // "" when the run does not say
  Json run;                       // run.json; null in a folder that has none
  bool sealed = true;             // false: run.json of an earlier version, without checksums
};
// Error (bad_file) for what is no run directory or is damaged, and for a run that is not finished, with the
// command that resumes it. The weights are looked at when they are loaded.
RunInfo open_run(const std::string& directory);

// Says what the user should know of the run: that it has no checksums, that its weights are damaged and those
// of a checkpoint are used.

struct LoadedRun : RunInfo {
  ImageModel model;
};
LoadedRun load_run(const Engine& engine, const std::string& directory);

// A language model, with the tokenizer that lies beside it.
struct LanguageRun : RunInfo {
  LanguageModel model;
  Tokenizer tokenizer;
};
LanguageRun load_language_run(const Engine& engine, const std::string& directory);

// `name_or_dir`, or when it is empty the data that the run was trained on; a note when those have changed
// since. Error when the pictures have another size than the model's, or a label that it does not know.
Dataset load_run_data(const Engine& engine, const LoadedRun& run, const std::string& name_or_dir,
                      const DataOptions& options);

// The same for stories: `name_or_dir`, or the corpus of the run. Error when another tokenizer made it.
TextData load_run_text(const Engine& engine, const LanguageRun& run, const std::string& name_or_dir);

// "sqs, 1 layer, width 256, 334336 parameters".
std::string model_text(const ImageModel& model);

// Text from a file, for the terminal: without control characters.
std::string printable(std::string text);

}  // namespace glint

// A finished run and its data, for the verbs that read models.
#pragma once

#include <string>

#include "glint/cli/verb.h"
#include "glint/data/dataset.h"
#include "glint/data/text_data.h"
#include "glint/model/config_file.h"
#include "glint/model/language_file.h"
#include "glint/model/model_file.h"

namespace glint::cli {

// What every finished run says of itself.
struct RunInfo {
  std::string directory;
  std::string precision = "f32";  // that it was trained and measured in
  std::string data_checksum;      // "" when the run does not say
};
// Error (bad_file) for what is no run directory, and for a run that is not finished, with the command that
// resumes it.
RunInfo open_run(const std::string& directory);

struct LoadedRun : RunInfo {
  ImageModel model;
};
LoadedRun load_run(const std::string& directory);

// A language model, with the tokenizer that lies beside it.
struct LanguageRun : RunInfo {
  LanguageModel model;
  Tokenizer tokenizer;
};
LanguageRun load_language_run(const std::string& directory);

// `name_or_dir`, or when it is empty the data that the run was trained on; a note when those have changed
// since. Error when the pictures have another size than the model's, or a label that it does not know.
Dataset load_run_data(const Context& context, const LoadedRun& run, const std::string& name_or_dir,
                      const DataOptions& options);

// The same for stories: `name_or_dir`, or the corpus of the run. Error when another tokenizer made it.
TextData load_run_text(const Context& context, const LanguageRun& run, const std::string& name_or_dir);

// "sqs, 1 layer, width 256, 334336 parameters".
std::string model_text(const ImageModel& model);

// Text from a file, for the terminal: without control characters.
std::string printable(std::string text);

}  // namespace glint::cli

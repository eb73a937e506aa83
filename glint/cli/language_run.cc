#include "glint/cli/language_run.h"

#include <filesystem>

#include "glint/base/error.h"
#include "glint/data/text_data.h"
#include "glint/model/config_file.h"

namespace glint::cli {

namespace fs = std::filesystem;

LanguageRun load_language_run(const std::string& directory) {
  LanguageRun run;
  run.directory = directory;
  while (run.directory.size() > 1 && run.directory.back() == '/') run.directory.pop_back();
  std::error_code ignored;
  const auto there = [&](const char* file) { return fs::exists(fs::path(run.directory) / file, ignored); };
  if (!fs::is_directory(run.directory, ignored) || !there("config.json"))
    throw Error({.code = ErrorCode::bad_file,
                 .what = fs::exists(run.directory, ignored) ? "not a run directory" : "no such run directory",
                 .where = run.directory,
                 .expected = "a directory that glint train made, with config.json, model.safetensors and "
                             "tokenizer.model",
                 .hint = "glint train --data tales --out DIR makes one"});
  if (model_kind(run.directory) != ModelKind::language)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "this is a model of images, which writes no text",
                 .where = run.directory,
                 .expected = "a run of a language model",
                 .hint = "glint eval " + run.directory + " shows what it can do"});
  if (!there("model.safetensors"))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the run is not finished: it has no weights yet",
                 .where = run.directory,
                 .expected = "model.safetensors, which the last step writes",
                 .hint = "the command that began it goes on"});
  run.model = load_language_model(run.directory);
  const std::string path = run.directory + "/" + kTokenizerFile;
  run.tokenizer = Tokenizer::read(path);
  if (run.tokenizer.sha256() != run.model.tokenizer_hash || run.tokenizer.size() != run.model.config.vocab)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the tokenizer is not the one that the model was trained with",
                 .where = path,
                 .expected = std::to_string(run.model.config.vocab) + " pieces, SHA-256 " +
                             run.model.tokenizer_hash});
  return run;
}

}  // namespace glint::cli

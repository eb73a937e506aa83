#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/data/story_file.h"
#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/work/data_words.h"
#include "glint/lab/work/file_words.h"
#include "glint/model/language_file.h"
#include "glint/train/checkpoint.h"
#include "glint/train/options.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

// config.json and tokenizer.model: more is none of them.
constexpr size_t kMaxRunFile = size_t{1} << 28;

// Arrays of a program, of which nobody keeps a copy.
bool on_arrays(const RunInfo& run) {
  return run.run.is_object() && run.run.contains("data") && run.run["data"].value("origin", "") == kFromMemory;
}

// A recipe is nothing but options, so those of run.json that are not the defaults make the same run. The call
// is in code marks, as the program shows it as a command: values are quoted for a shell.
std::string resume_call(const RunInfo& run) {
  const Json& options = run.run["identity"]["options"];
  TrainOptions standard;
  standard.text = options.contains("context");
  const Json defaults = options_to_json(standard);
  std::string call = "`train(";
  for (const auto& [key, value] : options.items()) {
    if (key != "data" && defaults.contains(key) && defaults[key] == value) continue;
    std::string parameter = key;
    std::ranges::replace(parameter, '-', '_');
    if (key == "data" && on_arrays(run)) {
      call += "data=ARRAYS, ";
      continue;
    }
    call += parameter + "=" + shell_word(value.is_string() ? value.get<std::string>() : value.dump()) + ", ";
  }
  return call + "out=" + shell_word(run.directory) + ")`";
}

// A run inside `directory`, as several seeds make them; "" when there is none.
std::string run_inside(const std::string& directory) {
  std::error_code ignored;
  std::string first;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored))
    if (fs::exists(e.path() / "run.json", ignored) && (first.empty() || e.path().string() < first))
      first = e.path().string();
  return first;
}

// A file of weights inside `directory`; "" when there is none.
std::string model_inside(const std::string& directory) {
  std::error_code ignored;
  std::string first;
  for (const fs::directory_entry& e : fs::directory_iterator(directory, ignored))
    if (e.is_regular_file(ignored) && (first.empty() || e.path().string() < first) && weight_format(e.path().string()))
      first = e.path().string();
  return first;
}

// Neither a run nor a model of another program.
[[noreturn]] void refuse_path(const std::string& path) {
  const std::string expected =
      std::string("a directory that `train()` made, or a model of another program: ") + kWeightFormats;
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    try {
      open_weights(path);
    } catch (const Error& e) {
      ErrorParts parts = e.parts();
      parts.expected = expected;
      throw Error(parts);
    }
  }
  const std::string inside = run_inside(path), model = model_inside(path);
  const bool weights = exists(path + "/model.safetensors");
  bad_file(path,
           !exists(path) ? "no such run directory or model"
           : weights     ? "there are weights, but no config.json"
                         : "not a run directory, and no model",
           expected,
           !inside.empty()  ? "there is a run in " + inside
           : weights        ? "copy config.json from where the weights are from"
           : !model.empty() ? "there is a model in it: " + model
                            : "`train(quick, out=DIR)` makes a run");
}

// What makes the files of a run once more: its training, or where it is another run with eigenvectors removed
// the same ablation.
std::string making_call(const RunInfo& run) {
  if (run.run["identity"].contains("ablations"))
    return "`ablate(RUN, save=DIR)` with the options in run.json, into another folder,";
  return resume_call(run);
}

[[noreturn]] void refuse_unfinished(const RunInfo& run) {
  if (run.run["state"] == "diverged")
    bad_file(run.directory, "the training diverged: there are no weights", "a finished run",
             "train again with a smaller `lr`, in another directory");
  bad_file(run.directory, "the run is not finished: it has no weights yet",
           "model.safetensors, which the last step writes", making_call(run));
}

// The text of a file of the run. Error when it is not what run.json says.
std::string checked_text(const RunInfo& run, const std::string& name) {
  const std::string path = run.directory + "/" + name;
  std::string text = exists(path) ? read_file(path, kMaxRunFile) : "";
  std::string wrong;
  if (run.run.is_object())
    wrong = exists(path) ? damage(as_bytes(text), run.run, name) : damage(run.directory, run.run, name);
  if (!wrong.empty())
    bad_file(path, "a file of the run " + wrong, "the file as it was when the run finished",
             making_call(run) + " writes it anew");
  return text;
}

// model.safetensors, or when that is damaged the weights of the checkpoint of the last step. Nothing is
// written.
Matrix<float> run_weights(const Engine& engine, const RunInfo& info, const ParamTable& table) {
  const std::string path = info.directory + "/" + kWeightsFile;
  std::string wrong = "is missing";
  if (exists(path) || !info.run.is_object()) {
    const MappedFile file(path);
    wrong = info.run.is_object() ? damage(file.bytes(), info.run, kWeightsFile) : "";
    if (wrong.empty()) return load_weights(parse_safetensors(file.bytes(), path), table);
  }
  std::optional<CheckpointWeights> copy =
      checkpoint_weights(info.directory + "/checkpoints", sha256_hex(as_bytes(info.run["identity"].dump())),
                         info.run.value("steps", uint64_t{0}), table.floats());
  if (!copy || weights_file_hash(table, copy->weights.span()) != info.run["files"][kWeightsFile])
    bad_file(path, "the file with the weights " + wrong,
             "the weights as they were when the run finished, or a checkpoint of its last step",
             making_call(info) + (info.run["identity"].contains("ablations") ? " makes it again" : " trains it again"));
  engine.note(path + " " + wrong + "; the same weights are read from " + copy->path +
              " (the command that made the run repairs it)");
  return std::move(copy->weights);
}

// run.json, with what to do when it is damaged.
RunFile read_run(const std::string& directory) {
  try {
    return read_run_file(directory);
  } catch (const Error& e) {
    ErrorParts parts = e.parts();
    if (parts.code == ErrorCode::bad_file && parts.hint.empty())
      parts.hint = "the command that trained the run repairs it where a checkpoint is left";
    throw Error(parts);
  }
}

}  // namespace

namespace {

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// run_info of a folder that is no model of another program, with config.json unread.
RunInfo finished_run(const std::string& directory) {
  RunInfo run;
  run.directory = without_slash(directory);
  const std::string info_path = run.directory + "/" + kRunFile;
  std::error_code ignored;
  if (!fs::is_directory(run.directory, ignored) || (!exists(run.directory + "/config.json") && !exists(info_path)))
    refuse_path(run.directory);
  if (!exists(info_path)) {  // an export: there is nothing to check it with
    if (!exists(run.directory + "/" + kWeightsFile)) bad_file(run.directory, "there are no weights", kWeightsFile);
    return run;
  }
  const RunFile file = read_run(run.directory);
  run.run = file.json;
  const JsonFields f(run.run, info_path);
  run.precision = f.object("identity").object("options").optional<std::string>("precision", run.precision);
  if (f.has("data")) run.data_checksum = f.object("data").optional<std::string>("checksum", "");
  if (!file.finished()) refuse_unfinished(run);
  return run;
}

}  // namespace

RunInfo run_info(const std::string& directory) {
  check_not_foreign(directory, "this");
  RunInfo run = finished_run(directory);
  if (run.run.is_object()) checked_text(run, "config.json");
  return run;
}

namespace {

std::unique_ptr<Run> open_foreign(const Engine& engine, const RunSource& source, const Json* config = nullptr) {
  return std::make_unique<LanguageRun>(engine, source,
                                       std::make_shared<const LanguageFile>(open_language_file(source, config)));
}

std::unique_ptr<Run> open_own_language(const Engine& engine, const RunSource& source, RunInfo info,
                                       const ConfigFile& config, const WeightsSource& weights) {
  const std::string tokenizer = info.directory + "/" + kTokenizerFile;
  const std::string pieces = checked_text(info, kTokenizerFile);
  const auto own = std::make_shared<const LanguageModel>(load_language_model(config, weights));
  LanguageFile file{.info = info,
                    .own = own,
                    .model = glint_model(own, info.directory),
                    .tokenizer = exists(tokenizer) ? Tokenizer::parse(pieces, tokenizer) : Tokenizer::read(tokenizer)};
  const bool fits = file.tokenizer.size() == own->config.vocab &&
                    (own->tokenizer_hash.empty() || own->tokenizer_hash == file.tokenizer.sha256());
  if (!fits)
    bad_file(tokenizer, "the tokenizer is not the one that the model was trained with",
             "SHA-256 " + own->tokenizer_hash + ", " + std::to_string(own->config.vocab) + " pieces",
             "copy tokenizer.model from the corpus of the run");
  return std::make_unique<LanguageRun>(engine, source, std::make_shared<const LanguageFile>(std::move(file)));
}

// Reads every file once, and no weights of a model whose kind is another than the wanted.
std::unique_ptr<Run> open_any(const Engine& engine, const RunSource& source, std::optional<ModelKind> wanted,
                              std::shared_ptr<const Dataset> data = nullptr) {
  std::error_code ignored;
  if (fs::is_regular_file(source.run, ignored)) {
    if (wanted == ModelKind::image && weight_format(source.run)) refuse_language(source.run);
    try {
      return open_foreign(engine, source);
    } catch (const Error& e) {
      if (e.parts().expected == kWeightFormats) refuse_path(source.run);
      throw;
    }
  }
  const std::string directory = without_slash(source.run), path = directory + "/config.json";
  Json json;
  if (!exists(directory + "/" + kRunFile) && exists(path)) json = read_json(path);
  if (is_foreign_config(json)) {
    if (wanted == ModelKind::image) refuse_language(source.run);
    return open_foreign(engine, source, &json);
  }
  refuse_tokenizer(source.tokenizer);
  RunInfo info = finished_run(directory);
  if (info.run.is_object()) {
    const std::string text = checked_text(info, "config.json");
    if (exists(path)) json = parse_json(text, path);
  }
  const ConfigFile config = json.is_null() ? ConfigFile(info.directory) : ConfigFile(info.directory, std::move(json));
  if (wanted == ModelKind::image && config.kind() != *wanted) refuse_language(info.directory);
  if (wanted == ModelKind::language && config.kind() != *wanted) refuse_image(info.directory);
  const auto weights = [&](const ParamTable& table) { return run_weights(engine, info, table); };
  if (config.kind() == ModelKind::language) return open_own_language(engine, source, info, config, weights);
  ImageModel model = load_image_model(config, weights);
  return std::make_unique<ImageRun>(engine, source, std::move(info), std::move(model), std::move(data));
}

template <class Kind>
std::unique_ptr<Kind> as(std::unique_ptr<Run> run) {
  return std::unique_ptr<Kind>(static_cast<Kind*>(run.release()));
}

}  // namespace

ModelKind run_kind(const std::string& path) {
  return is_foreign(path) ? ModelKind::language : model_kind(run_info(path).directory);
}

std::unique_ptr<Run> open_run(const Engine& engine, const RunSource& source, std::shared_ptr<const Dataset> data) {
  return open_any(engine, source, std::nullopt, std::move(data));
}

std::unique_ptr<ImageRun> open_image_run(const Engine& engine, const RunSource& source,
                                         std::shared_ptr<const Dataset> data) {
  return as<ImageRun>(open_any(engine, source, ModelKind::image, std::move(data)));
}

std::unique_ptr<LanguageRun> open_language_run(const Engine& engine, const RunSource& source) {
  return as<LanguageRun>(open_any(engine, source, ModelKind::language));
}

}  // namespace glint

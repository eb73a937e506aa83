#include "glint/lab/run.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/data/story_reader.h"
#include "glint/io/json.h"
#include "glint/lab/file_words.h"
#include "glint/lab/foreign.h"
#include "glint/lab/run_checks.h"
#include "glint/train/checkpoint.h"
#include "glint/train/options.h"
#include "glint/train/run_file.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

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
    if (e.is_regular_file(ignored) && (first.empty() || e.path().string() < first) &&
        weight_format(e.path().string()))
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
  throw Error({.code = ErrorCode::bad_file,
               .what = !exists(path) ? "no such run directory or model"
                       : weights     ? "there are weights, but no config.json"
                                     : "not a run directory, and no model",
               .where = path,
               .expected = expected,
               .hint = !inside.empty()  ? "there is a run in " + inside
                       : weights        ? "copy config.json from where the weights are from"
                       : !model.empty() ? "there is a model in it: " + model
                                        : "`train(quick, out=DIR)` makes a run"});
}

// "28 x 28", or "vectors of 20 numbers".
std::string size_text(size_t height, size_t width, size_t inputs) {
  return height > 0 ? std::to_string(height) + " x " + std::to_string(width)
                    : "vectors of " + std::to_string(inputs) + " numbers";
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
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the training diverged: there are no weights",
                 .where = run.directory,
                 .expected = "a finished run",
                 .hint = "train again with a smaller `lr`, in another directory"});
  throw Error({.code = ErrorCode::bad_file,
               .what = "the run is not finished: it has no weights yet",
               .where = run.directory,
               .expected = "model.safetensors, which the last step writes",
               .hint = making_call(run)});
}

// Error when the file is not what run.json says.
void check_file(const RunInfo& run, const std::string& name) {
  if (!run.run.is_object()) return;
  if (const std::string wrong = damage(run.directory, run.run, name); !wrong.empty())
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a file of the run " + wrong,
                 .where = run.directory + "/" + name,
                 .expected = "the file as it was when the run finished",
                 .hint = making_call(run) + " writes it anew"});
}

// model.safetensors, or when that is damaged the weights of the checkpoint of the last step. Nothing is
// written.
Matrix<float> run_weights(const Engine& engine, const RunInfo& info, const ParamTable& table) {
  const std::string path = info.directory + "/" + kWeightsFile;
  if (!info.run.is_object()) return load_weights(path, table);
  const std::string wrong = damage(info.directory, info.run, kWeightsFile);
  if (wrong.empty()) return load_weights(path, table);
  std::optional<CheckpointWeights> copy =
      checkpoint_weights(info.directory + "/checkpoints", sha256_hex(as_bytes(info.run["identity"].dump())),
                         info.run.value("steps", uint64_t{0}), table.floats());
  if (!copy || weights_file_hash(table, copy->weights.span()) != info.run["files"][kWeightsFile])
    throw Error(
        {.code = ErrorCode::bad_file,
         .what = "the file with the weights " + wrong,
         .where = path,
         .expected = "the weights as they were when the run finished, or a checkpoint of its last step",
         .hint = making_call(info) +
                 (info.run["identity"].contains("ablations") ? " makes it again" : " trains it again")});
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

RunInfo open_run(const std::string& directory) {
  refuse_foreign(directory, "this");
  RunInfo run;
  run.directory = directory;
  while (run.directory.size() > 1 && run.directory.back() == '/') run.directory.pop_back();
  const std::string config = run.directory + "/config.json", info_path = run.directory + "/run.json",
                    weights = run.directory + "/model.safetensors";
  std::error_code ignored;
  if (!exists(run.directory) || !fs::is_directory(run.directory, ignored) ||
      (!exists(config) && !exists(info_path)))
    refuse_path(run.directory);
  if (!exists(info_path)) {  // a model of another program, or an export: there is nothing to check it with
    if (!exists(weights))
      throw Error({.code = ErrorCode::bad_file,
                   .what = "there are no weights",
                   .where = run.directory,
                   .expected = "model.safetensors"});
    return run;
  }
  const RunFile file = read_run(run.directory);
  run.run = file.json;
  const JsonFields f(run.run, info_path);
  run.precision = f.object("identity").object("options").optional<std::string>("precision", run.precision);
  if (f.has("data")) run.data_checksum = f.object("data").optional<std::string>("checksum", "");
  if (!file.finished()) refuse_unfinished(run);
  check_file(run, "config.json");
  return run;
}

LoadedRun load_run(const Engine& engine, const std::string& directory) {
  const RunInfo info = open_run(directory);
  check_image_run(info);
  return {info, load_image_model(info.directory,
                                 [&](const ParamTable& table) { return run_weights(engine, info, table); })};
}

LanguageRun load_language_run(const Engine& engine, const std::string& directory) {
  const RunInfo info = open_run(directory);
  check_file(info, kTokenizerFile);
  LanguageRun run{
      info,
      load_language_model(info.directory,
                          [&](const ParamTable& table) { return run_weights(engine, info, table); }),
      Tokenizer::read(info.directory + "/" + kTokenizerFile)};
  const bool fits = run.tokenizer.size() == run.model.config.vocab &&
                    (run.model.tokenizer_hash.empty() || run.model.tokenizer_hash == run.tokenizer.sha256());
  if (!fits)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the tokenizer is not the one that the model was trained with",
                 .where = info.directory + "/" + kTokenizerFile,
                 .expected = "SHA-256 " + run.model.tokenizer_hash + ", " +
                             std::to_string(run.model.config.vocab) + " pieces",
                 .hint = "copy tokenizer.model from the corpus of the run"});
  return run;
}

TextData load_run_text(const Engine& engine, const LanguageRun& run, const std::string& name_or_dir) {
  const bool own = name_or_dir.empty();
  TextData data;
  try {
    data = load_text_data(own ? run.model.data : name_or_dir);
  } catch (const Error& e) {
    if (!own) throw;
    ErrorParts parts = e.parts();
    parts.what += " (the run was trained on it)";
    if (parts.where == "data") {  // nobody gave that
      parts.code = ErrorCode::bad_file;
      parts.where = run.directory + "/config.json";
    }
    parts.hint = "`data=DIR`, where the corpus is now" + (parts.hint.empty() ? "" : ", or " + parts.hint);
    throw Error(parts);
  }
  if (data.tokenizer.sha256() != run.tokenizer.sha256())
    throw Error(
        {.code = ErrorCode::bad_file,
         .what = "the corpus was made with another tokenizer than the model's",
         .where = data.origin,
         .expected = "ids of " + run.directory + "/" + kTokenizerFile,
         .hint = "`tokenize(TEXT, tokenizer=" + run.directory + "/" + kTokenizerFile + ", out=DIR)`"});
  if (own && !run.data_checksum.empty() && run.data_checksum != data.checksum)
    engine.note(data.name + " is not what it was when the run was trained (other checksum)");
  return data;
}

Dataset load_run_data(const Engine& engine, const LoadedRun& run, const std::string& name_or_dir,
                      const DataOptions& options) {
  const ImageModel& model = run.model;
  const bool own = name_or_dir.empty();
  if (own && model.data.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "the run does not say what data it was trained on",
                 .where = run.directory + "/config.json",
                 .expected = "`data` with a data set or a folder"});
  if (own && on_arrays(run))
    throw Error({.code = ErrorCode::usage,
                 .what = "the run was trained on arrays in memory, of which it keeps no copy",
                 .where = "data",
                 .expected = "the same images and labels: the arrays, or a folder with them",
                 .hint = "`spectrum(RUN, form=weights)` needs none"});
  Dataset data;
  try {
    data = load_dataset(own ? model.data : name_or_dir, options);
  } catch (const Error& e) {
    if (!own || e.code() == ErrorCode::interrupted) throw;
    ErrorParts parts = e.parts();
    parts.what += " (the run was trained on it)";
    parts.hint += (parts.hint.empty() ? "" : ", or ") + std::string("`data` with a data set or a folder");
    throw Error(parts);
  }
  check_run_data(engine, run, data, own);
  return data;
}

void check_run_data(const Engine& engine, const LoadedRun& run, const Dataset& data, bool own) {
  const ImageModel& model = run.model;
  const ImageSet& set = data.train;
  if (set.height != model.height || set.width != model.width || set.inputs() != model.config.inputs)
    throw Error(
        {.code = ErrorCode::bad_file,
         .what = "the images of " + data.name + " do not fit the model: they are " +
                 size_text(set.height, set.width, set.inputs()),
         .where = data.origin,
         .expected = size_text(model.height, model.width, model.config.inputs) + ", as in " + run.directory});
  if (data.train.classes > model.config.classes)
    throw Error(
        {.code = ErrorCode::bad_file,
         .what = data.name + " has " + std::to_string(data.train.classes) + " classes, more than the model",
         .where = data.origin,
         .expected =
             "labels from 0 to " + std::to_string(model.config.classes - 1) + ", as in " + run.directory});
  if (data.train.classes < model.config.classes)
    engine.note(data.name + " has " + std::to_string(data.train.classes) + " classes, the model " +
                std::to_string(model.config.classes));
  if (own && !run.data_checksum.empty() && run.data_checksum != data.checksum)
    engine.note(data.name + " is not what it was when the run was trained (other checksum)");
}

std::string model_text(const ImageModel& m) {
  const ClassifierConfig& c = m.config;
  std::string text = std::string(gate_info(c.gate.kind).text.name) + ", " + std::to_string(c.layers) +
                     (c.layers == 1 ? " layer" : " layers") + ", width " + std::to_string(c.d_model);
  if (c.hidden() != c.d_model) text += " and " + std::to_string(c.hidden());
  if (c.bias) text += ", bias";
  if (c.residual) text += ", residual";
  if (c.norm == Norm::rms) text += ", norm rms";
  return text + ", " + std::to_string(classifier_params(c).table.parameters()) + " parameters";
}

std::string model_text(const LanguageModel& m) {
  const TransformerConfig& c = m.config;
  std::string text = std::string(gate_info(c.gate.kind).text.name) + ", " + std::to_string(c.layers) +
                     (c.layers == 1 ? " layer" : " layers") + ", width " + std::to_string(c.d_model);
  if (c.hidden() != c.d_model) text += " and " + std::to_string(c.hidden());
  return text + ", " + std::to_string(c.vocab) + " tokens, " +
         std::to_string(transformer_params(c).table.parameters()) + " parameters";
}

std::string printable(std::string text) {
  repair_utf8(text);
  for (size_t i = 0; i < text.size(); i++) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) text[i] = '?';
    // U+0080 to U+009F are control characters too.
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) text.replace(i, 2, "?");
  }
  return text;
}

}  // namespace glint

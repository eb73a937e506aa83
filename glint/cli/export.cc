// glint export: a run's weights for other programs, as .npy files or as a folder that PyTorch users expect.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/base/version.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/export_folder.h"
#include "glint/cli/opened_run.h"
#include "glint/cli/verbs.h"
#include "glint/io/npy.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"
#include "glint/report/hf_folder.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  ReadingOptions reading;
  std::string npy, hf;
  bool force = false;
};

// The run with its data; null, with a note, when the data are not at hand: the weights can go without.
std::unique_ptr<OpenedRun> open_with_data(const Context& context, const Engine& engine, const Options& o,
                                          const std::string& lost) {
  try {
    return std::make_unique<OpenedRun>(context, engine, o.reading);
  } catch (const Error& e) {
    if (!o.reading.data.empty()) throw;
    context.say("note: without " + lost + ", since the data are not at hand: " + e.parts().what);
    return nullptr;
  }
}

// Writes arrays and keeps the list of them.
class Arrays {
 public:
  Arrays(FileSystem& files, const ExportFolder& folder) : files_(files), folder_(folder) {}

  // `about` is added to what the manifest says of the array.
  void add(const std::string& name, Dtype dtype, std::vector<size_t> shape, std::span<const std::byte> bytes,
           const ordered_json& about = ordered_json::object()) {
    const std::string file = name + ".npy";
    write_npy(files_, folder_.file(file), dtype, shape, bytes);
    list_.push_back({{"name", name},
                     {"file", file},
                     {"dtype", dtype_name(dtype)},
                     {"shape", shape},
                     {"sha256", sha256_hex(bytes)}});
    list_.back().update(about);
  }
  const ordered_json& list() const { return list_; }

 private:
  FileSystem& files_;
  const ExportFolder& folder_;
  ordered_json list_ = ordered_json::array();
};

bool fits_npy(Dtype d) { return d == Dtype::f32 || d == Dtype::f64 || d == Dtype::u8 || d == Dtype::i32; }

// A tensor's name becomes a file's: nothing in it may lead elsewhere.
bool fits_file(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos && printable(name) == name;
}

void check_spectra_seal(const Context& context, const SafetensorsFile& file, const std::string& path) {
  const Seal seal = seal_of(file);
  if (seal == Seal::broken)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the spectra are damaged: the file is not what its checksum says",
                 .where = path,
                 .expected = "the file as glint spectrum wrote it",
                 .hint = "glint spectrum makes it anew"});
  if (seal == Seal::none)
    context.say("note: " + path + " has no checksum, so that damage would not be noticed");
}

// The spectra of one file, with what every row of its arrays is.
ordered_json add_spectra(const Context& context, const std::filesystem::path& path, Arrays& arrays) {
  const SafetensorsFile file(path.string());
  check_spectra_seal(context, file, path.string());
  const auto said = [&](const char* key) {
    const std::string* found = file->find_metadata(key);
    return found ? *found : std::string();
  };
  const auto refuse = [&](const std::string& what) {
    throw Error({.code = ErrorCode::bad_file,
                 .what = what,
                 .where = path.string(),
                 .expected = "what glint spectrum writes",
                 .hint = "remove the file, and run glint spectrum again"});
  };
  const std::string layer = said("layer");
  if (said("format") != "glint-spectra") refuse("this is no file of spectra");
  if (layer.empty() || layer.size() > 6 || layer.find_first_not_of("0123456789") != layer.npos)
    refuse("the spectra name no layer");
  const Json units = parse_json(said("units"), path.string());
  ordered_json rows = ordered_json::array();
  if (!units.is_array()) refuse("the spectra name no units");
  for (const Json& unit : units)
    rows.push_back({{"unit", unit}, {"form", said("form")}, {"layer", std::stoul(layer)}});
  const std::string stem = path.stem().string();
  ordered_json names = ordered_json::array();
  for (const TensorInfo& t : file->tensors()) {
    if (!fits_npy(t.dtype) || !fits_file(t.name)) {
      context.say("note: left out: " + printable(t.name) + " of " + path.string() + ", " +
                  dtype_name(t.dtype));
      continue;
    }
    if (t.shape.empty() || t.shape[0] != rows.size()) refuse("the spectra are not of the units they name");
    names.push_back(stem + "." + t.name);
    arrays.add(stem + "." + t.name, t.dtype, t.shape, t.bytes, {{"rows", rows}});
  }
  return {{"source", path.filename().string()},
          {"form", said("form")},
          {"layer", std::stoul(layer)},
          {"units", ordered_json(units)},
          {"weights_sha256", said("model_sha256")},
          {"arrays", names}};
}

// All files of spectra in a run, those of all classes first.
std::vector<std::filesystem::path> spectra_files(const std::string& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  std::filesystem::directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if ((name == "spectra.safetensors" || name.starts_with("spectra-")) && name.ends_with(".safetensors"))
      found.push_back(at->path());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.stem() != "spectra", a) < std::pair(b.stem() != "spectra", b);
  });
  return found;
}

ordered_json export_npy(const Context& context, const Options& o, const LoadedRun& run, OpenedRun* opened) {
  ExportFolder folder(context.files, o.npy, "manifest.json", o.force);
  Arrays arrays(context.files, folder);
  const ClassifierParams params = classifier_params(run.model.config);
  for (const ParamSpec& s : params.table.specs())
    arrays.add(s.name, Dtype::f32, s.vector ? std::vector{s.cols} : std::vector{s.rows, s.cols},
               std::as_bytes(run.model.weights.span().subspan(s.offset, s.size())));
  ordered_json manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", run.directory}};
  manifest["config"] = ordered_json(hf_config(run.model));
  if (opened) {
    const StoredCalibration& calibration = opened->calibration();
    ordered_json kinds = ordered_json::array();
    for (size_t i = 0; i < calibration.lines.size(); i++) {
      const GateLine& line = calibration.lines[i];
      std::vector<double> shift = line.shift;
      shift.resize(line.gain.size());
      const std::string gates = "gates." + std::to_string(i);
      const ordered_json about = {{"form", "calibrated"}, {"layer", i + 1}};
      arrays.add(gates + ".gain", Dtype::f64, {line.gain.size()}, std::as_bytes(std::span(line.gain)), about);
      arrays.add(gates + ".shift", Dtype::f64, {shift.size()}, std::as_bytes(std::span(shift)), about);
      kinds.push_back(name(calibration.kinds[i]));
    }
    manifest["calibration"] = {{"inputs", calibration.inputs}, {"data", calibration.data}, {"kinds", kinds}};
  }
  manifest["spectra"] = ordered_json::array();
  for (const std::filesystem::path& path : spectra_files(run.directory))
    manifest["spectra"].push_back(add_spectra(context, path, arrays));
  manifest["arrays"] = arrays.list();
  write_atomic(context.files, folder.file("manifest.json"), manifest.dump(2) + "\n");
  folder.commit();
  return {{"out", o.npy}, {"kind", "npy"}, {"arrays", arrays.list()}};
}

ModelCard model_card(const LoadedRun& run, OpenedRun* opened) {
  const std::filesystem::path path = run.directory;
  ModelCard card{.name = printable(path.filename().string()),
                 .version = kVersion,
                 .options = {},
                 .result = {},
                 .fidelity = {}};
  if (run.run.is_object()) {
    card.options = run.run["identity"]["options"];
    if (run.run.contains("result")) card.result = run.run["result"];
  }
  if (!opened) return card;
  const ImageReading& reading = opened->reading();
  const ImageSet& test = opened->data().test;
  const ImagePass pass = reading.run(test.pixels, reading.last());
  for (const char* form : {"weights", "calibrated"}) {
    const Fidelity f =
        reading.read(reading.classes(), opened->lines(form)[reading.last()], pass, labels_of(test)).fidelity;
    card.fidelity.push_back({form, f.agreement, f.r2, f.accuracy_form});
  }
  return card;
}

ordered_json export_hf(const Context& context, const Options& o, const LoadedRun& run, OpenedRun* opened) {
  ExportFolder folder(context.files, o.hf, "modeling_glint.py", o.force);
  save_weights(context.files, folder.file("model.safetensors"), classifier_params(run.model.config).table,
               run.model.weights.span());
  write_atomic(context.files, folder.file("config.json"), hf_config(run.model).dump(2) + "\n");
  write_atomic(context.files, folder.file("README.md"), hf_readme(run.model, model_card(run, opened)));
  write_atomic(context.files, folder.file("modeling_glint.py"), hf_modeling());
  folder.commit();
  return {{"out", o.hf},
          {"kind", "hf"},
          {"files", {"config.json", "model.safetensors", "modeling_glint.py", "README.md"}}};
}

void export_run(Context& context, const Options& o) {
  const RunInfo info = open_run(o.reading.run);
  if (model_kind(info.directory) == ModelKind::language)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "this is a language model: export is for image models",
                 .where = info.directory,
                 .expected = "a run that was trained on images",
                 .hint = info.directory +
                         "/model.safetensors already holds every tensor by its name; docs/formats.md "
                         "lists them"});
  if (o.npy.empty() && o.hf.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "no kind of export is given",
                 .where = "glint export",
                 .expected = "--npy DIR, --hf DIR, or both",
                 .hint = "glint export --help"});
  const Engine engine = engine_of(context);
  const std::unique_ptr<OpenedRun> opened =
      open_with_data(context, engine, o, "the gains of the gates and the fidelity");
  const LoadedRun run = opened ? opened->run() : load_run(context, o.reading.run);
  ordered_json done = ordered_json::array();
  if (!o.npy.empty()) done.push_back(export_npy(context, o, run, opened.get()));
  if (!o.hf.empty()) done.push_back(export_hf(context, o, run, opened.get()));
  if (context.shared.json) {
    context.print_json({{"run", run.directory}, {"exports", done}});
    return;
  }
  if (!o.npy.empty())
    context.out << o.npy << ": " << done[0]["arrays"].size() << " arrays and manifest.json\n";
  if (!o.hf.empty())
    context.out << o.hf << ": config.json, model.safetensors, modeling_glint.py, README.md\n"
                << "In Python, in that folder: from modeling_glint import GlintClassifier; "
                   "GlintClassifier.from_pretrained(\".\")\n";
}

}  // namespace

void add_export(Program& program) {
  Verb& verb = program.add(
      {.name = "export",
       .group = Group::read,
       .summary = "weights and spectra for other programs",
       .details =
           "--npy writes each tensor as a NumPy file, with the gains and shifts of the calibrated gates, the "
           "spectra where glint spectrum has stored them, and manifest.json with names, shapes, "
           "checksums and, of spectra, the unit, form and layer of every row. "
           "--hf writes a folder as model hubs expect it: config.json, model.safetensors, a model card with "
           "metrics, fidelity and training options, and modeling_glint.py, a PyTorch class that gives the "
           "same "
           "logits. glint eval reads that folder too. Both are for image models: of a language model "
           "model.safetensors of the run already holds every tensor.\n\n"
           "A folder appears whole or not at all. One that holds anything is left alone; --force replaces an "
           "earlier export and nothing else.",
       .examples = {
           {"glint export runs/first --npy arrays", "arrays/embed.weight.npy, ..."},
           {"glint export runs/first --hf hub/first --force", "for PyTorch, replacing the last export"}}});
  const auto o = std::make_shared<Options>();
  add_reading_options(verb, o->reading);
  verb.directory("--npy", o->npy, "Write .npy files into this new folder");
  verb.directory("--hf", o->hf, "Write a folder as model hubs expect it");
  verb.flag("--force", o->force, "Replace an earlier export");
  verb.share_threads();
  verb.share_isa();
  verb.share_linalg();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) { export_run(context, *o); });
}

}  // namespace glint::cli

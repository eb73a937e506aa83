#include "glint/lab/export.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/base/version.h"
#include "glint/io/npy.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"
#include "glint/lab/controls.h"
#include "glint/lab/export_folder.h"
#include "glint/report/hf_folder.h"

namespace glint {
namespace {

// The run with its data; null, with a note, when the data are not at hand: the weights can go without.
std::unique_ptr<Run> open_with_data(const Engine& engine, const ExportRequest& q, const std::string& lost) {
  try {
    auto run = std::make_unique<Run>(engine, q.reading);
    run->images();
    return run;
  } catch (const Error& e) {
    if (!q.reading.data.empty() || q.reading.images || e.code() == ErrorCode::interrupted) throw;
    engine.note("without " + lost + ", since the data are not at hand: " + e.parts().what);
    return nullptr;
  }
}

// Writes arrays and keeps the list of them.
class Arrays {
 public:
  Arrays(FileSystem& files, const ExportFolder& folder) : files_(files), folder_(folder) {}

  // `about` is added to what the manifest says of the array.
  void add(const std::string& name, Dtype dtype, std::vector<size_t> shape, std::span<const std::byte> bytes,
           const OrderedJson& about = OrderedJson::object()) {
    const std::string file = name + ".npy";
    write_npy(files_, folder_.file(file), dtype, shape, bytes);
    list_.push_back({name, file, dtype_name(dtype), std::move(shape), sha256_hex(bytes), about});
  }
  const std::vector<ExportedArray>& list() const { return list_; }

 private:
  FileSystem& files_;
  const ExportFolder& folder_;
  std::vector<ExportedArray> list_;
};

OrderedJson list_json(const std::vector<ExportedArray>& arrays) {
  OrderedJson list = OrderedJson::array();
  for (const ExportedArray& a : arrays) list.push_back(to_json(a));
  return list;
}

bool fits_npy(Dtype d) { return d == Dtype::f32 || d == Dtype::f64 || d == Dtype::u8 || d == Dtype::i32; }

// A tensor's name becomes a file's: nothing in it may lead elsewhere.
bool fits_file(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos && printable(name) == name;
}

void check_spectra_seal(const Engine& engine, const SafetensorsFile& file, const std::string& path) {
  const Seal seal = seal_of(file);
  if (seal == Seal::broken)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the spectra are damaged: the file is not what its checksum says",
                 .where = path,
                 .expected = "the file as it was written",
                 .hint = "`spectrum(RUN)` makes it anew"});
  if (seal == Seal::none) engine.note("" + path + " has no checksum, so that damage would not be noticed");
}

// The spectra of one file, with what every row of its arrays is.
OrderedJson add_spectra(const Engine& engine, const std::filesystem::path& path, Arrays& arrays) {
  const SafetensorsFile file(path.string());
  check_spectra_seal(engine, file, path.string());
  const auto said = [&](const char* key) {
    const std::string* found = file->find_metadata(key);
    return found ? *found : std::string();
  };
  const auto refuse = [&](const std::string& what) {
    throw Error({.code = ErrorCode::bad_file,
                 .what = what,
                 .where = path.string(),
                 .expected = "spectra as they are stored in a run",
                 .hint = "remove the file; `spectrum(RUN)` makes it anew"});
  };
  const std::string layer = said("layer");
  if (said("format") != "glint-spectra") refuse("this is no file of spectra");
  if (layer.empty() || layer.size() > 6 || layer.find_first_not_of("0123456789") != layer.npos)
    refuse("the spectra name no layer");
  const Json units = parse_json(said("units"), path.string());
  OrderedJson rows = OrderedJson::array();
  if (!units.is_array()) refuse("the spectra name no units");
  for (const Json& unit : units)
    rows.push_back({{"unit", unit}, {"form", said("form")}, {"layer", std::stoul(layer)}});
  const std::string stem = path.stem().string();
  OrderedJson names = OrderedJson::array();
  for (const TensorInfo& t : file->tensors()) {
    if (!fits_npy(t.dtype) || !fits_file(t.name)) {
      engine.note("left out: " + printable(t.name) + " of " + path.string() + ", " + dtype_name(t.dtype));
      continue;
    }
    if (t.shape.empty() || t.shape[0] != rows.size()) refuse("the spectra are not of the units they name");
    names.push_back(stem + "." + t.name);
    arrays.add(stem + "." + t.name, t.dtype, t.shape, t.bytes, {{"rows", rows}});
  }
  return {{"source", path.filename().string()},
          {"form", said("form")},
          {"layer", std::stoul(layer)},
          {"units", OrderedJson(units)},
          {"weights_sha256", said("model_sha256")},
          {"linalg", said("linalg")},
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

// The gains of the scaled form of layer i, and their slopes where they depend on the input.
void add_scaled(size_t i, const GateLine& line, Arrays& arrays) {
  const std::string gates = "gates." + std::to_string(i) + ".scaled";
  OrderedJson about = {{"form", "scaled"}, {"layer", i + 1}};
  if (!line.slope.empty()) about["power"] = line.power, about["size"] = line.size;
  const auto add = [&](const char* what, const std::vector<double>& values) {
    arrays.add(gates + what, Dtype::f64, {values.size()}, std::as_bytes(std::span(values)), about);
  };
  add(".gain", line.gain);
  if (!line.slope.empty()) add(".slope", line.slope);
}

std::vector<ExportedArray> export_npy(const Engine& engine, const ExportRequest& q, const LoadedRun& run,
                                      Run* opened) {
  ExportFolder folder(engine.files(), q.npy, "manifest.json", q.force);
  Arrays arrays(engine.files(), folder);
  const ClassifierParams params = classifier_params(run.model.config);
  for (const ParamSpec& s : params.table.specs())
    arrays.add(s.name, Dtype::f32, s.vector ? std::vector{s.cols} : std::vector{s.rows, s.cols},
               std::as_bytes(run.model.weights.span().subspan(s.offset, s.size())));
  OrderedJson manifest = {{"format", "glint-npy"}, {"version", kVersion}, {"run", run.directory}};
  manifest["config"] = OrderedJson(hf_config(run.model));
  if (opened) {
    const StoredCalibration& calibration = opened->calibration();
    OrderedJson kinds = OrderedJson::array();
    for (size_t i = 0; i < calibration.lines.size(); i++) {
      const GateLine& line = calibration.lines[i];
      std::vector<double> shift = line.shift;
      shift.resize(line.gain.size());
      const std::string gates = "gates." + std::to_string(i);
      const OrderedJson about = {{"form", "calibrated"}, {"layer", i + 1}};
      arrays.add(gates + ".gain", Dtype::f64, {line.gain.size()}, std::as_bytes(std::span(line.gain)), about);
      arrays.add(gates + ".shift", Dtype::f64, {shift.size()}, std::as_bytes(std::span(shift)), about);
      kinds.push_back(name(calibration.kinds[i]));
    }
    for (size_t i = 0; i < calibration.scaled.size(); i++) add_scaled(i, calibration.scaled[i], arrays);
    manifest["calibration"] = {{"inputs", calibration.inputs},
                               {"data", calibration.data},
                               {"linalg", calibration.linalg},
                               {"kinds", kinds}};
  }
  manifest["spectra"] = OrderedJson::array();
  for (const std::filesystem::path& path : spectra_files(run.directory))
    manifest["spectra"].push_back(add_spectra(engine, path, arrays));
  manifest["arrays"] = list_json(arrays.list());
  write_atomic(engine.files(), folder.file("manifest.json"), manifest.dump(2) + "\n");
  folder.commit();
  return arrays.list();
}

ModelCard model_card(const LoadedRun& run, Run* opened) {
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
  const ImageReading& reading = opened->image_reading();
  const ImageSet& test = opened->images().test;
  const Activations pass = reading.run(test, reading.last());
  const std::vector<std::string> forms = opened->forms();
  for (const std::string& form : forms)
    card.fidelity.push_back(
        {form, reading.read(reading.classes(), opened->lines(form)[reading.last()], pass, labels_of(test))
                   .fidelity});
  const Controls controls = controls_of(
      *opened, [](Run& of) { return of.image_reading().classes(); }, forms, pass, labels_of(test));
  card.fidelity.push_back({"control: linear map", controls.linear});
  for (const std::string& form : forms)
    card.fidelity.push_back({"control: untrained, " + form, controls.untrained.at(form)});
  return card;
}

std::vector<std::string> export_hf(const Engine& engine, const ExportRequest& q, const LoadedRun& run,
                                   Run* opened) {
  ExportFolder folder(engine.files(), q.hf, "modeling_glint.py", q.force);
  save_weights(engine.files(), folder.file("model.safetensors"), classifier_params(run.model.config).table,
               run.model.weights.span());
  write_atomic(engine.files(), folder.file("config.json"), hf_config(run.model).dump(2) + "\n");
  write_atomic(engine.files(), folder.file("README.md"), hf_readme(run.model, model_card(run, opened)));
  write_atomic(engine.files(), folder.file("modeling_glint.py"), hf_modeling());
  folder.commit();
  return {"config.json", "model.safetensors", "modeling_glint.py", "README.md"};
}

}  // namespace

ExportResult export_run(const Engine& engine, const ExportRequest& q) {
  const RunInfo info = open_run(q.reading.run);
  if (model_kind(info.directory) == ModelKind::language)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "this is a language model: export is for image models",
                 .where = info.directory,
                 .expected = "a run that was trained on images",
                 .hint = info.directory +
                         "/model.safetensors already holds every tensor by its name; docs/formats.md "
                         "lists them"});
  if (q.npy.empty() && q.hf.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "no kind of export is given",
                 .where = info.directory,
                 .expected = "`npy=DIR`, `hf=DIR`, or both"});
  const std::unique_ptr<Run> opened = open_with_data(engine, q, "the gains of the gates and the fidelity");
  const LoadedRun run = opened ? opened->image() : load_run(engine, q.reading.run);
  ExportResult r{.run = run.directory,
                 .linalg = engine.linalg().description(),
                 .npy = q.npy,
                 .hf = q.hf,
                 .arrays = {},
                 .hf_files = {}};
  if (!q.npy.empty()) r.arrays = export_npy(engine, q, run, opened.get());
  if (!q.hf.empty()) r.hf_files = export_hf(engine, q, run, opened.get());
  return r;
}

OrderedJson to_json(const ExportedArray& a) {
  OrderedJson j = {
      {"name", a.name}, {"file", a.file}, {"dtype", a.dtype}, {"shape", a.shape}, {"sha256", a.sha256}};
  j.update(a.about);
  return j;
}

OrderedJson to_json(const ExportResult& r) {
  OrderedJson exports = OrderedJson::array();
  if (!r.npy.empty()) exports.push_back({{"out", r.npy}, {"kind", "npy"}, {"arrays", list_json(r.arrays)}});
  if (!r.hf.empty()) exports.push_back({{"out", r.hf}, {"kind", "hf"}, {"files", r.hf_files}});
  return {{"schema", "glint-export/1"}, {"run", r.run}, {"linalg", r.linalg}, {"exports", exports}};
}

}  // namespace glint

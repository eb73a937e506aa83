#include "glint/lab/publish/export_arrays.h"

#include <algorithm>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/base/utf8.h"
#include "glint/io/npy.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"

namespace glint {
namespace {

bool fits_npy(Dtype d) { return d == Dtype::f32 || d == Dtype::f64 || d == Dtype::u8 || d == Dtype::i32; }

void check_spectra_seal(const SafetensorsFile& file, const std::string& path) {
  if (!is_sealed(file))
    bad_file(path, "the spectra are damaged: the file is not what its checksum says", "the file as it was written",
             "`spectrum(RUN)` makes it anew");
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

// The terms of a form of layer i: gains and shifts, and their slopes where they depend on the input.
void add_terms(size_t i, Form form, const GateTerms& terms, ExportArrays& arrays) {
  // The calibrated form is what others begin with: its arrays have the short names.
  const std::string gates = "gates." + std::to_string(i) + (form == Form::calibrated ? "" : "." + name(form));
  OrderedJson about = {{"form", name(form)}, {"layer", i + 1}};
  if (!terms.slope.empty()) about["power"] = terms.power, about["size"] = terms.size;
  const auto add = [&](const std::string& what, const std::vector<double>& values) {
    arrays.add(gates + "." + what, Dtype::f64, {values.size()}, std::as_bytes(std::span(values)), about);
  };
  const std::vector<double> none(terms.gain.size());
  for (const TermList& list : kTermLists)
    if (const std::vector<double>& values = terms.*list.values; !values.empty())
      add(list.name, values);
    else if (form == Form::calibrated && list.values == &GateTerms::shift)
      add(list.name, none);
  if (!terms.slope.empty()) add("slope", terms.slope);
}

}  // namespace

bool fits_file(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos && printable(name) == name;
}

void ExportArrays::add(const std::string& name, Dtype dtype, std::vector<size_t> shape,
                       std::span<const std::byte> bytes, const OrderedJson& about) {
  const std::string file = name + ".npy";
  write_npy(engine_.files(), folder_.file(file), dtype, shape, bytes);
  list_.push_back({name, file, dtype_name(dtype), std::move(shape), sha256_hex(bytes), about});
}

void ExportArrays::add_weights(const ParamTable& table, std::span<const float> weights,
                               const std::function<OrderedJson(const std::string&)>& about) {
  for (const ParamSpec& s : table.specs())
    add(s.name, Dtype::f32, s.vector ? std::vector{s.cols} : std::vector{s.rows, s.cols},
        std::as_bytes(weights.subspan(s.offset, s.size())), about ? about(s.name) : OrderedJson::object());
}

OrderedJson ExportArrays::add_calibration(const StoredCalibration& calibration) {
  OrderedJson kinds = OrderedJson::array();
  for (const Calibration kind : calibration.kinds) kinds.push_back(name(kind));
  for (const FormInfo& f : kFormTable)
    for (size_t i = 0; i < calibration.terms[f.form].size(); i++)
      add_terms(i, f.form, calibration.terms[f.form][i], *this);
  return {{"inputs", calibration.inputs}, {"data", calibration.data}, {"linalg", calibration.linalg}, {"kinds", kinds}};
}

// The spectra of one file, with what every row of its arrays is.
OrderedJson ExportArrays::add_spectra_file(const std::string& file_path) {
  const Engine& engine = engine_;
  const std::filesystem::path path = file_path;
  const SafetensorsFile file(path.string());
  check_spectra_seal(file, path.string());
  const auto said = [&](const char* key) {
    const std::string* found = file->find_metadata(key);
    return found ? *found : std::string();
  };
  const auto refuse = [&](const std::string& what) {
    bad_file(path.string(), what, "spectra as they are stored in a run",
             "remove the file; `spectrum(RUN)` makes it anew");
  };
  const std::string layer = said("layer");
  if (said("format") != "glint-spectra") refuse("this is no file of spectra");
  if (layer.empty() || layer.size() > 6 || layer.find_first_not_of("0123456789") != layer.npos)
    refuse("the spectra name no layer");
  const Json units = parse_json(said("units"), path.string());
  OrderedJson rows = OrderedJson::array();
  if (!units.is_array()) refuse("the spectra name no units");
  for (const Json& unit : units) rows.push_back({{"unit", unit}, {"form", said("form")}, {"layer", std::stoul(layer)}});
  const std::string stem = path.stem().string();
  OrderedJson names = OrderedJson::array();
  for (const TensorInfo& t : file->tensors()) {
    if (!fits_npy(t.dtype) || !fits_file(t.name)) {
      engine.note("left out: " + printable(t.name) + " of " + path.string() + ", " + dtype_name(t.dtype));
      continue;
    }
    if (t.shape.empty() || t.shape[0] != rows.size()) refuse("the spectra are not of the units they name");
    names.push_back(stem + "." + t.name);
    add(stem + "." + t.name, t.dtype, t.shape, t.bytes, {{"rows", rows}});
  }
  return {{"source", path.filename().string()},
          {"form", said("form")},
          {"layer", std::stoul(layer)},
          {"units", OrderedJson(units)},
          {"weights_sha256", said("model_sha256")},
          {"linalg", said("linalg")},
          {"arrays", names}};
}

OrderedJson ExportArrays::add_spectra(const std::string& directory) {
  OrderedJson list = OrderedJson::array();
  for (const std::filesystem::path& path : spectra_files(directory)) list.push_back(add_spectra_file(path.string()));
  return list;
}

OrderedJson to_json(const ExportedArray& a) {
  OrderedJson j = {{"name", a.name}, {"file", a.file}, {"dtype", a.dtype}, {"shape", a.shape}, {"sha256", a.sha256}};
  j.update(a.about);
  return j;
}

OrderedJson to_json(const std::vector<ExportedArray>& arrays) {
  OrderedJson list = OrderedJson::array();
  for (const ExportedArray& a : arrays) list.push_back(to_json(a));
  return list;
}

}  // namespace glint

#include "glint/model/model_file.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/base/limits.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"
#include "glint/io/stored_tensor.h"
#include "glint/model/config_file.h"

namespace glint {
namespace {

std::vector<size_t> file_shape(const ParamSpec& s) {
  return s.vector ? std::vector<size_t>{s.cols} : std::vector<size_t>{s.rows, s.cols};
}

// Names and shapes, before anything is allocated for them.
void check_tensors(const SafetensorsView& file, const ParamTable& table) {
  for (const ParamSpec& s : table.specs())
    if (file.at(s.name).shape != file_shape(s)) file.matrix(s.name, file_shape(s));  // says what is wrong
  for (const TensorInfo& t : file.tensors()) {
    bool known = false;
    for (const ParamSpec& s : table.specs()) known = known || s.name == t.name;
    if (!known)
      throw Error({.code = ErrorCode::bad_file,
                   .what = "tensor " + t.name + " does not belong to this model",
                   .where = file.where(),
                   .expected = "only the tensors that config.json calls for"});
  }
}

void copy_weights(const SafetensorsView& file, const ParamTable& table, std::span<float> weights) {
  for (const ParamSpec& s : table.specs()) {
    const FloatMatrix m = file.matrix(s.name, file_shape(s));
    float* out = weights.data() + s.offset;
    for (size_t i = 0; i < m.view.rows(); i++)
      for (size_t j = 0; j < m.view.cols(); j++) {
        const float v = m.view(i, j);
        if (!(std::fabs(v) <= kLargestWeight))
          refuse_values(file.where() + ", " + s.name + ", row " + std::to_string(i) + ", column " + std::to_string(j));
        out[i * m.view.cols() + j] = v;
      }
  }
}

void write_weights(WritableFile& file, const ParamTable& table, std::span<const float> weights) {
  table.check_buffer(weights, "weights");
  std::vector<TensorToWrite> tensors;
  for (const ParamSpec& s : table.specs())
    tensors.push_back({s.name, Dtype::f32, file_shape(s), std::as_bytes(weights.subspan(s.offset, s.size()))});
  write_safetensors(file, tensors, {{"format", "pt"}});
}

}  // namespace

Json config_to_json(const ClassifierConfig& c) {
  Json json = {{"format", format_name(ModelKind::image)},
               {"inputs", c.inputs},
               {"classes", c.classes},
               {"layers", c.layers},
               {"d_model", c.d_model},
               {"d_hidden", c.hidden()},
               {"bias", c.bias},
               {"residual", c.residual},
               {"norm", c.norm == Norm::rms ? "rms" : "none"}};
  json.update(gate_to_json(c.gate));
  return json;
}

Json config_to_json(const ImageModel& model) {
  Json json = config_to_json(model.config);
  json["data"] = model.data;
  if (model.height > 0) json["image"] = {{"height", model.height}, {"width", model.width}};
  json["class_names"] = model.class_names;
  return json;
}

std::string config_text(const ImageModel& model) { return config_to_json(model).dump(2) + "\n"; }

void save_config(FileSystem& files, const std::string& directory, const ImageModel& model) {
  write_atomic(files, directory + "/config.json", config_text(model));
}

void save_weights(FileSystem& files, const std::string& path, const ParamTable& table, std::span<const float> weights) {
  write_atomic(files, path, [&](WritableFile& file) { write_weights(file, table, weights); });
}

std::string weights_file_hash(const ParamTable& table, std::span<const float> weights) {
  HashFile file;
  write_weights(file, table, weights);
  return file.finish();
}

void load_weights(const std::string& path, const ParamTable& table, std::span<float> weights) {
  table.check_buffer(weights, "weights");
  const SafetensorsFile file(path);
  check_tensors(file.view(), table);
  copy_weights(file.view(), table, weights);
}

Matrix<float> load_weights(const std::string& path, const ParamTable& table) {
  return load_weights(SafetensorsFile(path).view(), table);
}

Matrix<float> load_weights(const SafetensorsView& file, const ParamTable& table) {
  check_tensors(file, table);
  Matrix<float> weights(1, table.floats());
  copy_weights(file, table, weights.span());
  return weights;
}

ConstMatrixView<float> find_tensor(const ImageModel& model, std::string_view name) {
  return classifier_params(model.config).table.find(model.weights.span(), name);
}

ImageModel load_image_model(const std::string& directory, const WeightsSource& weights) {
  return load_image_model(ConfigFile(directory), weights);
}

ImageModel load_image_model(const ConfigFile& config, const WeightsSource& weights) {
  config.check(ModelKind::image);
  const JsonFields& f = config.fields();
  config.only({"inputs", "classes", "layers", "d_model", "d_hidden", "bias", "residual", "norm", "data", "image",
               "class_names"});
  ImageModel m;
  m.config.inputs = config.number("inputs", 1, kMaxInputs);
  m.config.classes = config.number("classes", 2, kMaxClasses);
  m.config.layers = config.number("layers", 1, 64);
  m.config.d_model = config.number("d_model", 1, 16384);
  m.config.d_hidden = config.number("d_hidden", 1, 16384);
  m.config.gate = config.gate();
  m.config.bias = f.required<bool>("bias");
  m.config.residual = f.required<bool>("residual");
  const std::string norm = f.required<std::string>("norm");
  if (norm != "none" && norm != "rms") f.fail("norm", "is unknown", "none or rms");
  m.config.norm = norm == "rms" ? Norm::rms : Norm::none;
  config.checked("residual", [&] { check(m.config); });
  m.data = f.optional<std::string>("data", "");
  m.height = m.width = 0;
  if (f.has("image")) {
    const JsonFields image = f.object("image");
    if (config.own()) image.only({"height", "width"});
    m.height = static_cast<size_t>(image.required<uint64_t>("height"));
    m.width = static_cast<size_t>(image.required<uint64_t>("width"));
    if (m.height > m.config.inputs || m.width > m.config.inputs || m.height * m.width != m.config.inputs)
      f.fail("image", "does not fit the inputs", std::to_string(m.config.inputs) + " pixels");
  }
  for (const Json& name : f.array("class_names")) {
    if (!name.is_string()) f.fail("class_names", "is not a list of names", "strings");
    m.class_names.push_back(name.get<std::string>());
  }
  if (m.class_names.size() != m.config.classes)
    f.fail("class_names", "has the wrong number of names", std::to_string(m.config.classes));
  const ParamTable table = classifier_params(m.config).table;
  m.weights = weights ? weights(table) : load_weights(config.directory() + "/model.safetensors", table);
  return m;
}

}  // namespace glint

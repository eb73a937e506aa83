#include "glint/model/model_file.h"

#include <cmath>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"

namespace glint {
namespace {

constexpr const char* kFormat = "glint-classifier";

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
        if (!std::isfinite(v))
          throw Error({.code = ErrorCode::bad_file,
                       .what = "tensor " + s.name + " holds a value that is not finite",
                       .where = file.where() + ", row " + std::to_string(i) + ", column " + std::to_string(j),
                       .expected = "finite numbers",
                       .hint = "the run diverged; train again with a smaller --lr"});
        out[i * m.view.cols() + j] = v;
      }
  }
}

}  // namespace

Json config_to_json(const ClassifierConfig& c) {
  return {{"format", kFormat},
          {"inputs", c.inputs},
          {"classes", c.classes},
          {"layers", c.layers},
          {"d_model", c.d_model},
          {"d_hidden", c.hidden()},
          {"gate", gate_info(c.gate.kind).text.name},
          {"c", c.gate.params.c},
          {"lambda", c.gate.params.lambda},
          {"p", c.gate.params.p},
          {"bias", c.bias},
          {"residual", c.residual},
          {"norm", c.norm == Norm::rms ? "rms" : "none"}};
}

void save_config(FileSystem& files, const std::string& directory, const ImageModel& model) {
  Json json = config_to_json(model.config);
  json["data"] = model.data;
  json["image"] = {{"height", model.height}, {"width", model.width}};
  json["class_names"] = model.class_names;
  write_atomic(files, directory + "/config.json", json.dump(2) + "\n");
}

void save_weights(FileSystem& files, const std::string& path, const ParamTable& table,
                  std::span<const float> weights) {
  std::vector<TensorToWrite> tensors;
  for (const ParamSpec& s : table.specs())
    tensors.push_back(
        {s.name, Dtype::f32, file_shape(s), std::as_bytes(weights.subspan(s.offset, s.size()))});
  write_safetensors(files, path, tensors, {{"format", "pt"}});
}

void load_weights(const std::string& path, const ParamTable& table, std::span<float> weights) {
  const SafetensorsFile file(path);
  check_tensors(file.view(), table);
  copy_weights(file.view(), table, weights);
}

ImageModel load_image_model(const std::string& directory) {
  const std::string path = directory + "/config.json";
  if (!std::filesystem::exists(path))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "no trained model there",
                 .where = directory,
                 .expected = "a run directory with config.json and model.safetensors",
                 .hint = "glint train --data glyphs --out " + directory});
  const Json json = read_json(path);
  const JsonFields f(json, path);
  if (f.required<std::string>("format") != kFormat) f.fail("format", "is unknown", kFormat);
  ImageModel m;
  const auto number = [&](const char* key, uint64_t low, uint64_t high) {
    const uint64_t v = f.required<uint64_t>(key);
    if (v < low || v > high)
      f.fail(key, "is out of range", std::to_string(low) + " to " + std::to_string(high));
    return static_cast<size_t>(v);
  };
  m.config.inputs = number("inputs", 1, 1 << 20);
  m.config.classes = number("classes", 2, 256);
  m.config.layers = number("layers", 1, 64);
  m.config.d_model = number("d_model", 1, 16384);
  m.config.d_hidden = number("d_hidden", 1, 16384);
  // The same rules as for the command line, but here the file breaks them.
  const auto checked = [&](const char* key, const auto& body) {
    try {
      body();
    } catch (const Error& e) {
      f.fail(key, "is refused: " + e.parts().what, e.parts().expected);
    }
  };
  const std::string gate = f.required<std::string>("gate");
  checked("gate", [&] { m.config.gate.kind = parse_gate(gate); });
  m.config.gate.params = {f.required<double>("c"), f.required<double>("lambda"), f.required<double>("p")};
  m.config.bias = f.required<bool>("bias");
  m.config.residual = f.required<bool>("residual");
  const std::string norm = f.required<std::string>("norm");
  if (norm != "none" && norm != "rms") f.fail("norm", "is unknown", "none or rms");
  m.config.norm = norm == "rms" ? Norm::rms : Norm::none;
  checked("gate", [&] { check(m.config.gate.params); });
  checked("residual", [&] { check(m.config); });
  m.data = f.optional<std::string>("data", "");
  const JsonFields image = f.object("image");
  m.height = static_cast<size_t>(image.required<uint64_t>("height"));
  m.width = static_cast<size_t>(image.required<uint64_t>("width"));
  if (m.height > m.config.inputs || m.width > m.config.inputs || m.height * m.width != m.config.inputs)
    f.fail("image", "does not fit the inputs", std::to_string(m.config.inputs) + " pixels");
  for (const Json& name : f.array("class_names")) {
    if (!name.is_string()) f.fail("class_names", "is not a list of names", "strings");
    m.class_names.push_back(name.get<std::string>());
  }
  if (m.class_names.size() != m.config.classes)
    f.fail("class_names", "has the wrong number of names", std::to_string(m.config.classes));
  const ClassifierParams params = classifier_params(m.config);
  const SafetensorsFile file(directory + "/model.safetensors");
  check_tensors(file.view(), params.table);
  m.weights = Matrix<float>(1, params.table.floats());
  copy_weights(file.view(), params.table, m.weights.span());
  return m;
}

}  // namespace glint

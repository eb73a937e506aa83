#include "glint/model/config_file.h"

#include "glint/base/file.h"

namespace glint {
namespace {

Json read_config(const std::string& directory) {
  const std::string path = directory + "/config.json";
  if (!exists(path))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "no trained model there",
                 .where = directory,
                 .expected = "a run directory with config.json and model.safetensors",
                 .hint = "`train(quick, out=" + directory + ")`"});
  return read_json(path);
}

ModelKind kind_of(const JsonFields& fields, const std::string& where) {
  if (!fields.has("format"))
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the configuration does not say what model this is",
                 .where = where,
                 .expected = "`format`, as glint writes it, or `model_type`, as other programs do"});
  const std::string format = fields.required<std::string>("format");
  for (const ModelKind kind : {ModelKind::image, ModelKind::language})
    if (format == format_name(kind)) return kind;
  fields.fail("format", "is unknown",
              std::string(format_name(ModelKind::image)) + " or " + format_name(ModelKind::language));
}

}  // namespace

const char* format_name(ModelKind kind) {
  return kind == ModelKind::image ? "glint-classifier" : "glint-transformer";
}

ModelKind model_kind(const std::string& directory) {
  const Json json = read_config(directory);
  return kind_of(JsonFields(json, directory + "/config.json"), directory + "/config.json");
}

Json gate_to_json(const Gate& gate) {
  const GateText& text = gate_info(gate.kind).text;
  Json json = {{"gate", text.name}};
  if (text.has_params)
    json.update(Json{{"c", gate.params.c}, {"lambda", gate.params.lambda}, {"p", gate.params.p}});
  return json;
}

ConfigFile::ConfigFile(const std::string& directory, ModelKind kind)
    : path_(directory + "/config.json"),
      json_(read_config(directory)),
      fields_(json_, path_),
      own_(exists(directory + "/" + kRunFile)) {
  const ModelKind found = kind_of(fields_, path_);
  if (found == kind) return;
  const auto called = [](ModelKind k) {
    return k == ModelKind::image ? "an image model" : "a language model";
  };
  throw Error({.code = ErrorCode::bad_file,
               .what = std::string("this is ") + called(found) + ", not " + called(kind),
               .where = path_ + ", field format",
               .expected = format_name(kind)});
}

void ConfigFile::only(std::vector<std::string> known) const {
  if (!own_) return;
  known.insert(known.end(), {"format", "gate", "c", "lambda", "p"});
  fields_.only(known);
}

size_t ConfigFile::number(const char* key, uint64_t low, uint64_t high) const {
  const uint64_t v = fields_.required<uint64_t>(key);
  if (v < low || v > high)
    fields_.fail(key, "is out of range", std::to_string(low) + " to " + std::to_string(high));
  return static_cast<size_t>(v);
}

Gate ConfigFile::gate() const {
  Gate gate;
  const std::string word = fields_.required<std::string>("gate");
  checked("gate", [&] { gate.kind = parse_gate(word); });
  if (!gate_info(gate.kind).text.has_params) return gate;
  gate.params = {fields_.required<double>("c"), fields_.required<double>("lambda"),
                 fields_.required<double>("p")};
  checked("gate", [&] { check(gate.params); });
  return gate;
}

}  // namespace glint

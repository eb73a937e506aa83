#include "glint/model/config_file.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "glint/base/error.h"
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

const char* format_name(ModelKind kind) { return kind == ModelKind::image ? "glint-classifier" : "glint-transformer"; }

ModelKind model_kind(const std::string& directory) { return ConfigFile(directory).kind(); }

Json gate_to_json(const Gate& gate) {
  const GateText& text = gate_info(gate.kind).text;
  Json json = {{"gate", text.name}};
  if (text.has_params) json.update(Json{{"c", gate.params.c}, {"lambda", gate.params.lambda}, {"p", gate.params.p}});
  return json;
}

ConfigFile::ConfigFile(const std::string& directory) : ConfigFile(directory, read_config(directory)) {}

ConfigFile::ConfigFile(const std::string& directory, Json json)
    : directory_(directory),
      path_(directory + "/config.json"),
      json_(std::move(json)),
      fields_(json_, path_),
      kind_(kind_of(fields_, path_)),
      own_(exists(directory + "/" + kRunFile)) {}

void ConfigFile::check(ModelKind kind) const {
  if (kind_ == kind) return;
  const auto called = [](ModelKind k) { return k == ModelKind::image ? "an image model" : "a language model"; };
  throw Error({.code = ErrorCode::bad_file,
               .what = std::string("this is ") + called(kind_) + ", not " + called(kind),
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
  if (v < low || v > high) fields_.fail(key, "is out of range", std::to_string(low) + " to " + std::to_string(high));
  return static_cast<size_t>(v);
}

Gate ConfigFile::gate() const {
  Gate gate;
  const std::string word = fields_.required<std::string>("gate");
  checked("gate", [&] { gate.kind = parse_gate(word); });
  if (!gate_info(gate.kind).text.has_params) return gate;
  gate.params = {fields_.required<double>("c"), fields_.required<double>("lambda"), fields_.required<double>("p")};
  checked("gate", [&] { glint::check(gate.params); });
  return gate;
}

namespace {

// Keys of config.json that change nothing in a forward pass.
constexpr std::string_view kHarmless[] = {
    "architectures", "auto_map", "bos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "dtype", "torch_dtype",
    "transformers_version", "use_cache", "initializer_range", "attention_dropout", "attn_pdrop", "_name_or_path",
    "_attn_implementation", "_attn_implementation_autoset", "_flash_attn_2_enabled", "pretraining_tp",
    "output_attentions", "output_hidden_states", "output_router_logits", "return_dict", "use_mps", "is_decoder",
    "id2label", "label2id", "problem_type", "task_specific_params", "finetuning_task", "chunk_size_feed_forward",
    "model_max_length", "is_llama_config", "gradient_checkpointing", "transformers.js_config", "max_sequence_length",
    "unsloth_fixed", "unsloth_version",
    // of GGUF, after the architecture
    "rope.scaling.finetuned"};

}  // namespace

ConfigKeys::ConfigKeys(const Json& object, std::string title, std::string where)
    : object_(object), title_(std::move(title)), where_(std::move(where)) {}

const Json* ConfigKeys::find(const std::string& key) const {
  taken_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void ConfigKeys::refuse(const std::string& key, const std::string& expected) const {
  const auto it = object_.find(key);
  std::string value = it == object_.end() ? "absent" : it->dump(-1, ' ', true);
  if (value.size() > 60) value = value.substr(0, 57) + "...";
  throw Error({.code = ErrorCode::bad_file,
               .what = title_ + " with `" + key + "` " + value + " is not supported",
               .where = where_,
               .expected = expected});
}

uint64_t ConfigKeys::count(const std::string& key, uint64_t low, uint64_t high) const {
  const Json* value = find(key);
  if (!value || !value->is_number_integer() || value->get<int64_t>() < static_cast<int64_t>(low) ||
      value->get<int64_t>() > static_cast<int64_t>(high))
    refuse(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return value->get<uint64_t>();
}

uint64_t ConfigKeys::count_or(const std::string& key, uint64_t low, uint64_t high, uint64_t otherwise) const {
  return find(key) ? count(key, low, high) : otherwise;
}

double ConfigKeys::real_or(const std::string& key, double otherwise) const {
  const Json* value = find(key);
  if (!value) return otherwise;
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0)
    refuse(key, "a number, not negative");
  return value->get<double>();
}

double ConfigKeys::real(const std::string& key) const {
  if (!find(key)) refuse(key, "a number");
  return real_or(key, 0);
}

bool ConfigKeys::flag(const std::string& key, bool otherwise) const {
  const Json* value = find(key);
  if (value && !value->is_boolean()) refuse(key, "true or false");
  return value ? value->get<bool>() : otherwise;
}

std::string ConfigKeys::text_or(const std::string& key, const std::string& otherwise) const {
  const Json* value = find(key);
  if (value && !value->is_string()) refuse(key, "a text");
  return value ? value->get<std::string>() : otherwise;
}

std::vector<double> ConfigKeys::reals(const std::string& key, size_t size) const {
  const Json* value = find(key);
  const std::string expected = "a list of " + std::to_string(size) + " numbers above 0";
  if (!value || !value->is_array() || value->size() != size) refuse(key, expected);
  std::vector<double> out;
  for (const Json& v : *value) {
    if (!v.is_number() || !std::isfinite(v.get<double>()) || !(v.get<double>() > 0)) refuse(key, expected);
    out.push_back(v.get<double>());
  }
  return out;
}

void ConfigKeys::no_others(const std::string& prefix) const {
  for (const auto& [key, value] : object_.items())
    if (key.starts_with(prefix) && !value.is_null() && !taken_.contains(key) &&
        std::ranges::find(kHarmless, key.substr(prefix.size())) == std::end(kHarmless))
      refuse(key, "only keys that glint knows: it cannot tell what this one changes");
}

}  // namespace glint

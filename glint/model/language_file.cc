#include "glint/model/language_file.h"

#include <algorithm>
#include <cmath>

#include "glint/base/sha256.h"
#include "glint/io/weight_contents.h"
#include "glint/model/config_file.h"
#include "glint/model/model_file.h"
#include "glint/nn/norm.h"

namespace glint {

namespace {

// As the other keys of config.json are spelled.
std::vector<Field> shape_fields(LlamaShape& shape) {
  std::vector<Field> fields = fields_of(shape);
  for (Field& f : fields) std::ranges::replace(f.name, '-', '_');
  return fields;
}

}  // namespace

Json config_to_json(const TransformerConfig& c) {
  Json json = {{"format", format_name(ModelKind::language)},
               {"vocab", c.vocab},
               {"layers", c.layers},
               {"d_model", c.d_model},
               {"d_hidden", c.hidden()},
               {"heads", c.heads},
               {"context", c.context}};
  json.update(gate_to_json(c.gate));
  LlamaShape shape = c.shape, own;
  const std::vector<Field> fields = shape_fields(shape), usual = shape_fields(own);
  for (size_t i = 0; i < fields.size(); i++)
    if (field_json(fields[i]) != field_json(usual[i])) json[fields[i].name] = field_json(fields[i]);
  return json;
}

std::string config_text(const LanguageModel& model) {
  Json json = config_to_json(model.config);
  json["data"] = model.data;
  json["tokenizer_hash"] = model.tokenizer_hash;
  return json.dump(2) + "\n";
}

void save_config(FileSystem& files, const std::string& directory, const LanguageModel& model) {
  write_atomic(files, directory + "/config.json", config_text(model));
}

ConstMatrixView<float> find_tensor(const LanguageModel& model, std::string_view name) {
  return transformer_params(model.config).table.find(model.weights.span(), name);
}

LanguageModel load_language_model(const std::string& directory, const WeightsSource& weights) {
  return load_language_model(ConfigFile(directory), weights);
}

TransformerConfig language_config(const ConfigFile& config) {
  config.check(ModelKind::language);
  TransformerConfig c;
  const std::vector<Field> fields = shape_fields(c.shape);
  std::vector<std::string> known = {"vocab", "layers",  "d_model", "d_hidden",
                                    "heads", "context", "data",    "tokenizer_hash"};
  for (const Field& f : fields) known.push_back(f.name);
  config.only(known);
  c.vocab = config.number("vocab", 2, kMaxVocab);
  c.layers = config.number("layers", 1, 64);
  c.d_model = config.number("d_model", 2, 16384);
  c.d_hidden = config.number("d_hidden", 1, 16384);
  c.heads = config.number("heads", 1, 1024);
  c.context = config.number("context", kMinContext, kMaxContext);
  c.gate = config.gate();
  for (const Field& f : fields)
    if (config.fields().has(f.name))
      config.checked(f.name.c_str(), [&] { set_field_json(f, config.json().at(f.name)); });
  config.checked("heads", [&] { check(c); });
  return c;
}

LanguageModel load_language_model(const ConfigFile& config, const WeightsSource& weights) {
  LanguageModel m;
  m.config = language_config(config);
  m.data = config.fields().optional<std::string>("data", "");
  m.tokenizer_hash = config.fields().optional<std::string>("tokenizer_hash", "");
  const ParamTable table = transformer_params(m.config).table;
  m.weights = weights ? weights(table) : load_weights(config.directory() + "/model.safetensors", table);
  return m;
}

namespace {

// What the file of a model in memory keeps alive.
struct HeldModel {
  WeightContents contents;
  std::shared_ptr<const LanguageModel> model;
};

}  // namespace

FamilyConfig family_config(const TransformerConfig& t) {
  FamilyConfig c;
  c.family = &glint_family();
  c.layers = t.layers, c.d_model = t.d_model, c.d_hidden = t.hidden();
  c.heads = t.heads, c.kv_heads = t.keys(), c.head_dim = c.rotary_dims = t.head_dim();
  c.vocab = t.vocab, c.context = t.context, c.gate = t.gate;
  c.eps = t.shape.norm_eps, c.theta = t.shape.theta;
  c.scaling = parse_rotary_scaling(t.shape.rotary_scaling);
  c.windows.resize(t.layers);
  c.attention_scale = 1 / std::sqrt(static_cast<double>(t.head_dim()));
  c.attention_factor = t.attention_factor();
  return c;
}

FamilyModel glint_model(std::shared_ptr<const LanguageModel> model, const std::string& where) {
  const auto held = std::make_shared<HeldModel>(HeldModel{{}, std::move(model)});
  const LanguageModel& m = *held->model;
  const ParamTable table = transformer_params(m.config).table;
  table.check_buffer(m.weights.span(), "weights");
  held->contents.where = where;
  held->contents.metadata = config_to_json(m.config);
  for (const ParamSpec& s : table.specs()) {
    StoredTensor t;
    t.name = s.name, t.shape = {s.rows, s.cols};
    t.bytes = std::as_bytes(m.weights.span().subspan(s.offset, s.size()));
    held->contents.tensors.push_back(std::move(t));
  }
  sort_tensors(held->contents);
  const FamilyConfig config = family_config(m.config);
  FamilyModel out(WeightFile(std::shared_ptr<const WeightContents>(held, &held->contents)), config);
  out.set_hash(sha256_hex(std::as_bytes(m.weights.span())));
  return out;
}

}  // namespace glint

#include "glint/model/language_file.h"

#include "glint/model/config_file.h"
#include "glint/model/model_file.h"

namespace glint {

Json config_to_json(const TransformerConfig& c) {
  Json json = {{"format", format_name(ModelKind::language)},
               {"vocab", c.vocab},
               {"layers", c.layers},
               {"d_model", c.d_model},
               {"d_hidden", c.hidden()},
               {"heads", c.heads},
               {"context", c.context}};
  json.update(gate_to_json(c.gate));
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
  const ConfigFile config(directory, ModelKind::language);
  config.only({"vocab", "layers", "d_model", "d_hidden", "heads", "context", "data", "tokenizer_hash"});
  LanguageModel m;
  TransformerConfig& c = m.config;
  c.vocab = config.number("vocab", 2, kMaxVocab);
  c.layers = config.number("layers", 1, 64);
  c.d_model = config.number("d_model", 2, 16384);
  c.d_hidden = config.number("d_hidden", 1, 16384);
  c.heads = config.number("heads", 1, 1024);
  c.context = config.number("context", kMinContext, kMaxContext);
  c.gate = config.gate();
  config.checked("heads", [&] { check(c); });
  m.data = config.fields().optional<std::string>("data", "");
  m.tokenizer_hash = config.fields().optional<std::string>("tokenizer_hash", "");
  const ParamTable table = transformer_params(c).table;
  m.weights = weights ? weights(table) : load_weights(directory + "/model.safetensors", table);
  return m;
}

}  // namespace glint

#include "glint/train/start.h"

#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/sha256.h"
#include "glint/model/config_file.h"
#include "glint/model/trainable.h"
#include "glint/train/options.h"

namespace glint {
namespace {

// What a model is trained on at once unless somebody says: memory grows with it.
constexpr size_t kUsualContext = 256;

bool is_own(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at is opened below, which says so
  const std::string config = path + "/config.json";
  return std::filesystem::is_directory(path, ignored) && exists(config) && read_json(config).contains("format");
}

}  // namespace

TransformerConfig start_config(const std::string& path, size_t context) {
  if (!is_own(path)) return trainable_config(FamilyModel(open_weights(path)), context);
  TransformerConfig config = language_config(ConfigFile(path));
  if (context) config.context = std::min(context, config.context);
  return config;
}

TrainingStart open_start(const std::string& path, size_t context) {
  TrainingStart start{.where = path, .config = start_config(path, context), .weights = {}, .hash = {}, .tokenizer = {}};
  if (is_own(path)) {
    start.weights = load_language_model(path).weights;
    if (const std::string file = path + "/" + kTokenizerFile; exists(file)) start.tokenizer = Tokenizer::read(file);
  } else {
    const FamilyModel model(open_weights(path));
    start.weights = trainable_weights(model, start.config);
    start.tokenizer = Tokenizer::of_model(model.file());
  }
  start.hash = sha256_hex(std::as_bytes(start.weights.span()));
  return start;
}

void check_start(const TrainingStart& start, const TextData& data) {
  const bool same = start.tokenizer.empty() || data.tokenizer.empty()
                        ? data.vocab() <= start.config.vocab
                        : start.tokenizer.sha256() == data.tokenizer.sha256();
  if (same) return;
  throw Error({.code = ErrorCode::usage,
               .what = "these stories were made with another tokenizer than the model's",
               .where = data.origin,
               .expected = "a corpus of the model's own tokens",
               .hint = "`tokenize(TEXT, tokenizer=" + start.where + ")`"});
}

void take_shape(TrainOptions& options, const std::function<bool(const std::string&)>& given) {
  const size_t context = given("context") ? options.context : kUsualContext;
  const TransformerConfig c = start_config(options.init, context);
  TrainOptions own = options;
  own.layers = c.layers, own.d_model = c.d_model, own.d_hidden = c.hidden(), own.heads = c.heads;
  own.context = c.context;
  own.shape = c.shape;
  if (!given("gate")) {
    own.gate = gate_info(c.gate.kind).text.name;
    own.c = c.gate.params.c, own.lambda = c.gate.params.lambda, own.p = c.gate.params.p;
  }
  const std::vector<Field> before = fields_of(options), now = fields_of(own);
  for (size_t i = 0; i < before.size(); i++)
    if (before[i].name != "context" && given(before[i].name) && field_json(before[i]) != field_json(now[i]))
      throw Error(
          {.code = ErrorCode::usage,
           .what = "`" + before[i].name + "` = " + field_text(before[i]) + ", but the model has " + field_text(now[i]),
           .where = options.init,
           .expected = "the shape of the model that training goes on from"});
  options = own;
}

}  // namespace glint

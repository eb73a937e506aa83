// Language models on disk: what was saved comes back; files of another kind and wrong files are refused.
#include "glint/model/language_file.h"

#include "glint/model/config_file.h"
#include "glint/model/model_file.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using model_testing::error_of;
using model_testing::Folder;

LanguageModel language_sample() {
  LanguageModel m;
  m.config.vocab = 11;
  m.config.layers = 2;
  m.config.d_model = 8;
  m.config.d_hidden = 6;
  m.config.heads = 2;
  m.config.context = 5;
  m.config.gate = {GateKind::Sqs, {0.02, 0.25, 2}};
  m.data = "tales";
  m.tokenizer_hash = "0123abcd";
  const ParamTable table = transformer_params(m.config).table;
  m.weights = Matrix<float>(1, table.floats());
  table.initialise(m.weights.span(), 3);
  return m;
}

void save(const Folder& folder, const LanguageModel& m) {
  save_config(real_files(), folder.path(), m);
  save_weights(real_files(), folder / "model.safetensors", transformer_params(m.config).table, m.weights.span());
}

TEST(LanguageFile, RoundTrip) {
  const Folder folder;
  const LanguageModel m = language_sample();
  save(folder, m);
  EXPECT_EQ(model_kind(folder.path()), ModelKind::language);
  const LanguageModel back = load_language_model(folder.path());
  EXPECT_EQ(config_to_json(back.config), config_to_json(m.config));
  EXPECT_EQ(back.data, m.data);
  EXPECT_EQ(back.tokenizer_hash, m.tokenizer_hash);
  ASSERT_EQ(back.weights.size(), m.weights.size());
  EXPECT_TRUE(std::equal(back.weights.span().begin(), back.weights.span().end(), m.weights.span().begin()));
}

TEST(LanguageFile, TensorsAreFoundByName) {
  const LanguageModel m = language_sample();
  const ConstMatrixView<float> head = find_tensor(m, "lm_head.weight");
  EXPECT_EQ(head.rows(), 11u);
  EXPECT_EQ(head.cols(), 8u);
  const ErrorParts e = error_of([&] { find_tensor(m, "lm_head.weights"); });
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_NE(e.expected.find("lm_head.weight"), std::string::npos) << e.expected;
}

TEST(LanguageFile, KindsAreNotMixedUp) {
  const Folder folder;
  save(folder, language_sample());
  const ErrorParts image = error_of([&] { load_image_model(folder.path()); });
  EXPECT_EQ(image.code, ErrorCode::bad_file);
  EXPECT_EQ(image.what, "this is a language model, not an image model");
  EXPECT_EQ(image.expected, "glint-classifier");
  ImageModel other;
  other.config.inputs = 4;
  other.height = other.width = 2;
  save_config(real_files(), folder.path(), other);
  EXPECT_EQ(model_kind(folder.path()), ModelKind::image);
  const ErrorParts language = error_of([&] { load_language_model(folder.path()); });
  EXPECT_EQ(language.code, ErrorCode::bad_file);
  EXPECT_EQ(language.what, "this is an image model, not a language model");
}

TEST(LanguageFile, UnknownFieldsOfARunAreRefused) {
  const Folder folder;
  save(folder, language_sample());
  Json json = read_json(folder / "config.json");
  json["contxt"] = 4;
  write_atomic(real_files(), folder / "config.json", json.dump());
  load_language_model(folder.path());
  write_atomic(real_files(), folder / "run.json", "{}");
  const ErrorParts e = error_of([&] { load_language_model(folder.path()); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_EQ(e.expected, "did you mean context?");
}

TEST(LanguageFile, WrongConfigurationsAreRefused) {
  const Folder folder;
  const LanguageModel m = language_sample();
  save(folder, m);
  const auto refused = [&](const std::string& key, const Json& value) {
    Json json = config_to_json(m.config);
    if (value.is_null())
      json.erase(key);
    else
      json[key] = value;
    write_atomic(real_files(), folder / "config.json", json.dump());
    EXPECT_EQ(error_of([&] { load_language_model(folder.path()); }).code, ErrorCode::bad_file) << key << value;
  };
  for (const char* key : {"format", "vocab", "layers", "d_model", "d_hidden", "heads", "context", "gate", "c"})
    refused(key, nullptr);
  for (const char* key : {"vocab", "layers", "d_model", "heads", "context"})
    for (const Json& value : {Json(0), Json(-1), Json(1 << 20), Json("4"), Json(4.5)}) refused(key, value);
  for (const size_t context : {size_t{1}, kMaxContext + 1}) refused("context", context);
  refused("heads", 3);
  refused("format", "glint-other");
  refused("gate", "sq");
  refused("vocab", 12);  // the tensors have 11 rows
  refused("d_hidden", 7);
  EXPECT_EQ(error_of([&] { load_language_model(folder / "nothing"); }).code, ErrorCode::bad_file);
  // The limits themselves are fine: no tensor has the length of the context.
  for (const size_t context : {kMinContext, kMaxContext}) {
    Json json = config_to_json(m.config);
    json["context"] = context;
    write_atomic(real_files(), folder / "config.json", json.dump());
    EXPECT_EQ(load_language_model(folder.path()).config.context, context);
  }
}

}  // namespace
}  // namespace glint

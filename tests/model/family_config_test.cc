// Configurations of models of other programs: what is followed, what is passed over, and what is refused by
// name.
#include <filesystem>
#include <functional>

#include "glint/base/file.h"
#include "glint/io/json.h"
#include "glint/io/safetensors.h"
#include "glint/io/weight_contents.h"
#include "glint/model/family_model.h"
#include "tests/model/model_testing.h"

namespace glint::model_testing {
namespace {

const std::string kConfigs = GLINT_GOLDEN_DIR "/families/";

// The Error of a model whose config.json was changed; "" when it opens.
std::string error_with(const std::string& family, const std::function<void(Json&)>& change) {
  const Folder folder;
  std::filesystem::copy(kConfigs + family + "/model.safetensors", folder / "model.safetensors");
  Json json = read_json(kConfigs + family + "/config.json");
  change(json);
  write_atomic(real_files(), folder / "config.json", json.dump());
  try {
    const FamilyModel model(open_weights(folder.path()));
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

void expect_refused(const std::string& family, const std::function<void(Json&)>& change, const std::string& words) {
  const std::string error = error_with(family, change);
  EXPECT_NE(error.find(words), std::string::npos) << family << ": " << (error.empty() ? "no error" : error);
}

TEST(FamilyConfig, PassesOverWhatIsKnownToBeHarmless) {
  EXPECT_EQ(error_with("llama", [](Json& j) { j["use_cache"] = false, j["_name_or_path"] = "x"; }), "");
  EXPECT_EQ(error_with("llama", [](Json& j) { j["something_new"] = nullptr; }), "");
}

TEST(FamilyConfig, RefusesByFamilyKeyAndValue) {
  expect_refused(
      "llama", [](Json& j) { j["something_new"] = 3; }, "Llama with `something_new` 3");
  expect_refused(
      "llama", [](Json& j) { j["hidden_act"] = "xielu"; }, "`hidden_act` \"xielu\"");
  expect_refused(
      "qwen2",
      [](Json& j) {
        j["rope_parameters"] = {{"rope_type", "dynamic"}, {"factor", 4}};
      },
      "Qwen2 with `rope_type` \"dynamic\"");
  expect_refused(
      "qwen2_yarn", [](Json& j) { j["rope_parameters"]["beta_fast"] = 0; }, "Qwen2 with `beta_fast` 0");
  expect_refused(
      "qwen2_yarn", [](Json& j) { j["rope_parameters"]["yarn_twist"] = 2; }, "Qwen2 with `yarn_twist` 2");
  expect_refused(
      "phi3_long",
      [](Json& j) {
        j["rope_parameters"]["short_factor"] = {1, 2, 3};
      },
      "`short_factor` [1,2,3]");
  expect_refused(
      "phi3_long", [](Json& j) { j["rope_parameters"].erase("long_factor"); }, "`long_factor` absent");
  expect_refused(
      "mixtral", [](Json& j) { j["num_local_experts"] = 4; }, "a tensor has the shape [3, 8]");
  expect_refused(
      "mixtral", [](Json& j) { j["num_experts_per_tok"] = 9; }, "Mixtral with `num_experts_per_tok` 9");
  expect_refused(
      "llama",
      [](Json& j) {
        j["quantization_config"] = {{"bits", 4}};
      },
      "`quantization_config`");
  expect_refused(
      "llama", [](Json& j) { j["num_local_experts"] = 8; }, "`num_local_experts` 8");
  expect_refused(
      "olmo", [](Json& j) { j["clip_qkv"] = 8.0; }, "OLMo with `clip_qkv` 8.0");
  expect_refused(
      "stablelm", [](Json& j) { j["qk_layernorm"] = true; }, "`qk_layernorm` true");
  expect_refused(
      "llama", [](Json& j) { j["model_type"] = "mamba"; }, "'mamba' is not supported");
  expect_refused(
      "llama", [](Json& j) { j.erase("model_type"); }, "has no `model_type`");
  expect_refused(
      "llama", [](Json& j) { j["rope_interleaved"] = true; }, "Llama with `rope_interleaved` true");
  EXPECT_EQ(error_with("llama", [](Json& j) { j["rope_interleaved"] = false; }), "");
  expect_refused(
      "llama", [](Json& j) { j["sliding_window"] = 8; }, "`sliding_window` 8");
  expect_refused(
      "gemma", [](Json& j) { j["attn_logit_softcapping_x"] = 1; }, "`attn_logit_softcapping_x`");
}

// The Error of a GGUF file with one more key; "" when it opens.
std::string error_with_key(const std::string& file, const std::string& key, const Json& value) {
  const std::string bytes = read_file(kConfigs + file);
  const auto contents = std::make_shared<WeightContents>(parse_gguf(std::as_bytes(std::span(bytes)), file));
  contents->metadata[key] = value;
  try {
    const FamilyModel model{WeightFile(contents)};
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(FamilyConfig, RefusesKeysOfGgufByTheirValue) {
  EXPECT_EQ(error_with_key("llama.gguf", "llama.attention.causal", true), "");
  EXPECT_NE(error_with_key("llama.gguf", "llama.attention.causal", false).find("`llama.attention.causal` false"),
            std::string::npos);
  const std::string layout = "llama.tensor_data_layout";
  EXPECT_EQ(error_with_key("llama.gguf", layout, "Meta AI original pth"), "");
  EXPECT_NE(error_with_key("llama.gguf", layout, "reference").find(layout), std::string::npos);
  EXPECT_EQ(error_with_key("qwen2.gguf", "qwen2.tensor_data_layout", "reference"), "");
}

// What two places say must be the same, or one of them is not what the model was made with.
TEST(FamilyConfig, RefusesRotaryKeysThatDisagree) {
  const Json turns = {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 10000.0}};
  const auto with = [&](const Json& changes) {
    return [=](Json& j) {
      j["rope_parameters"] = turns;
      j.update(changes);
    };
  };
  EXPECT_EQ(error_with("llama", with({{"rope_theta", 10000}})), "");
  EXPECT_EQ(error_with("llama", with({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}})), "");
  expect_refused("llama", with({{"rope_theta", 500000}}), "`rope_theta` 500000");
  expect_refused("llama", with({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}), "`rope_scaling`");
  expect_refused("llama", with({{"rope_scaling", {{"type", "default"}}}}), "`rope_scaling`");
  expect_refused(
      "stablelm",
      [](Json& j) { j["partial_rotary_factor"] = 1.0, j["rope_parameters"]["partial_rotary_factor"] = 0.5; },
      "`partial_rotary_factor` 1.0");
}

TEST(FamilyConfig, RefusesNumbersThatDoNotFit) {
  expect_refused(
      "llama", [](Json& j) { j["num_key_value_heads"] = 3; }, "4 heads and 3 of keys and values");
  expect_refused(
      "llama", [](Json& j) { j["hidden_size"] = 32; }, "a tensor has the shape");
  expect_refused(
      "llama", [](Json& j) { j["num_hidden_layers"] = 3; }, "model.layers.2");
  expect_refused(
      "llama", [](Json& j) { j["num_hidden_layers"] = -1; }, "`num_hidden_layers` -1");
  expect_refused(
      "llama", [](Json& j) { j["num_hidden_layers"] = 1e9; }, "`num_hidden_layers`");
  expect_refused(
      "llama", [](Json& j) { j["head_dim"] = 0; }, "`head_dim` 0");
  expect_refused(
      "llama", [](Json& j) { j["vocab_size"] = 41; }, "the embedding has 40 tokens");
  expect_refused(
      "llama", [](Json& j) { j["rms_norm_eps"] = "small"; }, "`rms_norm_eps` \"small\"");
  // The weights may have more rows than the vocabulary: padding.
  EXPECT_EQ(error_with("llama", [](Json& j) { j["vocab_size"] = 39; }), "");
}

// The Error of a model with one more tensor; "" when it opens.
std::string error_with_tensor(const std::string& family, const std::string& name, Dtype dtype = Dtype::f32) {
  const Folder folder;
  std::filesystem::copy(kConfigs + family + "/config.json", folder / "config.json");
  const SafetensorsFile file(kConfigs + family + "/model.safetensors");
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo& t : file->tensors()) tensors.push_back({t.name, t.dtype, t.shape, t.bytes});
  const std::vector<std::byte> zeros(16);
  tensors.push_back({name, dtype, {16 / dtype_size(dtype)}, zeros});
  write_safetensors(real_files(), folder / "model.safetensors", tensors);
  try {
    const FamilyModel model(open_weights(folder.path()));
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// A model that has more than the family does not compute what glint would compute without it.
TEST(FamilyConfig, RefusesTensorsThatTheFamilyDoesNotHave) {
  for (const std::string name :
       {"model.layers.0.self_attn.q_norm.weight", "model.layers.0.post_feedforward_layernorm.weight",
        "model.layers.0.self_attn.q_proj.weight_scale", "model.layers.1.mlp.down_proj.lora_A.weight",
        "model.layers.0.self_attn.sinks", "model.layers.2.input_layernorm.weight", "score.weight",
        "model.norm.bias_2"}) {
    const std::string error = error_with_tensor("llama", name);
    EXPECT_NE(error.find("Llama with this tensor is not supported"), std::string::npos) << name << error;
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
  // Of a type that glint does not read, too.
  EXPECT_NE(error_with_tensor("llama", "model.layers.0.mlp.up_proj.weight_scale", Dtype::u8).find("weight_scale"),
            std::string::npos);
  EXPECT_NE(error_with_tensor("qwen3", "model.layers.0.self_attn.q_norm.bias").find("q_norm.bias"), std::string::npos);
  EXPECT_NE(error_with_tensor("olmo", "model.layers.0.input_layernorm.weight").find("input_layernorm"),
            std::string::npos);
  EXPECT_NE(error_with_tensor("qwen2_moe", "model.layers.0.mlp.experts.9.up_proj.weight").find("experts.9"),
            std::string::npos);
}

TEST(FamilyConfig, PassesOverTensorsThatAreComputedAnew) {
  EXPECT_EQ(error_with_tensor("llama", "model.layers.0.self_attn.rotary_emb.inv_freq"), "");
  EXPECT_EQ(error_with_tensor("llama", "model.rotary_emb.inv_freq"), "");
  EXPECT_EQ(error_with_tensor("stablelm", "model.layers.0.self_attn.bias", Dtype::u8), "");
  EXPECT_EQ(error_with_tensor("llama", "model.layers.0.self_attn.masked_bias"), "");
}

// The names of GGUF files: a tensor is given another name of the same length.
TEST(FamilyConfig, RefusesTensorsThatTheFamilyDoesNotHaveInGguf) {
  const std::string whole = read_file(kConfigs + "qwen2.gguf");
  std::string bytes = whole;
  for (size_t at = 0; (at = bytes.find("blk.1.attn_k.bias", at)) != std::string::npos; at++)
    bytes.replace(at, 17, "blk.1.attn_sinks1");
  ASSERT_NE(bytes, whole);
  const Folder folder;
  write_atomic(real_files(), folder / "model.gguf", bytes);
  const ErrorParts e = error_of([&] { FamilyModel(open_weights(folder / "model.gguf")); });
  EXPECT_NE(e.what.find("Qwen2 with this tensor"), std::string::npos) << e.what;
  EXPECT_NE(e.where.find("blk.1.attn_sinks1"), std::string::npos) << e.where;
}

// The tensors decide whether the head is tied, whatever the flag says; only one of the two may be stored.
TEST(FamilyConfig, TrustsTensorsNotTheFlag) {
  EXPECT_FALSE(FamilyModel(open_weights(kConfigs + "llama")).tied());
  EXPECT_EQ(error_with("llama", [](Json& j) { j["tie_word_embeddings"] = true; }), "");
  EXPECT_EQ(error_with("qwen2", [](Json& j) { j["tie_word_embeddings"] = false; }), "");
  EXPECT_TRUE(FamilyModel(open_weights(kConfigs + "qwen2")).tied());
  const Folder folder;
  std::filesystem::copy(kConfigs + "qwen2/config.json", folder / "config.json");
  const SafetensorsFile file(kConfigs + "qwen2/model.safetensors");
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo& t : file->tensors())
    tensors.push_back({t.name == "model.embed_tokens.weight" ? "lm_head.weight" : t.name, t.dtype, t.shape, t.bytes});
  write_safetensors(real_files(), folder / "model.safetensors", tensors);
  const FamilyModel only_head(open_weights(folder.path()));
  EXPECT_TRUE(only_head.tied());
  EXPECT_EQ(only_head.vocab(), 40u);
}

TEST(FamilyConfig, EveryFamilyIsInTheTableOnce) {
  for (const Family& f : families()) {
    for (const std::string_view type : f.hf) EXPECT_EQ(find_family_hf(type), &f) << f.name;
    if (!f.gguf.empty()) {
      EXPECT_EQ(find_family_gguf(f.gguf, f.mixture()), &f) << f.name;
    }
  }
  EXPECT_EQ(find_family_hf("gpt_oss"), nullptr);
}

}  // namespace
}  // namespace glint::model_testing

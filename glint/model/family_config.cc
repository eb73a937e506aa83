#include "glint/model/family_config.h"

#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/model/family_rotary.h"

namespace glint {
namespace {

constexpr uint64_t kMaxLayers = 1024, kMaxWidth = 1 << 20, kMaxHeads = 4096, kMaxExperts = 1024;

Gate parse_activation(const ConfigKeys& keys, const std::string& key, const std::string& word) {
  if (word == "swish") return {GateKind::Silu, {}};
  if (word == "gelu_tanh") return {GateKind::GeluTanh, {}};
  try {
    return parse_gate_word(word);
  } catch (const Error& e) {
    keys.refuse(key, word.starts_with("sqs:")
                         ? e.parts().expected
                         : "silu, gelu, gelu_pytorch_tanh, relu, or a gate of `gates()`: sqs:lambda=0.5,c=0.01");
  }
}

// The gate of Gemma is the tanh form whatever `hidden_act` says: the first files say gelu there by mistake.
Gate read_gate(const ConfigKeys& keys, const Family& family) {
  const bool own_key = std::ranges::find(family.keys, "hidden_activation") != family.keys.end();
  const std::string plain = keys.text_or("hidden_act", ""),
                    own = own_key ? keys.text_or("hidden_activation", "") : plain;
  const bool other = own.empty() && !plain.starts_with("gelu");  // nobody says silu or sqs by mistake
  const std::string key = own_key && !other ? "hidden_activation" : "hidden_act", word = other ? plain : own;
  return word.empty() ? Gate{family.gate, {}} : parse_activation(keys, key, word);
}

// As the pattern of the family says, with this window.
std::vector<size_t> windows_by_pattern(const FamilyConfig& c, size_t window, size_t sixth) {
  std::vector<size_t> out(c.layers, 0);
  for (size_t i = 0; i < c.layers; i++) {
    const WindowPattern p = c.family->windows;
    if (p == WindowPattern::every || (p == WindowPattern::alternate && i % 2 == 0) ||
        (p == WindowPattern::five_of_six && (i + 1) % sixth != 0))
      out[i] = window;
  }
  return out;
}

void read_windows(const ConfigKeys& keys, FamilyConfig& c) {
  const size_t window = keys.count_or("sliding_window", 0, kMaxWidth, 0);
  const bool used = keys.flag("use_sliding_window", c.family->windows != WindowPattern::config);
  const size_t from = keys.count_or("max_window_layers", 0, kMaxLayers, c.layers);
  size_t sixth = keys.count_or("sliding_window_pattern", 1, kMaxLayers, 6);
  sixth = keys.count_or("_sliding_window_pattern", 1, kMaxLayers, sixth);
  c.windows = windows_by_pattern(c, window, sixth);
  if (const Json* types = keys.find("layer_types")) {
    if (!types->is_array() || types->size() != c.layers)
      keys.refuse("layer_types", "a list with an entry for every layer");
    for (size_t i = 0; i < c.layers; i++) {
      const Json& type = (*types)[i];
      if (type != "full_attention" && type != "sliding_attention")
        keys.refuse("layer_types", "full_attention and sliding_attention");
      if (type == "sliding_attention" && window == 0) keys.refuse("sliding_window", "a number of tokens");
      c.windows[i] = type == "sliding_attention" ? window : 0;
    }
  } else if (c.family->windows == WindowPattern::config && used && window > 0) {
    for (size_t i = from; i < c.layers; i++) c.windows[i] = window;
  } else if (c.family->windows == WindowPattern::none && window > 0 && used) {
    keys.refuse("sliding_window", "none in this family");
  }
}

std::vector<TokenId> read_ends(const Json* value) {
  std::vector<TokenId> ends;
  const auto add = [&](const Json& j) {
    if (j.is_number_integer() && j >= 0 && j < kMaxVocab) ends.push_back(j.get<TokenId>());
  };
  if (value && value->is_array())
    for (const Json& j : *value) add(j);
  else if (value)
    add(*value);
  return ends;
}

void check_numbers(const FamilyConfig& c, const std::string& where) {
  const auto need = [&](bool good, const std::string& what, const std::string& expected) {
    if (!good)
      throw Error({.code = ErrorCode::bad_file,
                   .what = std::string(c.family->title) + " with " + what,
                   .where = where,
                   .expected = expected});
  };
  need(c.heads % c.kv_heads == 0,
       std::to_string(c.heads) + " heads and " + std::to_string(c.kv_heads) + " of keys and values",
       "as many heads for each head of keys and values");
  need(c.rotary_dims % 2 == 0 && c.rotary_dims >= 2 && c.rotary_dims <= c.head_dim,
       std::to_string(c.rotary_dims) + " of " + std::to_string(c.head_dim) + " numbers of a head that turn",
       "an even number of them, at most all");
  need(c.theta > 0, "a rotary base of 0", "more than 0");
  need(c.scaling.divisors.empty() || c.scaling.divisors.size() == c.rotary_dims / 2,
       std::to_string(c.scaling.divisors.size()) + " divisors of rotary frequencies", "one for each pair");
}

}  // namespace

FamilyConfig config_from_hf(const WeightFile& file) {
  const std::string where = file.where() + "/config.json";
  const Json& json = file.metadata();
  const ConfigKeys first(json, "a model", where);
  const std::string type = first.text_or("model_type", "");
  const Family* family = find_family_hf(type);
  if (!family)
    throw Error({.code = ErrorCode::bad_file,
                 .what = type.empty() ? "the configuration has no `model_type`"
                                      : "a model of the family '" + type + "' is not supported",
                 .where = where,
                 .expected = "a `model_type` out of " + family_list()});
  const ConfigKeys keys(json, std::string(family->title), where);
  if (keys.find("quantization_config")) keys.refuse("quantization_config", "weights in f32, f16 or bf16");
  for (const std::string key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (!family->mixture() && keys.find(key)) keys.refuse(key, "a dense model in this family");
  FamilyConfig c;
  c.family = family;
  keys.text_or("model_type", "");
  c.layers = keys.count("num_hidden_layers", 1, kMaxLayers);
  c.d_model = keys.count("hidden_size", 1, kMaxWidth);
  c.d_hidden = keys.count("intermediate_size", 1, kMaxWidth);
  if (family->mixture()) {
    c.experts = keys.count(keys.find("num_local_experts") ? "num_local_experts" : "num_experts", 1, kMaxExperts);
    c.experts_per_token = keys.count("num_experts_per_tok", 1, c.experts);
    c.d_expert = keys.count_or("moe_intermediate_size", 1, kMaxWidth, c.d_hidden);
    c.d_shared = keys.count_or("shared_expert_intermediate_size", 1, kMaxWidth, 0);
  }
  c.heads = keys.count("num_attention_heads", 1, kMaxHeads);
  c.kv_heads = keys.count_or("num_key_value_heads", 1, kMaxHeads, c.heads);
  c.head_dim = keys.count_or("head_dim", 1, kMaxWidth, c.d_model / c.heads);
  c.vocab = keys.count_or("vocab_size", 1, kMaxVocab, 0);
  c.context = keys.count_or("max_position_embeddings", 1, uint64_t{1} << 30, 2048);
  c.gate = read_gate(keys, *family);
  c.eps = keys.real_or("rms_norm_eps", family->eps);
  c.eps = keys.real_or("layer_norm_eps", c.eps);
  read_rotary_hf(keys, std::string(family->title), where, c);
  read_windows(keys, c);
  c.parallel = keys.flag("use_parallel_residual");
  c.embedding_scale = family->scaled_embedding ? std::sqrt(static_cast<double>(c.d_model)) : 1;
  c.attention_scale = 1 / std::sqrt(keys.real_or("query_pre_attn_scalar", static_cast<double>(c.head_dim)));
  c.attention_cap = keys.real_or("attn_logit_softcapping", 0);
  c.logit_cap = keys.real_or("final_logit_softcapping", 0);
  c.tied = keys.flag("tie_word_embeddings", true);
  c.ends = read_ends(keys.find("eos_token_id"));
  // Biases are taken where there are tensors of them; these keys only announce them.
  for (const std::string key : {"attention_bias", "mlp_bias", "use_qkv_bias", "bias"}) keys.flag(key);
  if (keys.flag("qk_layernorm")) keys.refuse("qk_layernorm", "false");
  if (keys.flag("use_bidirectional_attention")) keys.refuse("use_bidirectional_attention", "false");
  if (keys.flag("rope_interleaved")) keys.refuse("rope_interleaved", "false");
  if (keys.find("clip_qkv")) keys.refuse("clip_qkv", "null");
  for (const std::string_view key : family->keys) keys.find(std::string(key));
  keys.no_others();
  check_numbers(c, where);
  return c;
}

FamilyConfig config_from_gguf(const WeightFile& file) {
  const std::string& where = file.where();
  const Json& json = file.metadata();
  const std::string architecture = json.value("general.architecture", "");
  const auto experts = json.find(architecture + ".expert_count");
  const bool mixture = experts != json.end() && *experts != 0;
  const Family* family = find_family_gguf(architecture, mixture);
  if (const Family* dense = find_family_gguf(architecture); !family && dense)
    ConfigKeys(json, std::string(dense->title), where)
        .refuse(architecture + ".expert_count", "a dense model in this family");
  if (!family)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a model of the architecture '" + architecture + "' is not supported",
                 .where = where,
                 .expected = "a `general.architecture` out of " + family_list()});
  const ConfigKeys keys(json, std::string(family->title), where);
  const auto own = [&](const char* key) { return architecture + "." + key; };
  FamilyConfig c;
  c.family = family;
  c.layers = keys.count(own("block_count"), 1, kMaxLayers);
  c.d_model = keys.count(own("embedding_length"), 1, kMaxWidth);
  c.d_hidden = keys.count(own("feed_forward_length"), 1, kMaxWidth);
  keys.find(own("expert_count"));
  if (mixture) {
    c.experts = keys.count(own("expert_count"), 1, kMaxExperts);
    c.experts_per_token = keys.count(own("expert_used_count"), 1, c.experts);
    c.d_expert = keys.count_or(own("expert_feed_forward_length"), 1, kMaxWidth, c.d_hidden);
    c.d_shared = keys.count_or(own("expert_shared_feed_forward_length"), 1, kMaxWidth, 0);
    // How the experts of a token are chosen and weighed.
    for (const char* key : {"expert_weights_norm", "expert_weights_scale", "expert_gating_func"}) keys.find(own(key));
  }
  c.heads = keys.count(own("attention.head_count"), 1, kMaxHeads);
  c.kv_heads = keys.count_or(own("attention.head_count_kv"), 1, kMaxHeads, c.heads);
  c.head_dim = keys.count_or(own("attention.key_length"), 1, kMaxWidth, c.d_model / c.heads);
  if (keys.count_or(own("attention.value_length"), 1, kMaxWidth, c.head_dim) != c.head_dim)
    keys.refuse(own("attention.value_length"), "the length of keys");
  c.vocab = keys.count_or(own("vocab_size"), 1, kMaxVocab, 0);
  c.context = keys.count_or(own("context_length"), 1, uint64_t{1} << 30, 2048);
  c.gate.kind = family->gate;
  c.eps = keys.real_or(own("attention.layer_norm_rms_epsilon"), family->eps);
  c.eps = keys.real_or(own("attention.layer_norm_epsilon"), c.eps);
  read_rotary_gguf(keys, file, architecture, c);
  const size_t window = keys.count_or(own("attention.sliding_window"), 0, kMaxWidth, 0);
  if (window > 0 && family->windows == WindowPattern::none)
    keys.refuse(own("attention.sliding_window"), "none in this family");
  c.windows = windows_by_pattern(c, window, 6);
  c.parallel = keys.flag(own("use_parallel_residual"));
  if (!keys.flag(own("attention.causal"), true)) keys.refuse(own("attention.causal"), "true");
  // The rows of q and k as the pairs that turn need them: adjacent in the first files of Llama.
  const std::string layout = keys.text_or(own("tensor_data_layout"), "");
  if (!layout.empty() && layout != "Meta AI original pth" && (c.adjacent || layout != "reference"))
    keys.refuse(own("tensor_data_layout"), "Meta AI original pth");
  if (keys.real_or(own("attention.clamp_kqv"), 0) > 0) keys.refuse(own("attention.clamp_kqv"), "0");
  c.embedding_scale = family->scaled_embedding ? std::sqrt(static_cast<double>(c.d_model)) : 1;
  // GGUF does not store what Gemma divides its scores by; the largest of a generation has its own.
  const size_t shared = c.layers == family->own_scale_layers ? c.d_model / c.heads : c.head_dim;
  c.attention_scale = 1 / std::sqrt(static_cast<double>(shared));
  c.attention_cap = keys.real_or(own("attn_logit_softcapping"), 0);
  c.logit_cap = keys.real_or(own("final_logit_softcapping"), 0);
  c.ends = read_ends(keys.find("tokenizer.ggml.eos_token_id"));
  keys.no_others(architecture + ".");
  check_numbers(c, where);
  return c;
}

FamilyConfig family_config(const WeightFile& file) {
  return file.format() == WeightFormat::safetensors ? config_from_hf(file) : config_from_gguf(file);
}

}  // namespace glint

#include "glint/model/family_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "glint/base/error.h"
#include "glint/io/json.h"

namespace glint {
namespace {

constexpr uint64_t kMaxLayers = 1024, kMaxWidth = 1 << 20, kMaxHeads = 4096;

// Keys of config.json that change nothing in a forward pass.
constexpr std::string_view kHarmless[] = {
    "architectures", "auto_map", "bos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "dtype",
    "torch_dtype", "transformers_version", "use_cache", "initializer_range", "attention_dropout",
    "attn_pdrop", "_name_or_path", "_attn_implementation", "_attn_implementation_autoset",
    "_flash_attn_2_enabled", "pretraining_tp", "output_attentions", "output_hidden_states",
    "output_router_logits", "return_dict", "use_mps", "is_decoder", "id2label", "label2id", "problem_type",
    "task_specific_params", "finetuning_task", "chunk_size_feed_forward", "model_max_length",
    "is_llama_config", "rope_interleaved", "gradient_checkpointing", "transformers.js_config",
    "max_sequence_length", "unsloth_fixed", "unsloth_version",
    // of GGUF, after the architecture
    "rope.scaling.original_context_length", "rope.scaling.finetuned", "attention.causal",
    "tensor_data_layout"};

// The keys of one JSON object: what was asked for is remembered, so that the rest can be refused. A key with
// null is as good as absent.
class Keys {
 public:
  Keys(const Json& object, std::string title, std::string where)
      : object_(object), title_(std::move(title)), where_(std::move(where)) {}

  const Json* find(const std::string& key) const {
    taken_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const {
    const auto it = object_.find(key);
    std::string value = it == object_.end() ? "absent" : it->dump(-1, ' ', true);
    if (value.size() > 60) value = value.substr(0, 57) + "...";
    throw Error({.code = ErrorCode::bad_file,
                 .what = title_ + " with `" + key + "` " + value + " is not supported",
                 .where = where_,
                 .expected = expected});
  }
  uint64_t count(const std::string& key, uint64_t low, uint64_t high) const {
    const Json* value = find(key);
    if (!value || !value->is_number_integer() || value->get<int64_t>() < static_cast<int64_t>(low) ||
        value->get<int64_t>() > static_cast<int64_t>(high))
      refuse(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    return value->get<uint64_t>();
  }
  uint64_t count_or(const std::string& key, uint64_t low, uint64_t high, uint64_t otherwise) const {
    return find(key) ? count(key, low, high) : otherwise;
  }
  double real_or(const std::string& key, double otherwise) const {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0)
      refuse(key, "a number, not negative");
    return value->get<double>();
  }
  double real(const std::string& key) const {
    if (!find(key)) refuse(key, "a number");
    return real_or(key, 0);
  }
  bool flag(const std::string& key, bool otherwise = false) const {
    const Json* value = find(key);
    if (value && !value->is_boolean()) refuse(key, "true or false");
    return value ? value->get<bool>() : otherwise;
  }
  std::string text_or(const std::string& key, const std::string& otherwise) const {
    const Json* value = find(key);
    if (value && !value->is_string()) refuse(key, "a text");
    return value ? value->get<std::string>() : otherwise;
  }
  // What nobody asked for must be harmless; keys that do not begin with `prefix` are not looked at.
  void no_others(const std::string& prefix = "") const {
    for (const auto& [key, value] : object_.items())
      if (key.starts_with(prefix) && !value.is_null() && !taken_.contains(key) &&
          std::ranges::find(kHarmless, key.substr(prefix.size())) == std::end(kHarmless))
        refuse(key, "only keys that glint knows: it cannot tell what this one changes");
  }

 private:
  const Json& object_;
  std::string title_, where_;
  mutable std::set<std::string> taken_;
};

GateKind parse_activation(const Keys& keys, const std::string& key, const std::string& word) {
  if (word == "silu" || word == "swish") return GateKind::Silu;
  if (word == "gelu_pytorch_tanh" || word == "gelu_new" || word == "gelu_tanh") return GateKind::GeluTanh;
  if (word == "gelu") return GateKind::Gelu;
  if (word == "relu") return GateKind::Relu;
  keys.refuse(key, "silu, gelu, gelu_pytorch_tanh or relu");
}

// The gate of Gemma is the tanh form whatever `hidden_act` says: the first files say gelu there by mistake.
GateKind read_gate(const Keys& keys, const Family& family) {
  const bool own_key = std::ranges::find(family.keys, "hidden_activation") != family.keys.end();
  const std::string key = own_key ? "hidden_activation" : "hidden_act", word = keys.text_or(key, "");
  keys.text_or("hidden_act", "");
  return word.empty() ? family.gate : parse_activation(keys, key, word);
}

void read_scaling(const Keys& keys, RotaryScaling& scaling) {
  const std::string key = keys.find("rope_type") ? "rope_type" : "type";
  const std::string kind = keys.text_or(key, "default");
  keys.find("type");
  if (kind == "linear") {
    scaling.kind = RotaryScaling::Kind::linear;
    scaling.factor = keys.real("factor");
  } else if (kind == "llama3") {
    scaling.kind = RotaryScaling::Kind::llama3;
    scaling.factor = keys.real("factor");
    scaling.low = keys.real("low_freq_factor");
    scaling.high = keys.real("high_freq_factor");
    scaling.original = keys.real("original_max_position_embeddings");
    if (!(scaling.high > scaling.low)) keys.refuse("high_freq_factor", "more than low_freq_factor");
  } else if (kind != "default") {
    keys.refuse(key, "default, linear or llama3");
  }
  if (!(scaling.factor > 0)) keys.refuse("factor", "more than 0");
}

// Both spellings: `rope_theta` with `rope_scaling`, and `rope_parameters`, by kind of layer where they
// differ.
void read_rotary(const Keys& keys, const std::string& title, const std::string& where, FamilyConfig& c) {
  double partial = keys.real_or("partial_rotary_factor", 1);
  c.theta = keys.real_or("rope_theta", 10000);
  c.local_theta = keys.real_or("rope_local_base_freq", c.family->local_theta);
  const auto one = [&](const Json& object, double& theta, RotaryScaling& scaling) {
    const Keys inner(object, title, where);
    theta = inner.real_or("rope_theta", theta);
    partial = inner.real_or("partial_rotary_factor", partial);
    read_scaling(inner, scaling);
    inner.no_others();
  };
  const Json* newer = keys.find("rope_parameters");
  const Json* older = keys.find("rope_scaling");
  if (const Json* object = newer ? newer : older; object) {
    if (!object->is_object()) keys.refuse(newer ? "rope_parameters" : "rope_scaling", "an object");
    const auto full = object->find("full_attention"), local = object->find("sliding_attention");
    if (full != object->end() && local != object->end() && full->is_object() && local->is_object()) {
      RotaryScaling none;
      one(*full, c.theta, c.scaling);
      one(*local, c.local_theta, none);
      if (none.kind != RotaryScaling::Kind::none)
        keys.refuse("rope_parameters", "no scaling in layers with a window");
    } else {
      one(*object, c.theta, c.scaling);
    }
  }
  if (!(partial > 0) || partial > 1) keys.refuse("partial_rotary_factor", "more than 0, at most 1");
  c.rotary_dims = static_cast<size_t>(partial * static_cast<double>(c.head_dim));
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

void read_windows(const Keys& keys, FamilyConfig& c) {
  const size_t window = keys.count_or("sliding_window", 1, kMaxWidth, 0);
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
  const Keys first(json, "a model", where);
  const std::string type = first.text_or("model_type", "");
  const Family* family = find_family_hf(type);
  if (!family)
    throw Error({.code = ErrorCode::bad_file,
                 .what = type.empty() ? "the configuration does not say what family the model is of"
                                      : "a model of the family '" + type + "' is not supported",
                 .where = where,
                 .expected = "a `model_type` out of " + family_list()});
  const Keys keys(json, std::string(family->title), where);
  for (const std::string key :
       {"quantization_config", "num_local_experts", "num_experts", "n_routed_experts"})
    if (keys.find(key)) keys.refuse(key, "a dense model with weights in f32, f16 or bf16");
  FamilyConfig c;
  c.family = family;
  keys.text_or("model_type", "");
  c.layers = keys.count("num_hidden_layers", 1, kMaxLayers);
  c.d_model = keys.count("hidden_size", 1, kMaxWidth);
  c.d_hidden = keys.count("intermediate_size", 1, kMaxWidth);
  c.heads = keys.count("num_attention_heads", 1, kMaxHeads);
  c.kv_heads = keys.count_or("num_key_value_heads", 1, kMaxHeads, c.heads);
  c.head_dim = keys.count_or("head_dim", 1, kMaxWidth, c.d_model / c.heads);
  c.vocab = keys.count_or("vocab_size", 1, kMaxVocab, 0);
  c.context = keys.count_or("max_position_embeddings", 1, uint64_t{1} << 30, 2048);
  c.gate.kind = read_gate(keys, *family);
  c.eps = keys.real_or("rms_norm_eps", family->eps);
  c.eps = keys.real_or("layer_norm_eps", c.eps);
  read_rotary(keys, std::string(family->title), where, c);
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
  const Family* family = find_family_gguf(architecture);
  if (!family)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "a model of the architecture '" + architecture + "' is not supported",
                 .where = where,
                 .expected = "a `general.architecture` out of " + family_list()});
  const Keys keys(json, std::string(family->title), where);
  const auto own = [&](const char* key) { return architecture + "." + key; };
  if (keys.count_or(own("expert_count"), 0, kMaxWidth, 0) > 0)
    keys.refuse(own("expert_count"), "a dense model: mixtures of experts cannot be run yet");
  FamilyConfig c;
  c.family = family;
  c.layers = keys.count(own("block_count"), 1, kMaxLayers);
  c.d_model = keys.count(own("embedding_length"), 1, kMaxWidth);
  c.d_hidden = keys.count(own("feed_forward_length"), 1, kMaxWidth);
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
  c.theta = keys.real_or(own("rope.freq_base"), 10000);
  c.local_theta = keys.real_or(own("rope.freq_base_swa"), family->local_theta);
  c.rotary_dims = keys.count_or(own("rope.dimension_count"), 2, kMaxWidth, c.head_dim);
  c.adjacent = family->gguf_adjacent;
  const std::string scaling = keys.text_or(own("rope.scaling.type"), "none");
  if (scaling == "linear") {
    c.scaling.kind = RotaryScaling::Kind::linear;
    c.scaling.factor = keys.real(own("rope.scaling.factor"));
    if (!(c.scaling.factor > 0)) keys.refuse(own("rope.scaling.factor"), "more than 0");
  } else if (scaling != "none") {
    keys.refuse(own("rope.scaling.type"), "none or linear");
  }
  if (const StoredTensor* divisors = file.find("rope_freqs.weight")) {
    if (divisors->values() > kMaxWidth) keys.refuse(own("rope.dimension_count"), "a divisor for each pair");
    std::vector<float> values(divisors->values());
    widen(*divisors, 0, values);
    c.scaling.divisors.assign(values.begin(), values.end());
    if (std::ranges::any_of(values, [](float v) { return !(v > 0); }))
      throw Error({.code = ErrorCode::bad_file,
                   .what = "a divisor of rotary frequencies is not positive",
                   .where = where + ", rope_freqs.weight",
                   .expected = "numbers above 0"});
  }
  for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
    if (file.find(name))
      throw Error({.code = ErrorCode::bad_file,
                   .what = std::string(family->title) + " with two sets of rotary factors is not supported",
                   .where = where + ", " + name,
                   .expected = "a model for short texts, without these factors"});
  const size_t window = keys.count_or(own("attention.sliding_window"), 0, kMaxWidth, 0);
  if (window > 0 && family->windows == WindowPattern::none)
    keys.refuse(own("attention.sliding_window"), "none in this family");
  c.windows = windows_by_pattern(c, window, 6);
  c.parallel = keys.flag(own("use_parallel_residual"));
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

std::vector<double> rotary_frequencies(const FamilyConfig& c, bool local) {
  const bool own = local && c.local_theta > 0;
  const double theta = own ? c.local_theta : c.theta;
  std::vector<double> out(c.rotary_dims / 2);
  for (size_t j = 0; j < out.size(); j++) {
    double f = std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(c.rotary_dims));
    if (own) {
      out[j] = f;
      continue;
    }
    const RotaryScaling& s = c.scaling;
    if (s.kind == RotaryScaling::Kind::linear) f /= s.factor;
    if (s.kind == RotaryScaling::Kind::llama3) {
      const double wave = 2 * std::numbers::pi / f;
      const double smooth = std::clamp((s.original / wave - s.low) / (s.high - s.low), 0.0, 1.0);
      f = (1 - smooth) * f / s.factor + smooth * f;
    }
    if (!s.divisors.empty()) f /= s.divisors[j];
    out[j] = f;
  }
  return out;
}

}  // namespace glint

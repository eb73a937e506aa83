#include "glint/model/family_hf.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "glint/base/error.h"

namespace glint {
namespace {

// Gives every tensor of the file its name, one after the other.
class HfLayout {
 public:
  explicit HfLayout(const FamilyModel& model) : model_(model), c_(model.config()) {}

  std::vector<HfTensor> tensors() {
    const FamilyNames& n = c_.family->names;
    global(n.embedding, "model.");
    global(n.head, "");
    norm(n.final_norm, std::string(n.final_norm.gguf), "model." + std::string(n.final_norm.hf));
    for (size_t i = 0; i < c_.layers; i++) block(i);
    for (const StoredTensor& t : model_.file().tensors())
      if (!taken_.contains(&t) && !t.name.starts_with("rope_f"))
        throw Error({.code = ErrorCode::bad_file,
                     .what = "a tensor has no place in a folder of Hugging Face",
                     .where = model_.file().where() + ", " + t.name,
                     .expected = "the tensors of a " + std::string(c_.family->title)});
    std::ranges::sort(out_, {}, &HfTensor::name);
    return std::move(out_);
  }

 private:
  void block(size_t i) {
    const FamilyNames& n = c_.family->names;
    const std::string from = "blk." + std::to_string(i) + ".", to = "model.layers." + std::to_string(i) + ".";
    const auto place = [&](const TensorName& name, size_t heads = 0) {
      if (name.gguf.empty()) return;
      for (const char* ending : {".weight", ".bias"})
        put(from + std::string(name.gguf) + ending, to + std::string(name.hf) + ending, heads);
    };
    for (const TensorName* name :
         {&n.before_attention, &n.after_attention, &n.before_glu, &n.after_glu, &n.q_norm, &n.k_norm})
      norm(*name, from + std::string(name->gguf), to + std::string(name->hf));
    place(n.q, c_.adjacent ? c_.heads : 0);
    place(n.k, c_.adjacent ? c_.kv_heads : 0);
    for (const TensorName* name : {&n.v, &n.o, &n.qkv}) place(*name);
    const bool fused = !n.gate_up.gguf.empty() && !model_.file().find(from + std::string(n.gate.gguf) + ".weight");
    if (fused) place(n.gate_up);
    for (const TensorName* name : {&n.gate, &n.up, &n.down, &n.shared_gate, &n.shared_up, &n.shared_down, &n.router})
      place(*name);
    shared_router(from, to);
    for (const TensorName* name : {&n.expert_gate, &n.expert_up, &n.expert_down})
      experts(from + std::string(name->gguf) + ".weight", to + std::string(name->hf) + ".weight");
  }

  void put(const std::string& from, const std::string& to, size_t heads = 0, float add = 0) {
    const StoredTensor* t = model_.file().find(from);
    if (!t || !taken_.insert(t).second) return;
    out_.push_back({.name = to, .from = t, .shape = t->shape, .heads = heads, .add = add});
  }
  void global(const TensorName& name, const std::string& prefix) {
    put(std::string(name.gguf) + ".weight", prefix + std::string(name.hf) + ".weight");
  }
  void norm(const TensorName& name, const std::string& from, const std::string& to) {
    if (name.gguf.empty()) return;
    put(from + ".weight", to + ".weight", 0, c_.family->one_plus ? -1.0f : 0.0f);
    put(from + ".bias", to + ".bias");
  }
  // A row there, a vector here.
  void shared_router(const std::string& from, const std::string& to) {
    const TensorName& name = c_.family->names.shared_router;
    if (name.gguf.empty()) return;
    const size_t before = out_.size();
    put(from + std::string(name.gguf) + ".weight", to + std::string(name.hf) + ".weight");
    if (out_.size() > before) out_.back().shape = {1, out_.back().from->values()};
  }
  void experts(const std::string& from, const std::string& to) {
    const StoredTensor* t = model_.file().find(from);
    if (!t || !taken_.insert(t).second) return;
    const size_t values = t->values() / c_.experts;
    for (size_t e = 0; e < c_.experts; e++) {
      std::string name = to;
      name.replace(name.find('#'), 1, std::to_string(e));
      out_.push_back({.name = name, .from = t, .shape = {t->shape[1], t->shape[2]}, .first = e * values});
    }
  }

  const FamilyModel& model_;
  const FamilyConfig& c_;
  std::set<const StoredTensor*> taken_;
  std::vector<HfTensor> out_;
};

// As transformers names it, or in the words of glint.torch.register().
std::string hf_activation(const Gate& gate) {
  return gate.kind == GateKind::GeluTanh ? "gelu_pytorch_tanh" : gate_word(gate);
}

// Divisors that a file lists are those of longrope, for short and long texts alike.
Json rotary_json(const FamilyConfig& c) {
  const RotaryScaling& s = c.scaling;
  Json j = {{"rope_theta", c.theta}, {"rope_type", "default"}};
  if (c.rotary_dims != c.head_dim)
    j["partial_rotary_factor"] = static_cast<double>(c.rotary_dims) / static_cast<double>(c.head_dim);
  if (s.kind == RotaryScaling::Kind::linear) {
    j["rope_type"] = "linear", j["factor"] = s.factor;
  } else if (s.kind == RotaryScaling::Kind::llama3) {
    j.update(Json{{"rope_type", "llama3"},
                  {"factor", s.factor},
                  {"low_freq_factor", s.low},
                  {"high_freq_factor", s.high},
                  {"original_max_position_embeddings", static_cast<uint64_t>(s.original)}});
  } else if (s.kind == RotaryScaling::Kind::yarn) {
    j.update(Json{{"rope_type", "yarn"},
                  {"factor", s.factor},
                  {"attention_factor", s.size},
                  {"beta_fast", s.fast},
                  {"beta_slow", s.slow},
                  {"original_max_position_embeddings", static_cast<uint64_t>(s.original)}});
  } else if (!s.divisors.empty()) {
    const bool own = s.kind == RotaryScaling::Kind::longrope;
    j.update(Json{{"rope_type", "longrope"},
                  {"short_factor", s.divisors},
                  {"long_factor", own ? s.long_divisors : s.divisors},
                  {"attention_factor", s.size},
                  {"original_max_position_embeddings", own ? static_cast<uint64_t>(s.original) : c.context}});
  }
  return j;
}

}  // namespace

size_t HfTensor::values() const {
  size_t all = 1;
  for (const size_t n : shape) all *= n;
  return all;
}

std::vector<HfTensor> hf_tensors(const FamilyModel& model) { return HfLayout(model).tensors(); }

void widen(const HfTensor& t, std::span<float> out) {
  widen(*t.from, t.first, out);
  if (t.add != 0)
    for (float& v : out) v += t.add;
  if (t.heads == 0) return;
  const size_t rows = t.shape[0], cols = out.size() / rows, size = rows / t.heads, half = size / 2;
  const std::vector<float> from(out.begin(), out.end());
  for (size_t r = 0; r < rows; r++) {
    const size_t in_head = r % size, other = r - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(other * cols), cols,
                out.begin() + static_cast<std::ptrdiff_t>(r * cols));
  }
}

Json hf_family_config(const FamilyModel& model) {
  const FamilyConfig& c = model.config();
  const Family& f = *c.family;
  const FamilyLayer& first = model.layers().front();
  const auto has = [&](std::string_view key) { return std::ranges::find(f.keys, key) != f.keys.end(); };
  if (c.adjacent && c.rotary_dims != c.head_dim)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "heads that turn in part, by adjacent pairs, have no form in a folder of Hugging Face",
                 .where = model.file().where(),
                 .expected = "heads that turn as a whole"});
  Json j = {{"architectures", {std::string(f.hf_class) + "ForCausalLM"}},
            {"model_type", f.hf.front()},
            {"num_hidden_layers", c.layers},
            {"hidden_size", c.d_model},
            {"intermediate_size", c.d_hidden},
            {"num_attention_heads", c.heads},
            {"num_key_value_heads", c.kv_heads},
            {"vocab_size", model.vocab()},
            {"max_position_embeddings", c.context},
            {"hidden_act", hf_activation(c.gate)},
            {"tie_word_embeddings", model.tied()},
            {"pad_token_id", nullptr},
            {"torch_dtype", "float32"}};
  if (c.head_dim * c.heads != c.d_model || f.head_norm == HeadNorm::each) j["head_dim"] = c.head_dim;
  if (has("hidden_activation")) j["hidden_activation"] = hf_activation(c.gate);
  j[f.norm == FamilyNorm::rms ? "rms_norm_eps" : "layer_norm_eps"] = c.eps;
  if (f.plain_norms) j.erase("layer_norm_eps");
  if (!first.q.bias.empty()) {
    if (has("use_qkv_bias")) j["use_qkv_bias"] = true;
    if (has("qkv_bias")) j["qkv_bias"] = true;
    if (f.name == "llama") j["attention_bias"] = true;
  }
  if (!first.gate.bias.empty()) j["mlp_bias"] = true;
  if (c.parallel) j["use_parallel_residual"] = true;
  if (has("query_pre_attn_scalar"))
    j["query_pre_attn_scalar"] = std::lround(1 / (c.attention_scale * c.attention_scale));
  if (has("attn_logit_softcapping")) {
    j["attn_logit_softcapping"] = c.attention_cap > 0 ? Json(c.attention_cap) : Json();
    j["final_logit_softcapping"] = c.logit_cap > 0 ? Json(c.logit_cap) : Json();
  }
  if (const size_t window = *std::ranges::max_element(c.windows); window > 0) {
    j["sliding_window"] = window;
    if (f.windows == WindowPattern::config) j["use_sliding_window"] = true;
    Json types = Json::array();
    for (const size_t w : c.windows) types.push_back(w > 0 ? "sliding_attention" : "full_attention");
    if (f.windows != WindowPattern::every) j["layer_types"] = types;
  } else if (f.windows == WindowPattern::every) {
    j["sliding_window"] = nullptr;
  }
  j["rope_parameters"] = rotary_json(c);
  if (c.local_theta > 0)
    j["rope_parameters"] = {{"full_attention", rotary_json(c)},
                            {"sliding_attention", {{"rope_theta", c.local_theta}, {"rope_type", "default"}}}};
  if (has("original_max_position_embeddings") && c.scaling.kind == RotaryScaling::Kind::longrope)
    j["original_max_position_embeddings"] = static_cast<uint64_t>(c.scaling.original);
  if (model.mixture()) {
    j[f.name == "mixtral" ? "num_local_experts" : "num_experts"] = c.experts;
    j["num_experts_per_tok"] = c.experts_per_token;
    if (f.name == "mixtral") {
      j["intermediate_size"] = c.d_expert;
    } else {
      j["moe_intermediate_size"] = c.d_expert;
      if (!first.shared.empty()) j["shared_expert_intermediate_size"] = first.shared.gate.rows;
      Json dense = Json::array();
      for (size_t i = 0; i < c.layers; i++)
        if (model.layers()[i].experts.empty()) dense.push_back(i);
      j["mlp_only_layers"] = dense, j["decoder_sparse_step"] = 1;
    }
  }
  j["eos_token_id"] = c.ends.empty() ? Json() : c.ends.size() == 1 ? Json(c.ends[0]) : Json(c.ends);
  return j;
}

}  // namespace glint

#include "glint/model/family.h"

#include <algorithm>
#include <functional>

namespace glint {
namespace {

FamilyNames names_with(const std::function<void(FamilyNames&)>& change) {
  FamilyNames names;
  change(names);
  return names;
}

// Norms around both parts of a block.
void both_sides(FamilyNames& n) {
  n.after_attention = {"post_attention_layernorm", "post_attention_norm"};
  n.before_glu = {"pre_feedforward_layernorm", "ffn_norm"};
  n.after_glu = {"post_feedforward_layernorm", "post_ffw_norm"};
}
void head_norms(FamilyNames& n) {
  n.q_norm = {"self_attn.q_norm", "attn_q_norm"};
  n.k_norm = {"self_attn.k_norm", "attn_k_norm"};
}

void expert_names(FamilyNames& n) {
  n.expert_gate = {"mlp.experts.#.gate_proj", "ffn_gate_exps"};
  n.expert_up = {"mlp.experts.#.up_proj", "ffn_up_exps"};
  n.expert_down = {"mlp.experts.#.down_proj", "ffn_down_exps"};
  n.router = {"mlp.gate", "ffn_gate_inp"};
}

std::vector<Family> make_families() {
  std::vector<Family> all;
  // Also TinyLlama, SmolLM and SmolLM2, Yi, CodeLlama: they call themselves llama.
  all.push_back({.name = "llama",
                 .title = "Llama",
                 .hf = {"llama"},
                 .hf_class = "Llama",
                 .gguf = "llama",
                 .gguf_adjacent = true,
                 .biases = true,
                 .keys = {"mlp_bias"}});
  // In GGUF files Mistral is a llama.
  all.push_back({.name = "mistral",
                 .title = "Mistral",
                 .hf = {"mistral"},
                 .hf_class = "Mistral",
                 .windows = WindowPattern::every});
  all.push_back({.name = "qwen2",
                 .title = "Qwen2",
                 .hf = {"qwen2"},
                 .hf_class = "Qwen2",
                 .gguf = "qwen2",
                 .biases = true,
                 .windows = WindowPattern::config});
  all.push_back({.name = "qwen3",
                 .title = "Qwen3",
                 .hf = {"qwen3"},
                 .hf_class = "Qwen3",
                 .gguf = "qwen3",
                 .names = names_with(head_norms),
                 .head_norm = HeadNorm::each,
                 .biases = true,
                 .windows = WindowPattern::config});
  all.push_back({.name = "gemma",
                 .title = "Gemma",
                 .hf = {"gemma"},
                 .hf_class = "Gemma",
                 .gguf = "gemma",
                 .one_plus = true,
                 .gate = GateKind::GeluTanh,
                 .scaled_embedding = true,
                 .biases = true,
                 .keys = {"hidden_activation", "use_bidirectional_attention"}});
  all.push_back({.name = "gemma2",
                 .title = "Gemma 2",
                 .hf = {"gemma2"},
                 .hf_class = "Gemma2",
                 .gguf = "gemma2",
                 .names = names_with(both_sides),
                 .one_plus = true,
                 .gate = GateKind::GeluTanh,
                 .scaled_embedding = true,
                 .biases = true,
                 .windows = WindowPattern::alternate,
                 .own_scale_layers = 46,
                 .keys = {"hidden_activation", "query_pre_attn_scalar", "attn_logit_softcapping",
                          "final_logit_softcapping", "use_bidirectional_attention", "cache_implementation"}});
  all.push_back({.name = "gemma3",
                 .title = "Gemma 3",
                 .hf = {"gemma3_text"},
                 .hf_class = "Gemma3",
                 .gguf = "gemma3",
                 .names = names_with([](FamilyNames& n) { both_sides(n), head_norms(n); }),
                 .one_plus = true,
                 .head_norm = HeadNorm::each,
                 .gate = GateKind::GeluTanh,
                 .scaled_embedding = true,
                 .biases = true,
                 .windows = WindowPattern::five_of_six,
                 .local_theta = 10000,
                 .own_scale_layers = 62,
                 .keys = {"hidden_activation", "query_pre_attn_scalar", "attn_logit_softcapping",
                          "final_logit_softcapping", "use_bidirectional_attention", "rope_local_base_freq",
                          "sliding_window_pattern", "_sliding_window_pattern", "cache_implementation"}});
  all.push_back({.name = "phi3",
                 .title = "Phi-3",
                 .hf = {"phi3"},
                 .hf_class = "Phi3",
                 .gguf = "phi3",
                 .names = names_with([](FamilyNames& n) {
                   n.qkv = {"self_attn.qkv_proj", "attn_qkv"};
                   n.gate_up = {"mlp.gate_up_proj", "ffn_up"};
                 }),
                 .windows = WindowPattern::every,
                 .eps = 1e-5,
                 .keys = {"embd_pdrop", "resid_pdrop", "original_max_position_embeddings"}});
  all.push_back({.name = "olmo",
                 .title = "OLMo",
                 .hf = {"olmo"},
                 .hf_class = "Olmo",
                 .gguf = "olmo",
                 .names = names_with([](FamilyNames& n) { n.final_norm = n.before_attention = n.before_glu = {}; }),
                 .norm = FamilyNorm::layer,
                 .plain_norms = true,
                 .gguf_adjacent = true,
                 .biases = true,
                 .eps = 1e-5,
                 .keys = {"clip_qkv"}});
  all.push_back({.name = "olmo2",
                 .title = "OLMo 2",
                 .hf = {"olmo2"},
                 .hf_class = "Olmo2",
                 .gguf = "olmo2",
                 .names = names_with([](FamilyNames& n) {
                   both_sides(n), head_norms(n);
                   n.before_attention = n.before_glu = {};
                 }),
                 .head_norm = HeadNorm::all,
                 .biases = true,
                 .eps = 1e-5});
  all.push_back(
      {.name = "stablelm",
       .title = "StableLM",
       .hf = {"stablelm"},
       .hf_class = "StableLm",
       .gguf = "stablelm",
       .norm = FamilyNorm::layer,
       .biases = true,
       .eps = 1e-5,
       .keys = {"use_qkv_bias", "qk_layernorm", "use_parallel_residual", "hidden_dropout", "layer_norm_eps"}});
  // Mixtures of experts. In GGUF files Mixtral is a llama with experts.
  all.push_back({.name = "mixtral",
                 .title = "Mixtral",
                 .hf = {"mixtral"},
                 .hf_class = "Mixtral",
                 .gguf = "llama",
                 .names = names_with([](FamilyNames& n) {
                   expert_names(n);
                   n.expert_gate.hf = "block_sparse_moe.experts.#.w1";
                   n.expert_up.hf = "block_sparse_moe.experts.#.w3";
                   n.expert_down.hf = "block_sparse_moe.experts.#.w2";
                   n.router.hf = "block_sparse_moe.gate";
                 }),
                 .gguf_adjacent = true,
                 .windows = WindowPattern::every,
                 .eps = 1e-5,
                 .keys = {"router_aux_loss_coef", "router_jitter_noise"}});
  all.push_back(
      {.name = "qwen2_moe",
       .title = "Qwen2-MoE",
       .hf = {"qwen2_moe"},
       .hf_class = "Qwen2Moe",
       .gguf = "qwen2moe",
       .names = names_with([](FamilyNames& n) {
         expert_names(n);
         n.shared_gate = {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"};
         n.shared_up = {"mlp.shared_expert.up_proj", "ffn_up_shexp"};
         n.shared_down = {"mlp.shared_expert.down_proj", "ffn_down_shexp"};
         n.shared_router = {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"};
       }),
       .biases = true,
       .windows = WindowPattern::config,
       .keys = {"router_aux_loss_coef", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers", "qkv_bias"}});
  all.push_back({.name = "qwen3_moe",
                 .title = "Qwen3-MoE",
                 .hf = {"qwen3_moe"},
                 .hf_class = "Qwen3Moe",
                 .gguf = "qwen3moe",
                 .names = names_with([](FamilyNames& n) { head_norms(n), expert_names(n); }),
                 .head_norm = HeadNorm::each,
                 .biases = true,
                 .windows = WindowPattern::config,
                 .keys = {"router_aux_loss_coef", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers"}});
  // Its configuration is no config.json of Hugging Face: glint_model.h makes it.
  all.push_back({.name = "glint",
                 .title = "glint",
                 .block = "h.",
                 .names = names_with([](FamilyNames& n) {
                   n.embedding = {"wte"};
                   n.final_norm = {"norm"}, n.before_attention = {"attn.norm"}, n.before_glu = {"mlp.norm"};
                   n.q_norm = {"attn.q_norm"}, n.k_norm = {"attn.k_norm"};
                   n.qkv = {"attn.qkv"}, n.o = {"attn.o"};
                   n.gate_up = {"mlp.w"}, n.down = {"mlp.p"};
                 }),
                 .plain_norms = true,
                 .biases = true});
  return all;
}

}  // namespace

std::span<const Family> families() {
  static const std::vector<Family> all = make_families();
  return all;
}

const Family& glint_family() { return families().back(); }

const Family* find_family_hf(std::string_view model_type) {
  for (const Family& f : families())
    if (std::ranges::find(f.hf, model_type) != f.hf.end()) return &f;
  return nullptr;
}

const Family* find_family_gguf(std::string_view architecture, bool mixture) {
  for (const Family& f : families())
    if (!f.gguf.empty() && f.gguf == architecture && f.mixture() == mixture) return &f;
  return nullptr;
}

std::string family_list() {
  std::string list;
  for (const Family& f : families())
    if (&f != &glint_family()) list += (list.empty() ? "" : ", ") + std::string(f.name);
  return list;
}

}  // namespace glint

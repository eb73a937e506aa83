// The families of language models that glint runs, its own among them: one entry each says how the family
// differs from Llama, and how its tensors are called in Hugging Face folders and in GGUF files. Reading of configurations, finding of
// tensors and the forward pass all follow the entry; to add a family, add an entry.
//
//   x = E[token] (times the square root of the width)
//   x += after(attention(before(x))) (times a factor)
//   x += after(P (gate(L u) * (R u))), u = before(x)         "parallel": u is what attention read
//   logits = norm(x) H^T
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/kernels/gates.h"

namespace glint {

enum class FamilyNorm {
  rms,    // x / rms(x) w
  layer,  // (x - mean) / deviation w (+ b)
};

// Norms of queries and keys, before they are turned.
enum class HeadNorm {
  none,
  each,  // every head by itself, one weight [head_dim] for all
  all,   // all heads together, weight [heads * head_dim]
};

// How tensors are called, without ".weight"; "": the family has none. Inside a block a prefix is added:
// "model.layers.3." or "blk.3.".
struct TensorName {
  std::string_view hf = {}, gguf = {};
};

struct FamilyNames {
  TensorName embedding = {"embed_tokens", "token_embd"};
  TensorName final_norm = {"norm", "output_norm"};
  TensorName head = {"lm_head", "output"};
  TensorName before_attention = {"input_layernorm", "attn_norm"};
  TensorName after_attention = {};
  TensorName before_glu = {"post_attention_layernorm", "ffn_norm"};
  TensorName after_glu = {};
  TensorName q = {"self_attn.q_proj", "attn_q"}, k = {"self_attn.k_proj", "attn_k"}, v = {"self_attn.v_proj", "attn_v"},
             o = {"self_attn.o_proj", "attn_output"};
  TensorName q_norm = {}, k_norm = {};
  TensorName qkv = {};  // fused: the rows of q, then k, then v
  TensorName gate = {"mlp.gate_proj", "ffn_gate"}, up = {"mlp.up_proj", "ffn_up"}, down = {"mlp.down_proj", "ffn_down"};
  TensorName gate_up = {};  // fused: the rows of the gate first
  // Of a mixture of experts: one expert each in files of Hugging Face, with its number for "#"; all of a
  // layer in one tensor [experts, rows, cols] in GGUF files. `shared`: the expert that every token goes
  // through.
  TensorName expert_gate = {}, expert_up = {}, expert_down = {};
  TensorName shared_gate = {}, shared_up = {}, shared_down = {};
  TensorName router = {}, shared_router = {};
};

// Which layers look back only so far.
enum class WindowPattern {
  none,
  every,        // all of them
  alternate,    // the first, the third ...
  five_of_six,  // all but every sixth
  config,       // as `layer_types` or `max_window_layers` says; without them none
};

struct Family {
  std::string_view name, title;
  std::vector<std::string_view> hf = {};  // `model_type` of config.json
  std::string_view hf_class = {};         // in front of ForCausalLM
  std::string_view gguf = {};             // `general.architecture`; "": not known there
  std::string_view block = "layers.";     // what stands before the number of a block in files of Hugging Face
  FamilyNames names = {};
  FamilyNorm norm = FamilyNorm::rms;
  bool plain_norms = false;  // without w and b; in glint's own files where there are none
  bool one_plus = false;     // the files of Hugging Face store the weights of norms minus 1
  HeadNorm head_norm = HeadNorm::none;
  GateKind gate = GateKind::Silu;  // where the file does not say
  bool scaled_embedding = false;   // embeddings times sqrt(width)
  bool gguf_adjacent = false;      // GGUF stores q and k for pairs (2j, 2j + 1), else (j, j + half)
  bool biases = false;             // q, k, v (and o) may have them
  WindowPattern windows = WindowPattern::none;
  double local_theta = 0;                   // of layers that look back only so far; 0: as the others
  size_t own_scale_layers = 0;              // GGUF: with so many layers scores are divided by sqrt(width / heads)
  double eps = 1e-6;                        // where the file does not say
  std::vector<std::string_view> keys = {};  // of config.json that only this family has

  // Every token goes through a few of many GLUs, which a router chooses. They are read one at a time and not
  // run.
  bool mixture() const { return !names.expert_gate.hf.empty(); }
};

std::span<const Family> families();
// The models that glint trains (model/transformer.h).
const Family& glint_family();
const Family* find_family_hf(std::string_view model_type);  // null when there is none
// `mixture`: the file has experts. Mixtral and Llama have the same architecture there.
const Family* find_family_gguf(std::string_view architecture, bool mixture = false);
// "llama, mistral, qwen2 ..."
std::string family_list();

}  // namespace glint

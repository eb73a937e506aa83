// What a model of a family is, in numbers: from config.json of Hugging Face, or from the metadata of a GGUF
// file (which llama2.c files are given too). Whatever the file says that glint cannot follow is an Error that
// names the family, the key and the value; a key that glint does not know is passed over only when it is
// known to change nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glint/base/tokens.h"
#include "glint/io/weight_file.h"
#include "glint/model/family.h"
#include "glint/model/rotary_scaling.h"

namespace glint {

struct FamilyConfig {
  const Family* family = nullptr;
  size_t layers = 0, d_model = 0, d_hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  // Of a mixture; 0: none. d_shared: of the expert that all tokens go through.
  size_t experts = 0, experts_per_token = 0, d_expert = 0, d_shared = 0;
  size_t vocab = 0;    // what the file says; the tensors decide
  size_t context = 0;  // the most tokens that it was trained for
  Gate gate;
  double eps = 1e-6;
  double theta = 10000, local_theta = 0;  // 0: the same in all layers
  size_t rotary_dims = 0;                 // of a head: the first of its numbers turn
  bool adjacent = false;                  // pairs (2j, 2j + 1), else (j, j + half)
  RotaryScaling scaling;                  // of layers without a window, where these have a theta of their own
  std::vector<size_t> windows;            // per layer: tokens that it looks back to; 0: all
  bool parallel = false;
  double embedding_scale = 1, attention_scale = 1;
  double attention_factor = 1;              // of what attention adds to the stream
  double attention_cap = 0, logit_cap = 0;  // cap tanh(x / cap); 0: none
  bool tied = false;                        // what the file says; the tensors decide
  std::vector<TokenId> ends;                // tokens that end a text, as the configuration says
};

// Error (bad_file) as above, and for numbers that do not fit together.
FamilyConfig family_config(const WeightFile& file);

// Parts of it, by format.
FamilyConfig config_from_hf(const WeightFile& file);
FamilyConfig config_from_gguf(const WeightFile& file);

// The most tokens that can be run at once: the context, with longrope what its factors are for.
size_t longest_text(const FamilyConfig& config);
// The frequency of every pair, after scaling. `local`: of a layer with a window.
std::vector<double> rotary_frequencies(const FamilyConfig& config, bool local);

}  // namespace glint

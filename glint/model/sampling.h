// How the next token is chosen from logits, and stories from a prompt. A story is a function of (weights,
// prompt, settings, seed, its number) alone: neither how many others are made nor how they are batched
// counts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "glint/model/generator.h"

namespace glint {

struct SamplingOptions {
  double temperature = 0.8;  // logits are divided by it; 0: always the most likely token
  size_t top_k = 0;          // only the k most likely tokens; 0: all
  double top_p = 1;          // only the most likely tokens that make up this share; 1: all
  uint64_t seed = 0;
};

class Sampler {
 public:
  // Error (usage) for numbers outside their domain.
  explicit Sampler(const SamplingOptions& options);

  // `u` in [0, 1) is the random number; logits are overwritten. Of equally likely tokens the lower comes
  // first.
  TokenId choose(const Kernels& kernels, std::span<float> logits, double u);
  // The token of a story at a place: u is a function of (seed, story, place).
  TokenId choose(const Kernels& kernels, std::span<float> logits, uint32_t story, uint64_t place);

 private:
  void keep_top_k(std::span<float> logits);
  void keep_top_p(std::span<float> weights, double total);
  SamplingOptions options_;
  std::vector<float> values_;
  std::vector<uint32_t> order_;
};

struct Story {
  uint32_t index = 0;
  std::vector<TokenId> ids;  // after the prompt, without the end
  bool ended = false;        // by the end token; otherwise the room was used up
};

struct StoryPlan {
  std::span<const TokenId> prompt;  // at least one token, fewer than the context
  TokenId end = 0;
  size_t first = 0, count = 1;
  size_t tokens = 0;  // the most that are added to the prompt; 0: as many as fit the context
  SamplingOptions sampling = {};
};

// Tokens that are added to the prompt at most, 1 or more: what the plan says or what the context leaves.
// Error (usage) for a prompt that is empty or fills the context.
size_t most_added(const TransformerConfig& config, const StoryPlan& plan);
// The room that a slot of the generator needs: the last token of a story is not fed.
inline size_t story_room(const TransformerConfig& config, const StoryPlan& plan) {
  return plan.prompt.size() + most_added(config, plan) - 1;
}

struct GenerateCounts {
  uint64_t tokens = 0;  // that were chosen, ends included
  uint64_t steps = 0;
};

// Calls `on_token(story, id)` for every token as it comes and `on_story` for every finished story, in the
// order in which they finish. As many stories as the generator has slots, less one for the prompt, run side
// by side; `on_token` false stops everything. The generator has two slots or more, and room for a story.
GenerateCounts generate(Generator& generator, const Compute& compute, const StoryPlan& plan,
                        const std::function<bool(uint32_t story, TokenId id)>& on_token,
                        const std::function<void(Story story)>& on_story);

}  // namespace glint

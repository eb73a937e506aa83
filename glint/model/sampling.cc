#include "glint/model/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/range.h"
#include "glint/base/rng.h"

namespace glint {
namespace {

TokenId largest(std::span<const float> x) {
  return static_cast<TokenId>(std::max_element(x.begin(), x.end()) - x.begin());
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    refuse_value("temperature", options.temperature, 0, std::numeric_limits<double>::max());
  if (!(options.top_p > 0) || options.top_p > 1) refuse_value("top_p", options.top_p, kAboveZero, 1);
}

// The others become minus infinity.
void Sampler::keep_top_k(std::span<float> logits) {
  const size_t k = options_.top_k;
  values_.assign(logits.begin(), logits.end());
  std::nth_element(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(k - 1), values_.end(),
                   std::greater<>());
  const float border = values_[k - 1];
  size_t at_border = k;
  for (const float x : logits) at_border -= x > border;
  for (float& x : logits) {
    if (x > border) continue;
    if (x == border && at_border > 0)
      at_border--;
    else
      x = -std::numeric_limits<float>::infinity();
  }
}

// Weights beyond the share become 0.
void Sampler::keep_top_p(std::span<float> weights, double total) {
  order_.resize(weights.size());
  std::iota(order_.begin(), order_.end(), 0u);
  const auto less = [&](uint32_t a, uint32_t b) {
    return weights[a] < weights[b] || (weights[a] == weights[b] && a > b);
  };
  std::make_heap(order_.begin(), order_.end(), less);
  double kept = 0;
  auto end = order_.end();
  while (end != order_.begin() && kept < options_.top_p * total) {
    std::pop_heap(order_.begin(), end, less);
    kept += weights[*--end];
  }
  for (auto it = order_.begin(); it != end; ++it) weights[*it] = 0;
}

TokenId Sampler::choose(const Kernels& kernels, std::span<float> x, double u) {
  check_argument(!x.empty() && x.size() <= kMaxVocab, "choose", "logits of a vocabulary");
  const float top = x[largest(x)];
  if (!std::isfinite(top)) throw_overflow("the logits");
  if (options_.temperature == 0 || options_.top_k == 1) return largest(x);
  if (options_.top_k > 0 && options_.top_k < x.size()) keep_top_k(x);
  const auto inverse = static_cast<float>(1 / options_.temperature);
  // A temperature near 0 may make them infinite: the differences to the largest are what counts.
  for (float& v : x) v = std::max((v - top) * inverse, -1e4f);
  float ignored_top = 0, ignored_sum = 0;
  kernels.exp_rows(1, x.size(), x.data(), x.size(), &ignored_top, &ignored_sum);
  const auto sum = [&] { return std::accumulate(x.begin(), x.end(), 0.0); };
  double total = sum();
  if (!std::isfinite(total)) throw_overflow("the logits");  // one of them is NaN
  if (options_.top_p < 1) {
    keep_top_p(x, total);
    total = sum();
  }
  double left = u * total;
  size_t last = 0;
  for (size_t i = 0; i < x.size(); i++) {
    if (x[i] <= 0) continue;
    last = i;
    left -= x[i];
    if (left < 0) break;
  }
  return static_cast<TokenId>(last);
}

TokenId Sampler::choose(const Kernels& kernels, std::span<float> logits, uint32_t story, uint64_t place) {
  return choose(kernels, logits, Rng(options_.seed, Stream::sample, story).uniform(place));
}

size_t most_added(const TransformerConfig& config, const StoryPlan& plan) {
  if (plan.prompt.empty() || plan.prompt.size() >= config.context)
    throw Error({.code = ErrorCode::usage,
                 .what = "a story cannot begin with " + std::to_string(plan.prompt.size()) + " tokens",
                 .where = "prompt",
                 .expected = "from 1 to " + std::to_string(config.context - 1) + ": the model sees " +
                             std::to_string(config.context) + " tokens at once"});
  const size_t left = config.context - plan.prompt.size();
  return plan.tokens ? std::min(plan.tokens, left) : left;
}

GenerateCounts generate(Generator& generator, const Compute& compute, const StoryPlan& plan,
                        const std::function<bool(uint32_t, TokenId)>& on_token,
                        const std::function<void(Story)>& on_story) {
  // Prompt and story together have at most `context` tokens.
  const size_t most = most_added(generator.config(), plan), base = generator.slots() - 1;
  check_argument(generator.slots() >= 2 && generator.room() >= story_room(generator.config(), plan), "generate",
                 "a generator with two slots or more, and room for a story");
  Sampler sampler(plan.sampling);
  GenerateCounts counts;

  // The prompt is read once; every story starts from a copy.
  generator.clear(base);
  for (size_t i = 0; i + 1 < plan.prompt.size(); i++) {
    const uint32_t slot = static_cast<uint32_t>(base);
    generator.step({&slot, 1}, plan.prompt.subspan(i, 1), false);
  }
  struct Running {
    Story story;
    uint32_t slot;
    TokenId next;  // token to feed
  };
  std::vector<Running> running;
  std::vector<uint32_t> free_slots;
  for (size_t s = base; s-- > 0;) free_slots.push_back(static_cast<uint32_t>(s));
  std::vector<uint32_t> slots;
  std::vector<TokenId> tokens;
  for (size_t started = 0; started < plan.count || !running.empty();) {
    for (; started < plan.count && !free_slots.empty(); started++) {
      const uint32_t slot = free_slots.back();
      free_slots.pop_back();
      generator.copy(base, slot);
      running.push_back({{.index = static_cast<uint32_t>(plan.first + started), .ids = {}}, slot, plan.prompt.back()});
    }
    slots.clear(), tokens.clear();
    for (const Running& r : running) slots.push_back(r.slot), tokens.push_back(r.next);
    const MatrixView<float> logits = generator.step(slots, tokens);
    counts.steps++;
    std::vector<Running> going;
    for (size_t i = 0; i < running.size(); i++) {
      Running& r = running[i];
      const TokenId id = sampler.choose(compute.kernels(), logits.row(i), r.story.index, r.story.ids.size());
      counts.tokens++;
      r.story.ended = id == plan.end;
      if (!r.story.ended) {
        r.story.ids.push_back(id);
        r.next = id;
        if (!on_token(r.story.index, id)) return counts;
      }
      if (r.story.ended || r.story.ids.size() == most) {
        free_slots.push_back(r.slot);
        on_story(std::move(r.story));
      } else {
        going.push_back(std::move(r));
      }
    }
    running = std::move(going);
  }
  return counts;
}

}  // namespace glint

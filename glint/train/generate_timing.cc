#include "glint/model/sampling.h"
#include "glint/train/timing.h"

namespace glint {

GenerateTiming time_generation(const Compute& compute, const Gate& gate, size_t stories, size_t repeats,
                               const TimingProgress& progress) {
  TransformerConfig config;  // the paper's shape
  config.gate = gate;
  const TransformerParams params = transformer_params(config);
  Matrix<float> weights(1, params.table.floats());
  params.table.initialise(weights.span(), 0);
  Generator generator(config, compute, stories + 1);
  generator.set_weights(weights.span());
  const TokenId prompt[] = {1};
  // No token is the end, so that every story fills the context.
  const StoryPlan plan{.prompt = prompt, .end = static_cast<TokenId>(config.vocab), .count = stories};
  GenerateTiming t;
  const auto write = [&] {
    t.tokens = generate(
                   generator, compute, plan, [](uint32_t, TokenId) { return true; }, [](const Story&) {})
                   .tokens;
  };
  write();  // not counted
  std::vector<double> times;
  for (size_t i = 0; i < repeats; i++) {
    times.push_back(milliseconds_of(write));
    if (progress) progress(i + 1, repeats);
  }
  static_cast<TimeSpread&>(t) = time_spread(times);
  t.stories = stories;
  return t;
}

}  // namespace glint

#include "glint/cli/bench_generate.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "glint/base/statistics.h"
#include "glint/cli/engine_of.h"
#include "glint/model/sampling.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void bench_generate(Context& context, const GenerateBench& o) {
  const Engine engine = engine_of(context);
  TransformerConfig config;  // the paper's shape
  config.gate.kind = parse_gate(o.gate);
  const TransformerParams params = transformer_params(config);
  Matrix<float> weights(1, params.table.floats());
  params.table.initialise(weights.span(), 0);
  const size_t repeats = o.repeats ? o.repeats : 5;
  constexpr size_t kStories[] = {1, 32};
  const TokenId prompt[] = {1};
  Table table({{.header = "stories", .align = Align::right},
               {.header = "tokens", .align = Align::right},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "tokens/s", .align = Align::right, .key = "tokens_per_second"}});
  ordered_json rows = ordered_json::array();
  Progress progress =
      context.progress({.label = "bench generate", .total = std::size(kStories) * repeats, .unit = "runs"});
  size_t done = 0;
  for (const size_t stories : kStories) {
    Generator generator(config, engine.compute(), stories + 1);
    generator.set_weights(weights.span());
    // No token is the end, so that every story fills the context.
    const StoryPlan plan{.prompt = prompt, .end = 65535, .count = stories};
    std::vector<double> times;
    size_t tokens = 0;
    for (size_t i = 0; i <= repeats; i++) {  // the first is not counted
      const double start = seconds();
      const GenerateCounts counts = generate(
          generator, engine.compute(), plan, [](uint32_t, TokenId) { return true; }, [](const Story&) {});
      if (i > 0) times.push_back((seconds() - start) * 1e3), progress.update(++done);
      tokens = counts.tokens;
    }
    const double median = quantile(times, 0.5), low = quantile(times, 0.25), high = quantile(times, 0.75);
    const double rate = static_cast<double>(tokens) / median * 1e3;
    table.add({std::to_string(stories), std::to_string(tokens), o.gate, fixed_text(median, 2),
               fixed_text(low, 2) + " .. " + fixed_text(high, 2), fixed_text(rate, 0)});
    rows.push_back({{"stories", stories},
                    {"tokens", tokens},
                    {"gate", o.gate},
                    {"median_ms", median},
                    {"low_ms", low},
                    {"high_ms", high},
                    {"repeats", repeats},
                    {"tokens_per_second", rate}});
  }
  progress.finish();
  if (o.format == "json" || context.shared.json)
    context.print_json({{"cpu", describe(context.cpu)},
                        {"precision", name(engine.precision())},
                        {"threads", engine.pool().size()},
                        {"rows", rows}});
  else
    context.out << (o.format == "md" ? table.markdown() : o.format == "csv" ? table.csv() : table.terminal());
}

}  // namespace glint::cli

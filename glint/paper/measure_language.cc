// How readable language models are: what the eigenvectors of each layer explain of it along the directions of
// tokens, without any linear part.
#include <algorithm>
#include <set>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/read/read_forms.h"
#include "glint/paper/measure.h"

namespace glint {
namespace {

constexpr size_t kDirections = 100;
constexpr uint32_t kTokenStream = 0x746f6b00u, kBootStream = 0x626f6f00u;  // sub-streams of Stream::sample

// So many different tokens, each drawn as often as the training stories have it.
std::vector<TokenId> frequent_tokens(const Corpus& stories) {
  const Rng rng(0, Stream::sample, kTokenStream);
  std::set<TokenId> drawn;
  for (uint64_t i = 0; drawn.size() < kDirections && i < 100 * kDirections; i++) {
    const StoredStory story = stories.story(rng.below(stories.stories(), 2 * i));
    drawn.insert(story[rng.below(story.size(), 2 * i + 1)]);
  }
  return {drawn.begin(), drawn.end()};
}

// Of one form of one layer, [token][seed].
struct Values {
  std::vector<std::vector<double>> r2, correlation;
};

}  // namespace

void measure_language(Measuring& m) {
  if (!m.measured.language.empty()) return;
  const std::string key = stories_key(m.plan.setup), group = group_stories(m.plan.setup);
  for (const std::string_view gate : kPaperGates) {
    const std::vector<const PlannedRun*> runs = m.finished(group, gate);
    std::vector<std::string> forms;
    std::vector<std::vector<Values>> values;  // [form][layer]
    size_t tokens = 0, directions = 0;
    for (const PlannedRun* planned : runs) {
      m.check_stop("reading the language models");
      m.hooks.tell({.label = "read language models", .done = 0, .unit = "models", .detail = planned->path()});
      const auto opened = open_language_run(m.engine, {.run = m.directory(*planned), .data = planned->options.data});
      LanguageRun& run = *opened;
      const LanguageReading& reading = run.reading();
      const std::vector<TokenId> drawn = frequent_tokens(run.stories().train);
      directions = drawn.size();
      const Matrix<double> along = reading.token_directions(drawn);
      const std::vector<Form> read = distinct_forms(run);
      forms.clear();
      for (const Form form : read) forms.push_back(name(form));
      forms.push_back(kLinearMap);
      for (const Form form : read) forms.push_back(kUntrained + name(form));
      values.resize(forms.size());
      for (std::vector<Values>& layers : values) layers.resize(reading.layers());
      for (size_t layer = 0; layer < reading.layers(); layer++) {
        const Matrix<float> x = run.measured(layer).inputs;
        tokens = x.rows();
        const Matrix<double> weights = reading.hidden(layer, along);
        const LayerReader on = reading.reader(layer);
        const Matrix<double> own = layer_outputs(on, weights, x);
        size_t f = 0;
        const auto add = [&](const Fidelity& fit) {
          Values& v = values[f++][layer];
          v.r2.resize(drawn.size()), v.correlation.resize(drawn.size());
          for (size_t t = 0; t < drawn.size(); t++) {
            v.r2[t].push_back(fit.units[t].r2);
            v.correlation[t].push_back(fit.units[t].correlation);
          }
        };
        for (const Form form : read) {
          const GateTerms line = without_linear_part(run.line(form, layer));
          add(fidelity(own, form_outputs(on, line, weights, x)));
        }
        const auto tokens_of = [&](Run& of) {
          return of.reading().directions(layer, of.language().reading().token_directions(drawn),
                                         std::vector<std::string>(drawn.size()));
        };
        const Controls controls = controls_of(run, tokens_of, read, run.measured(layer));
        add(controls.linear);
        for (const Form form : read) add(controls.untrained.at(form));
      }
    }
    for (size_t f = 0; f < values.size(); f++)
      for (size_t layer = 0; layer < values[f].size(); layer++) {
        const Values& v = values[f][layer];
        const MedianInterval r2 = median_interval(v.r2, kBootStream), r = median_interval(v.correlation, kBootStream);
        m.measured.language.push_back({.data = key,
                                       .gate = std::string(gate),
                                       .form = forms[f],
                                       .layer = layer + 1,
                                       .seeds = runs.size(),
                                       .directions = directions,
                                       .tokens = tokens,
                                       .r2 = r2.median,
                                       .r2_low = r2.low,
                                       .r2_high = r2.high,
                                       .r2_worst = r2.least,
                                       .correlation = r.median,
                                       .correlation_low = r.low,
                                       .correlation_high = r.high});
      }
  }
}

MedianInterval median_interval(const std::vector<std::vector<double>>& groups, uint32_t stream) {
  constexpr size_t kDraws = 1000;
  std::vector<double> all;
  for (const std::vector<double>& g : groups) all.insert(all.end(), g.begin(), g.end());
  MedianInterval result{.median = quantile(all, 0.5), .least = *std::ranges::min_element(all)};
  const Rng rng(0, Stream::sample, stream);
  std::vector<double> medians, drawn;
  for (size_t d = 0; d < kDraws; d++) {
    drawn.clear();
    for (size_t i = 0; i < groups.size(); i++) {
      const std::vector<double>& g = groups[rng.below(groups.size(), d * groups.size() + i)];
      drawn.insert(drawn.end(), g.begin(), g.end());
    }
    medians.push_back(quantile(drawn, 0.5));
  }
  result.low = quantile(medians, 0.025);
  result.high = quantile(medians, 0.975);
  return result;
}

}  // namespace glint

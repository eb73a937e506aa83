#include "glint/cli/eval_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/load_run.h"
#include "glint/cli/machine.h"
#include "glint/data/story_reader.h"
#include "glint/report/table.h"
#include "glint/train/text_task.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kRows = 32;  // sequences in flight

// Sums of the losses at positions [first, last] of the stories.
struct Stretch {
  size_t first = 0, last = 0;
  double loss = 0;
  uint64_t tokens = 0;
  double mean() const { return loss / static_cast<double>(tokens); }
};

// Positions in stretches that double: the first token, the second, 3 and 4, 5 to 8, ...
class ByPosition {
 public:
  explicit ByPosition(size_t context) {
    for (size_t first = 0, last = 0; first < context;
         first = last + 1, last = std::min(2 * last + 1, context - 1))
      stretches_.push_back({first, last});
  }
  void add(std::span<const float> losses) {
    size_t s = 0;
    for (size_t i = 0; i < losses.size(); i++) {
      if (i > stretches_[s].last) s++;
      stretches_[s].loss += losses[i];
      stretches_[s].tokens++;
    }
  }
  std::vector<Stretch> used() const {
    std::vector<Stretch> out;
    for (const Stretch& s : stretches_)
      if (s.tokens) out.push_back(s);
    return out;
  }

 private:
  std::vector<Stretch> stretches_;
};

struct Measured {
  TextResult sum;
  uint64_t stories = 0, rows = 0, bytes = 0;
  std::vector<Stretch> positions;
  double loss() const { return sum.loss / static_cast<double>(sum.tokens); }
};

Measured of_corpus(TransformerEngine& engine, const Corpus& corpus, const LanguageRun& run) {
  ByPosition positions(run.model.config.context);
  Measured m;
  m.sum = evaluate_corpus(engine, corpus, run.tokenizer.end(), run.model.config.context,
                          [&](std::span<const float> losses) { positions.add(losses); });
  m.stories = m.rows = corpus.stories();
  m.positions = positions.used();
  return m;
}

// Any text: a story longer than the context goes through in pieces, each begun by the end mark.
Measured of_file(TransformerEngine& engine, const std::string& path, const LanguageRun& run) {
  const size_t context = run.model.config.context;
  const uint16_t end = run.tokenizer.end();
  ByPosition positions(context);
  Measured m;
  StoryReader reader(path);
  std::vector<uint16_t> input, target;
  for (std::string story; reader.next(story);) {
    std::vector<uint16_t> ids = run.tokenizer.encode(story);
    ids.push_back(end);
    for (size_t first = 0; first < ids.size(); first += context) {
      const size_t n = std::min(context, ids.size() - first);
      target.assign(ids.begin() + static_cast<std::ptrdiff_t>(first),
                    ids.begin() + static_cast<std::ptrdiff_t>(first + n));
      input.assign(1, end);
      input.insert(input.end(), target.begin(), target.end() - 1);
      const TokenRow row{input, target};
      const TextResult r =
          engine.evaluate({&row, 1}, [&](size_t, std::span<const float> l) { positions.add(l); });
      m.sum.loss += r.loss, m.sum.correct += r.correct, m.sum.tokens += r.tokens;
      m.rows++;
    }
  }
  m.stories = reader.counts().stories;
  m.bytes = reader.counts().bytes;
  m.positions = positions.used();
  if (m.stories == 0)
    throw Error(
        {.code = ErrorCode::bad_file, .what = "there is no text", .where = path, .expected = "a story"});
  return m;
}

std::string range_text(const Stretch& s) {
  const std::string first = std::to_string(s.first + 1);
  return s.first == s.last ? first : first + " - " + std::to_string(s.last + 1);
}

}  // namespace

void evaluate_text(Context& context, const EvalTextOptions& o) {
  const LanguageRun run = load_language_run(o.run);
  context.shared.precision = o.precision.empty() ? run.precision : o.precision;
  const Machine machine(context);
  TransformerEngine engine(run.model.config, machine.compute(), kRows, false);
  engine.set_weights(run.model.weights.span());
  Measured m;
  std::string what;
  if (o.text.empty()) {
    const TextData data = load_run_text(context, run, o.data);
    m = of_corpus(engine, o.split == "train" ? data.train : data.valid, run);
    what = printable(data.name) + ", " + std::to_string(m.stories) +
           (o.split == "train" ? " training stories" : " validation stories");
  } else {
    m = of_file(engine, o.text, run);
    what = o.text + ", " + std::to_string(m.stories) + (m.stories == 1 ? " story" : " stories") +
           (m.rows > m.stories ? " in " + std::to_string(m.rows) + " pieces" : "");
  }
  if (!std::isfinite(m.loss()))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on this text",
                 .where = run.directory,
                 .expected = "finite logits"});
  const double accuracy = static_cast<double>(m.sum.correct) / static_cast<double>(m.sum.tokens);
  if (context.shared.json) {
    ordered_json j = {{"run", run.directory},
                      {"model", ordered_json(config_to_json(run.model.config))},
                      {"text", what},
                      {"stories", m.stories},
                      {"tokens", m.sum.tokens},
                      {"loss", m.loss()},
                      {"perplexity", std::exp(m.loss())},
                      {"accuracy", accuracy}};
    if (m.bytes) j["bits_per_byte"] = m.sum.loss / std::log(2.0) / static_cast<double>(m.bytes);
    j["positions"] = ordered_json::array();
    for (const Stretch& s : m.positions)
      j["positions"].push_back(
          {{"first", s.first + 1}, {"last", s.last + 1}, {"tokens", s.tokens}, {"loss", s.mean()}});
    context.print_json(j);
    return;
  }
  context.out << "run:        " << run.directory << "\ntext:       " << what << ", " << m.sum.tokens
              << " tokens\nloss:       " << fixed_text(m.loss(), 4)
              << " per token\nperplexity: " << fixed_text(std::exp(m.loss()), 2)
              << "\naccuracy:   " << fixed_text(100 * accuracy, 2) << " % of the next tokens\n";
  if (m.bytes)
    context.out << "bits:       " << fixed_text(m.sum.loss / std::log(2.0) / static_cast<double>(m.bytes), 3)
                << " per byte of text\n";
  Table table({{.header = "token of the story", .align = Align::right},
               {.header = "tokens", .align = Align::right},
               {.header = "loss", .align = Align::right},
               {.header = "perplexity", .align = Align::right}});
  for (const Stretch& s : m.positions)
    table.add({range_text(s), std::to_string(s.tokens), fixed_text(s.mean(), 4),
               fixed_text(std::exp(s.mean()), 2)});
  context.out << "\n" << table.terminal();
}

}  // namespace glint::cli

#include "glint/cli/eval_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/json_number.h"
#include "glint/lab/run.h"
#include "glint/data/story_reader.h"
#include "glint/nn/softmax.h"
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
  // Losses of tokens that follow each other, the first of them at position `first` of its story.
  void add(std::span<const float> losses, size_t first = 0) {
    for (size_t i = 0; i < losses.size(); i++) add(losses[i], first + i);
  }
  void add(double loss, size_t position) {
    const size_t s = static_cast<size_t>(std::bit_width(position));
    while (stretches_.size() <= s) stretches_.push_back({stretches_.empty() ? 0 : longest_power(), 0});
    stretches_[s].last = std::max(stretches_[s].last, position);
    stretches_[s].loss += loss;
    stretches_[s].tokens++;
  }
  std::vector<Stretch> used() const {
    std::vector<Stretch> out;
    for (const Stretch& s : stretches_)
      if (s.tokens) out.push_back(s);
    return out;
  }

 private:
  size_t longest_power() const { return size_t{1} << (stretches_.size() - 1); }
  std::vector<Stretch> stretches_;
};

struct Measured {
  TextResult sum;
  uint64_t stories = 0, pieces = 0, bytes = 0;
  uint64_t cut = 0;                               // stories whose end is beyond the context and left out
  uint64_t replaced = 0, unknown = 0, empty = 0;  // of a text
  std::vector<Stretch> positions;
  double loss() const { return sum.loss / static_cast<double>(sum.tokens); }
};

Measured of_corpus(TransformerEngine& engine, const Corpus& corpus, const LanguageRun& run) {
  const size_t context = run.model.config.context;
  ByPosition positions;
  Measured m;
  m.sum = evaluate_corpus(engine, corpus, run.tokenizer.end(), context,
                          [&](std::span<const float> losses) { positions.add(losses); });
  m.stories = m.pieces = corpus.stories();
  for (size_t i = 0; i < corpus.stories(); i++) m.cut += corpus.story(i).size() + 1 > context;
  m.positions = positions.used();
  return m;
}

// Any text, story by story. One longer than the context goes through in pieces, each with half a context or
// more of what comes before it.
class TextMeasure {
 public:
  TextMeasure(TransformerEngine& engine, const LanguageRun& run)
      : engine_(engine),
        end_(run.tokenizer.end()),
        context_(run.model.config.context),
        logits_(context_, run.model.config.vocab) {}

  void add(std::vector<TokenId> story) {
    story.insert(story.begin(), end_);
    story.push_back(end_);
    waiting_.push_back(std::move(story));
    if (waiting_.size() == kRows) flush();
  }
  Measured result() {
    flush();
    m_.positions = positions_.used();
    return m_;
  }

 private:
  void flush() {
    std::vector<TokenRow> rows;
    for (const std::vector<TokenId>& s : waiting_) rows.push_back(piece(s, 0));
    const TextResult r = engine_.evaluate(rows, [&](size_t, std::span<const float> l) { positions_.add(l); });
    m_.sum.loss += r.loss, m_.sum.correct += r.correct, m_.sum.tokens += r.tokens;
    m_.pieces += rows.size();
    for (const std::vector<TokenId>& s : waiting_) {
      const size_t tokens = s.size() - 1;
      for (size_t scored = context_; scored < tokens;) {
        const size_t first = std::min(scored - context_ / 2, tokens - context_);
        score(piece(s, first), first, scored - first);
        scored = first + context_;
      }
    }
    waiting_.clear();
  }
  TokenRow piece(const std::vector<TokenId>& s, size_t first) const {
    const size_t n = std::min(context_, s.size() - 1 - first);
    return {std::span(s).subspan(first, n), std::span(s).subspan(first + 1, n)};
  }
  // Tokens from `from` on of a piece that begins at `first`.
  void score(const TokenRow& row, size_t first, size_t from) {
    engine_.logits(row, logits_);
    for (size_t i = from; i < row.input.size(); i++) {
      const std::span<const float> l = std::as_const(logits_).view().row(i);
      const auto top = std::max_element(l.begin(), l.end());
      const double loss = log_sum_exp(l) - static_cast<double>(l[row.target[i]]);
      positions_.add(loss, first + i);
      m_.sum.loss += loss;
      m_.sum.correct += top - l.begin() == row.target[i];
      m_.sum.tokens++;
    }
    m_.pieces++;
  }

  TransformerEngine& engine_;
  TokenId end_;
  size_t context_;
  Matrix<float> logits_;
  std::vector<std::vector<TokenId>> waiting_;  // a mark, the story, a mark
  ByPosition positions_;
  Measured m_;
};

Measured of_file(TransformerEngine& engine, const std::string& path, const LanguageRun& run) {
  TextMeasure measure(engine, run);
  StoryReader reader(path);
  TextEncoder encoder(run.tokenizer);
  std::vector<TokenId> ids;
  uint64_t stories = 0, bytes = 0, unknown = 0, empty = 0;
  for (std::string story; reader.next(story);) {
    ids.clear();
    encoder.encode(story, ids);
    if (ids.empty()) {
      empty++;
      continue;
    }
    stories++;
    bytes += story.size();
    unknown += static_cast<uint64_t>(std::count(ids.begin(), ids.end(), run.tokenizer.unknown()));
    measure.add(ids);
  }
  if (stories == 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = empty ? "no story of the text has a token" : "there is no text",
                 .where = path,
                 .expected = "a story"});
  Measured m = measure.result();
  m.stories = stories, m.bytes = bytes, m.unknown = unknown;
  m.replaced = reader.counts().replaced;
  m.empty = empty;
  return m;
}

// What is not as it should be in a text, a line each.
std::vector<std::string> notes_of(const Measured& m, size_t context) {
  const auto count = [](uint64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  std::vector<std::string> notes;
  if (m.cut)
    notes.push_back(count(m.cut, "story is", "stories are") + " longer than the context of " +
                    std::to_string(context) + " tokens and cut there");
  if (m.replaced)
    notes.push_back(count(m.replaced, "stretch", "stretches") +
                    " of bytes that are not UTF-8, read as spaces");
  if (m.unknown)
    notes.push_back(count(m.unknown, "unknown token", "unknown tokens") + " (characters without a piece)");
  if (m.empty) notes.push_back(count(m.empty, "story", "stories") + " without a token, left out");
  return notes;
}

std::string range_text(const Stretch& s) {
  const std::string first = std::to_string(s.first + 1);
  return s.first == s.last ? first : first + " - " + std::to_string(s.last + 1);
}

}  // namespace

void evaluate_text(Context& context, const EvalTextOptions& o) {
  context.shared.precision = o.precision.empty() ? open_run(o.run).precision : o.precision;
  const Engine engine = engine_of(context);
  const LanguageRun run = load_language_run(engine, o.run);
  TransformerEngine transformer(run.model.config, engine.compute(), kRows, false);
  transformer.set_weights(run.model.weights.span());
  Measured m;
  std::string what;
  if (o.text.empty()) {
    const TextData data = load_run_text(engine, run, o.data);
    m = of_corpus(transformer, o.split == "train" ? data.train : data.valid, run);
    what = printable(data.name) + ", " + std::to_string(m.stories) +
           (o.split == "train" ? " training stories" : " validation stories");
  } else {
    m = of_file(transformer, o.text, run);
    what =
        printable(o.text) + ", " + std::to_string(m.stories) + (m.stories == 1 ? " story" : " stories") +
        (m.pieces > m.stories ? " in " + std::to_string(m.pieces) + " pieces that overlap by half a context"
                              : "");
  }
  if (!std::isfinite(m.loss()))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on this text",
                 .where = run.directory,
                 .expected = "finite logits"});
  const double accuracy = static_cast<double>(m.sum.correct) / static_cast<double>(m.sum.tokens);
  const double perplexity = std::exp(m.loss());
  if (context.shared.json) {
    if (!std::isfinite(perplexity)) context.say("note: the perplexity is infinite, null in the JSON");
    ordered_json j = {{"run", run.directory},
                      {"model", ordered_json(config_to_json(run.model.config))},
                      {"text", what},
                      {"stories", m.stories},
                      {"pieces", m.pieces},
                      {"cut_stories", m.cut},
                      {"tokens", m.sum.tokens},
                      {"loss", m.loss()},
                      {"perplexity", number_or_null(perplexity)},
                      {"accuracy", accuracy}};
    if (m.bytes) {
      j["bits_per_byte"] = m.sum.loss / std::log(2.0) / static_cast<double>(m.bytes);
      j["invalid_utf8_replaced"] = m.replaced;
      j["unknown_tokens"] = m.unknown;
      j["stories_without_tokens"] = m.empty;
    }
    j["positions"] = ordered_json::array();
    for (const Stretch& s : m.positions)
      j["positions"].push_back(
          {{"first", s.first + 1}, {"last", s.last + 1}, {"tokens", s.tokens}, {"loss", s.mean()}});
    context.print_json(j);
    return;
  }
  context.out << "run:        " << run.directory << "\ntext:       " << what << ", " << m.sum.tokens
              << " tokens\nloss:       " << fixed_text(m.loss(), 4)
              << " per token\nperplexity: " << fixed_text(perplexity, 2)
              << "\naccuracy:   " << fixed_text(100 * accuracy, 2) << " % of the next tokens\n";
  if (m.bytes)
    context.out << "bits:       " << fixed_text(m.sum.loss / std::log(2.0) / static_cast<double>(m.bytes), 3)
                << " per byte of text\n";
  for (const std::string& note : notes_of(m, run.model.config.context))
    context.out << "note:       " << note << "\n";
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

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/data/story_reader.h"
#include "glint/io/json_number.h"
#include "glint/lab/evaluate.h"
#include "glint/lab/evaluate_parts.h"
#include "glint/lab/foreign.h"
#include "glint/lab/loss_positions.h"
#include "glint/lab/run.h"
#include "glint/lab/run_checks.h"
#include "glint/nn/softmax.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

constexpr size_t kRows = 32;  // sequences in flight

void measure_corpus(const Engine& engine, TransformerEngine& transformer, const Corpus& corpus,
                    const LanguageRun& run, TextEvaluation& r) {
  const size_t context = run.model.config.context;
  LossPositions positions;
  const TextResult sum =
      evaluate_corpus(transformer, corpus, run.tokenizer.end(), context, [&](std::span<const float> losses) {
        engine.check_stop();
        positions.add(losses);
      });
  r.total_loss = sum.loss, r.correct = sum.correct, r.tokens = sum.tokens;
  r.stories = r.pieces = corpus.stories();
  for (size_t i = 0; i < corpus.stories(); i++) r.cut += corpus.story(i).size() + 1 > context;
  r.positions = positions.used();
}

// Any text, story by story. One longer than the context goes through in pieces, each with half a context or
// more of what comes before it.
class TextMeasure {
 public:
  TextMeasure(TransformerEngine& engine, const LanguageRun& run, TextEvaluation& result)
      : engine_(engine),
        end_(run.tokenizer.end()),
        context_(run.model.config.context),
        logits_(context_, run.model.config.vocab),
        r_(result) {}

  void add(std::vector<TokenId> story) {
    story.insert(story.begin(), end_);
    story.push_back(end_);
    waiting_.push_back(std::move(story));
    if (waiting_.size() == kRows) flush();
  }
  void finish() {
    flush();
    r_.positions = positions_.used();
  }

 private:
  void flush() {
    std::vector<TokenRow> rows;
    for (const std::vector<TokenId>& s : waiting_) rows.push_back(piece(s, 0));
    const TextResult sum =
        engine_.evaluate(rows, [&](size_t, std::span<const float> l) { positions_.add(l); });
    r_.total_loss += sum.loss, r_.correct += sum.correct, r_.tokens += sum.tokens;
    r_.pieces += rows.size();
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
      r_.total_loss += loss;
      r_.correct += top - l.begin() == row.target[i];
      r_.tokens++;
    }
    r_.pieces++;
  }

  TransformerEngine& engine_;
  TokenId end_;
  size_t context_;
  Matrix<float> logits_;
  std::vector<std::vector<TokenId>> waiting_;  // a mark, the story, a mark
  LossPositions positions_;
  TextEvaluation& r_;
};

void measure_file(const Engine& engine, TransformerEngine& transformer, const std::string& path,
                  const LanguageRun& run, TextEvaluation& r) {
  TextMeasure measure(transformer, run, r);
  StoryReader reader(path);
  TextEncoder encoder(run.tokenizer);
  std::vector<TokenId> ids;
  for (std::string story; reader.next(story);) {
    engine.check_stop();
    ids.clear();
    encoder.encode(story, ids);
    if (ids.empty()) {
      r.empty++;
      continue;
    }
    r.stories++;
    r.bytes += story.size();
    r.unknown += static_cast<uint64_t>(std::count(ids.begin(), ids.end(), run.tokenizer.unknown()));
    measure.add(ids);
  }
  if (r.stories == 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = r.empty ? "no story of the text has a token" : "there is no text",
                 .where = path,
                 .expected = "a story"});
  measure.finish();
  r.replaced = reader.counts().replaced;
}

}  // namespace

double TextEvaluation::perplexity() const { return std::exp(loss()); }

double TextEvaluation::bits_per_byte() const {
  return total_loss / std::log(2.0) / static_cast<double>(bytes);
}

std::vector<std::string> TextEvaluation::notes() const {
  const auto count = [](uint64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  std::vector<std::string> out;
  if (cut)
    out.push_back(count(cut, "story is", "stories are") + " longer than the context of " +
                  std::to_string(context) + " tokens and cut there");
  if (replaced)
    out.push_back(count(replaced, "stretch", "stretches") + " of bytes that are not UTF-8, read as spaces");
  if (unknown)
    out.push_back(count(unknown, "unknown token", "unknown tokens") + " (characters without a piece)");
  if (empty) out.push_back(count(empty, "story", "stories") + " without a token, left out");
  return out;
}

TextEvaluation evaluate_text(const Engine& engine, const TextEvaluationRequest& q) {
  check_split(q.split);
  if (is_foreign(q.run)) return evaluate_foreign_text(engine, q);
  const LanguageRun run = load_language_run(engine, q.run);
  TransformerEngine transformer(run.model.config, engine.compute(), kRows, false);
  transformer.set_weights(run.model.weights.span());
  TextEvaluation r;
  r.run = run.directory;
  r.model = config_to_json(run.model.config), r.context = run.model.config.context;
  if (q.text.empty()) {
    const TextData data = load_run_text(engine, run, q.data);
    const bool train = q.split == "train";
    measure_corpus(engine, transformer, train ? data.train : data.valid, run, r);
    r.text = printable(data.name) + ", " + std::to_string(r.stories) +
             (train ? " training stories" : " validation stories");
  } else {
    measure_file(engine, transformer, q.text, run, r);
    r.text = printable(q.text) + ", " + std::to_string(r.stories) + (r.stories == 1 ? " story" : " stories");
    if (r.pieces > r.stories)
      r.text += " in " + std::to_string(r.pieces) + " pieces that overlap by half a context";
  }
  check_loss(engine, r);
  return r;
}

void check_loss(const Engine& engine, const TextEvaluation& r) {
  if (!std::isfinite(r.loss()))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on this text",
                 .where = r.run,
                 .expected = "finite logits"});
  if (!std::isfinite(r.perplexity())) engine.note("the perplexity is infinite: null in JSON");
}

OrderedJson to_json(const TextEvaluation& r) {
  OrderedJson j = {{"schema", "glint-evaluate-text/1"},
                   {"run", r.run},
                   {"model", OrderedJson(r.model)},
                   {"text", r.text},
                   {"stories", r.stories},
                   {"pieces", r.pieces},
                   {"cut_stories", r.cut},
                   {"tokens", r.tokens},
                   {"loss", r.loss()},
                   {"perplexity", number_or_null(r.perplexity())},
                   {"accuracy", r.accuracy()}};
  if (r.bytes) {
    j["bits_per_byte"] = r.bits_per_byte();
    j["invalid_utf8_replaced"] = r.replaced;
    j["unknown_tokens"] = r.unknown;
    j["stories_without_tokens"] = r.empty;
  }
  j["positions"] = OrderedJson::array();
  for (const LossStretch& s : r.positions)
    j["positions"].push_back(
        {{"first", s.first + 1}, {"last", s.last + 1}, {"tokens", s.tokens}, {"loss", s.mean()}});
  return j;
}

}  // namespace glint

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/utf8.h"
#include "glint/data/story_file.h"
#include "glint/data/text_data.h"
#include "glint/io/json.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/text_losses.h"
#include "glint/train/text_task.h"

namespace glint {
namespace {

constexpr size_t kRows = 32;  // sequences in flight

// The stories of a corpus of the run, as training evaluates them, in the precision of the engine.
void measure_corpus(const Engine& engine, const LanguageRun& run, const std::string& split, TextEvaluation& r) {
  const TextData data = run.corpus();
  const Corpus& corpus = split == "train" ? data.train : data.valid;
  const LanguageModel& model = run.own();
  TransformerEngine transformer(model.config, engine.compute(), kRows, false);
  transformer.set_weights(model.weights.span());
  LossPositions positions;
  const TextResult sum =
      evaluate_corpus(transformer, corpus, run.rows(r.context), [&](std::span<const float> losses) {
        engine.check_stop();
        positions.add(losses);
      });
  r.total_loss = sum.loss, r.correct = sum.correct, r.tokens = sum.tokens;
  r.stories = r.pieces = corpus.stories();
  for (size_t i = 0; i < corpus.stories(); i++) r.cut += corpus.story(i).size() + 1 > r.context;
  r.positions = positions.used();
  r.text = printable(data.name) + ", " + std::to_string(r.stories) +
           (split == "train" ? " training stories" : " validation stories");
}

// Any text, story by story. One longer than the context goes through in pieces, each with half a context or
// more of what comes before it.
void measure_text(const Engine& engine, const LanguageRun& run, const EvaluationRequest& q, TextEvaluation& r) {
  const bool in_memory = !q.words.empty();
  TextLosses losses(engine, run.model(), r.context + 1);
  LossPositions positions;
  StoryReader reader = in_memory ? StoryReader(StoryReader::InMemory{q.words}) : StoryReader(q.source.text);
  const Tokenizer& tokenizer = run.tokenizer();
  const auto unknown = tokenizer.unknown();
  for (std::string story; reader.next(story);) {
    engine.check_stop();
    std::vector<TokenId> ids = run.tokens_of(story);
    const bool none = run.foreign() ? ids.size() < 2 : ids.size() == 1;
    if (none) {
      r.empty++;
      continue;
    }
    r.stories++;
    r.bytes += story.size();
    r.unknown += static_cast<uint64_t>(std::count(ids.begin(), ids.end(), unknown));
    if (!run.foreign()) ids.push_back(tokenizer.end());
    for (const TextWindow& w : text_windows(ids.size() - 1, r.context)) {
      const std::span<const TokenId> piece = std::span(ids).subspan(w.first, w.count + 1);
      losses.run(piece.first(w.count), piece.subspan(1), w.from);
      for (size_t i = w.from; i < w.count; i++) {
        positions.add(losses.losses()[i], w.first + i);
        r.total_loss += losses.losses()[i], r.correct += losses.hits()[i], r.tokens++;
      }
      r.pieces++;
    }
  }
  if (r.stories == 0)
    throw Error({.code = in_memory ? ErrorCode::usage : ErrorCode::bad_file,
                 .what = r.empty ? "no story of the text has a token to predict" : "there is no text",
                 .where = in_memory ? "text" : q.source.text,
                 .expected = "a story"});
  r.positions = positions.used();
  r.replaced = reader.counts().replaced;
  r.text = (in_memory ? "a text" : printable(q.source.text)) + ", " + std::to_string(r.stories) +
           (r.stories == 1 ? " story" : " stories");
  if (r.pieces > r.stories)
    r.text += " in " + std::to_string(r.pieces) + " pieces of at most " + std::to_string(r.context) +
              " tokens, which overlap by half";
  if (const auto tokens = static_cast<double>(run.model().vocab()); r.loss() > std::log(tokens) && run.foreign())
    engine.note("the model does worse than a guess among its " + std::to_string(run.model().vocab()) +
                " tokens: its tokenizer may be that of another model");
}

}  // namespace

double TextEvaluation::perplexity() const { return std::exp(loss()); }

double TextEvaluation::bits_per_byte() const { return total_loss / std::log(2.0) / static_cast<double>(bytes); }

std::vector<std::string> TextEvaluation::notes() const {
  const auto count = [](uint64_t n, const char* one, const char* many) {
    return std::to_string(n) + " " + (n == 1 ? one : many);
  };
  std::vector<std::string> out;
  if (cut)
    out.push_back(count(cut, "story is", "stories are") + " longer than the context of " + std::to_string(context) +
                  " tokens and cut there");
  if (replaced) out.push_back(count(replaced, "stretch", "stretches") + " of bytes that are not UTF-8, read as spaces");
  if (unknown) out.push_back(count(unknown, "unknown token", "unknown tokens") + " (characters without a piece)");
  if (empty) out.push_back(count(empty, "story", "stories") + " without a token, left out");
  return out;
}

TextEvaluation evaluate_text(const Engine& engine, const EvaluationRequest& q) {
  return evaluate_text(engine, *open_language_run(engine, q.source), q);
}

TextEvaluation evaluate_text(const Engine& engine, const LanguageRun& run, const EvaluationRequest& q) {
  check_request(q, run);
  const bool text = !q.words.empty() || !q.source.text.empty();
  if (text && q.split != EvaluationRequest().split)
    bad_argument(q.source.text, "`split` has no effect beside `text`", "a text, or the stories of a corpus");
  TextEvaluation r;
  r.run = run.directory();
  r.model = run.config(), r.context = run.reading().context();
  if (!text && run.foreign())
    bad_argument("text", "a model of another program has no stories of its own",
                 "`text=FILE`, a text to measure it on");
  if (text)
    measure_text(engine, run, q, r);
  else
    measure_corpus(engine, run, q.split, r);
  if (!std::isfinite(r.loss()))
    throw Error({.code = ErrorCode::numeric,
                 .what = "the loss is not a number: the weights overflow on this text",
                 .where = r.run,
                 .expected = "finite logits"});
  if (!std::isfinite(r.perplexity())) engine.note("the perplexity is infinite: null in JSON");
  return r;
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
    j["positions"].push_back({{"first", s.first + 1}, {"last", s.last + 1}, {"tokens", s.tokens}, {"loss", s.mean()}});
  return j;
}

}  // namespace glint

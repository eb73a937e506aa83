// The loss of a model of another program on a text.
#include <algorithm>
#include <cmath>

#include "glint/base/error.h"
#include "glint/data/story_reader.h"
#include "glint/data/text_windows.h"
#include "glint/lab/evaluate_parts.h"
#include "glint/lab/foreign.h"
#include "glint/lab/loss_positions.h"
#include "glint/lab/model_info.h"
#include "glint/lab/run.h"
#include "glint/nn/softmax.h"

namespace glint {
namespace {

// Story by story. One longer than the window goes through in pieces, each with half a window or more of what
// comes before it.
class ForeignMeasure {
 public:
  ForeignMeasure(const Engine& engine, const ForeignModel& model, TextEvaluation& result)
      : engine_(engine),
        window_(model.window()),
        pass_(model.model, engine.compute(), window_),
        losses_(window_),
        hits_(window_),
        r_(result) {}

  // Tokens [0, n): those from 1 on are predicted.
  void add(const std::vector<TokenId>& story) {
    for (const TextWindow& w : text_windows(story.size() - 1, window_))
      piece(std::span(story).subspan(w.first, w.count + 1), w.first, w.from);
  }
  void finish() { r_.positions = positions_.used(); }

 private:
  // The last of the tokens is only predicted. Those from `from` on count.
  void piece(std::span<const TokenId> tokens, size_t first, size_t from) {
    pass_.clear();
    const std::span<const TokenId> fed = tokens.first(tokens.size() - 1);
    pass_.feed_all(fed, [&](size_t at, MatrixView<float> logits) {
      engine_.check_stop();
      engine_.pool().for_tiles(logits.rows(), [&](size_t i, size_t) {
        if (at + i < from) return;
        const std::span<const float> l = logits.row(i);
        const TokenId target = tokens[at + i + 1];
        losses_[at + i] = log_sum_exp(l) - static_cast<double>(l[target]);
        hits_[at + i] = std::ranges::max_element(l) - l.begin() == target;
      });
    });
    for (size_t i = from; i < fed.size(); i++) {
      positions_.add(losses_[i], first + i);
      r_.total_loss += losses_[i], r_.correct += hits_[i], r_.tokens++;
    }
    r_.pieces++;
  }

  const Engine& engine_;
  size_t window_;
  FamilyPass pass_;
  std::vector<double> losses_;
  std::vector<uint8_t> hits_;
  LossPositions positions_;
  TextEvaluation& r_;
};

}  // namespace

TextEvaluation evaluate_foreign_text(const Engine& engine, const TextEvaluationRequest& q) {
  if (q.text.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "a model of another program has no stories of its own",
                 .where = "text",
                 .expected = "`text=FILE`, a text to measure it on"});
  const ForeignModel model = open_foreign(q.run, q.tokenizer);
  TextEvaluation r;
  r.run = model.path;
  r.model = family_json(model.model);
  r.context = model.window();
  ForeignMeasure measure(engine, model, r);
  StoryReader reader(q.text);
  for (std::string story; reader.next(story);) {
    engine.check_stop();
    const std::vector<TokenId> ids = model.tokens(story);
    if (ids.size() < 2) {
      r.empty++;
      continue;
    }
    r.stories++;
    r.bytes += story.size();
    if (const auto unknown = model.tokenizer.unknown())
      r.unknown += static_cast<uint64_t>(std::ranges::count(ids, *unknown));
    measure.add(ids);
  }
  if (r.stories == 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = r.empty ? "no story of the text has two tokens" : "there is no text",
                 .where = q.text,
                 .expected = "a story"});
  measure.finish();
  r.replaced = reader.counts().replaced;
  r.text = printable(q.text) + ", " + std::to_string(r.stories) + (r.stories == 1 ? " story" : " stories");
  if (r.pieces > r.stories)
    r.text += " in " + std::to_string(r.pieces) + " pieces of at most " + std::to_string(r.context) +
              " tokens, which overlap by half";
  check_loss(engine, r);
  if (const auto tokens = static_cast<double>(model.model.vocab()); r.loss() > std::log(tokens))
    engine.note("the model does worse than a guess among its " + std::to_string(model.model.vocab()) +
                " tokens: its tokenizer may be that of another model");
  return r;
}

}  // namespace glint

#include "glint/train/text_task.h"

#include <numeric>

#include "glint/base/error.h"
#include "glint/data/batches.h"
#include "glint/train/task.h"

namespace glint {
namespace {

constexpr size_t kEvalStories = 64;

}  // namespace

namespace {

// Stories [first, first + kEvalStories) or those that are left.
std::span<const uint32_t> eval_stories(size_t first, size_t count, std::vector<uint32_t>& stories) {
  stories.resize(std::min(kEvalStories, count - first));
  std::iota(stories.begin(), stories.end(), static_cast<uint32_t>(first));
  return stories;
}

}  // namespace

TextResult evaluate_corpus(TransformerEngine& engine, const Corpus& corpus, TokenId end, size_t context,
                           const std::function<void(std::span<const float>)>& each) {
  TextRows text(end, context);
  std::vector<uint32_t> stories;
  TextResult total;
  for (size_t first = 0; first < corpus.stories(); first += kEvalStories) {
    TransformerEngine::RowLosses tell;
    if (each) tell = [&](size_t, std::span<const float> losses) { each(losses); };
    const TextResult r = engine.evaluate(text.fill(corpus, eval_stories(first, corpus.stories(), stories)), tell);
    total.loss += r.loss;
    total.correct += r.correct;
    total.tokens += r.tokens;
  }
  return total;
}

TextTask::TextTask(const TrainOptions& options, const TextData& data, const Compute& compute, Group* group)
    : options_(options),
      data_(data),
      group_(group && !group->alone() ? group : nullptr),
      config_(transformer_config(options, data.vocab())),
      steps_(batch_count(data.train.stories(), options.batch, options.drop_last ? LastBatch::drop : LastBatch::keep)),
      rows_(data.end, options.context) {
  if (data.valid.stories() == 0)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "the corpus has no validation stories",
                 .where = data.origin,
                 .expected = "at least one",
                 .hint = "`tokenize(TEXT, valid=FILE)` or `tokenize(TEXT, valid_share=0.02)`"});
  if (data.end >= data.vocab() || data.valid.vocab() != data.vocab())
    throw Error({.code = ErrorCode::usage,
                 .what = "training and validation stories do not have one vocabulary with an end token",
                 .where = data.origin,
                 .expected = "vocabularies of one size, and the end token below it"});
  size_t own = options.micro_batch;
  if (group_) {
    const size_t lanes = std::min(options.micro_batch, options.batch);
    if (group_->size() > lanes)
      throw Error({.code = ErrorCode::usage,
                   .what = std::to_string(group_->size()) + " ranks for " + std::to_string(lanes) +
                           " lanes: some would have nothing to do",
                   .where = "micro_batch",
                   .expected = "at most as many ranks as lanes",
                   .hint = "fewer ranks with more threads each; or a larger `micro_batch` (at most `batch`), "
                           "which changes the bytes of the result"});
    own = part_of(lanes, 0, group_->size()).count;  // no rank has more
    sum_ = [this](std::span<const Range> pieces, size_t at_once, std::span<float> values, const FoldPieces& fold) {
      group_->ordered_sum(pieces, at_once, values, fold);
    };
    results_.resize(lanes);
    parts_.resize(group_->size());
  }
  engine_ = std::make_unique<TransformerEngine>(config_, compute, options.micro_batch, true, own);
  rows_.reserve(group_ ? options.batch / group_->size() + 1 : options.batch);
}

StepResult TextTask::step(uint64_t epoch, uint64_t index, std::span<float> gradients) {
  if (epoch != epoch_) {
    order_ = epoch_order(options_.seed, static_cast<uint32_t>(epoch), data_.train.stories());
    epoch_ = epoch;
  }
  const std::span<const uint32_t> batch = batch_of(order_, options_.batch, index);
  if (group_) return step_together(batch, gradients);
  const TextResult r = engine_->forward_backward(rows_.fill(data_.train, batch), gradients);
  return {r.loss, r.correct, r.tokens};
}

// The lanes follow from the lengths of all stories; of the stories only those of the own lanes are read. The
// losses of the lanes are added in their order, as they are without other ranks.
StepResult TextTask::step_together(std::span<const uint32_t> batch, std::span<float> gradients) {
  const auto length = [&](size_t i) { return text_row_tokens(data_.train.story(batch[i]).size(), options_.context); };
  uint64_t tokens = 0;
  for (size_t i = 0; i < batch.size(); i++) tokens += length(i);
  cut_into_lanes(batch.size(), length, options_.micro_batch, lanes_);
  const Range own = part_of(lanes_.size(), group_->rank(), group_->size());
  own_lanes_.assign(lanes_.begin() + static_cast<ptrdiff_t>(own.first),
                    lanes_.begin() + static_cast<ptrdiff_t>(own.first + own.count));
  const size_t first = own.count ? own_lanes_.front().first : 0;
  const size_t last = own.count ? own_lanes_.back().first + own_lanes_.back().count : 0;
  for (Range& lane : own_lanes_) lane.first -= first;
  engine_->forward_backward(rows_.fill(data_.train, batch.subspan(first, last - first)), gradients,
                            LaneShare{own_lanes_, own.first, tokens, sum_});
  for (size_t i = 0; i < own.count; i++) results_[own.first + i] = engine_->lane_result(i);
  for (size_t r = 0; r < parts_.size(); r++) {
    const Range part = part_of(lanes_.size(), r, group_->size());
    parts_[r] = {part.first * sizeof(TextResult), part.count * sizeof(TextResult)};
  }
  group_->gather(std::as_writable_bytes(std::span(results_)), parts_);
  StepResult total;
  for (size_t i = 0; i < lanes_.size(); i++) {
    total.loss += results_[i].loss;
    total.correct += results_[i].correct;
    total.samples += results_[i].tokens;
  }
  return total;
}

StepResult TextTask::evaluate() {
  if (group_) {
    std::vector<uint32_t> stories;
    TextRows text(data_.end, options_.context);
    const Corpus& valid = data_.valid;
    uint64_t tokens = 0;
    for (size_t i = 0; i < valid.stories(); i++) tokens += text_row_tokens(valid.story(i).size(), options_.context);
    return evaluate_in_parts<TextResult>(
        group_, (valid.stories() + kEvalStories - 1) / kEvalStories, tokens, [&](size_t batch) {
          return engine_->evaluate(text.fill(valid, eval_stories(batch * kEvalStories, valid.stories(), stories)));
        });
  }
  const TextResult r = evaluate_corpus(*engine_, data_.valid, data_.end, options_.context);
  return {r.loss, r.correct, r.tokens};
}

LanguageModel TextTask::model(Matrix<float> weights) const {
  return {.config = config_,
          .data = data_.name,
          .tokenizer_hash = data_.tokenizer.empty() ? "" : data_.tokenizer.sha256(),
          .weights = std::move(weights)};
}

std::map<std::string, std::string> TextTask::description() const {
  std::map<std::string, std::string> files = {{"config.json", config_text(model({}))}};
  if (!data_.tokenizer.empty()) files[kTokenizerFile] = data_.tokenizer.model();
  return files;
}

Json TextTask::data_description() const {
  return {{"name", data_.name},
          {"checksum", data_.checksum},
          {"origin", data_.origin},
          {"train", data_.train.stories()},
          {"train_tokens", data_.train.tokens()},
          {"test", data_.valid.stories()},
          {"test_tokens", data_.valid.tokens()}};
}

}  // namespace glint

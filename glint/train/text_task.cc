#include "glint/train/text_task.h"

#include <numeric>

#include "glint/base/error.h"
#include "glint/data/batches.h"
#include "glint/model/config_file.h"
#include "glint/nn/glu.h"
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

TextResult evaluate_corpus(TransformerEngine& engine, const Corpus& corpus, TextRows text,
                           const std::function<void(std::span<const float>)>& each) {
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

TextTask::TextTask(const TrainOptions& options, const TextData& data, const Compute& compute, Group* group,
                   std::shared_ptr<const TrainingStart> start)
    : options_(options),
      data_(data),
      compute_(compute),
      group_(group && !group->alone() ? group : nullptr),
      start_(std::move(start)),
      config_(transformer_config(options, start_ ? start_->config.vocab : data.vocab())),
      steps_(batch_count(
          options.epoch_stories ? std::min<size_t>(options.epoch_stories, data.train.stories()) : data.train.stories(),
          options.batch, options.drop_last ? LastBatch::drop : LastBatch::keep)),
      rows_(story_rows(data, options.context)) {
  if (start_) check_start(*start_, data);
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
  if (start_ && options.distil > 0) {
    TransformerConfig config = config_;
    config.gate = start_->config.gate;
    teacher_ = std::make_unique<TransformerEngine>(config, compute, 1, false);
    teacher_->set_weights(start_->weights.span());
    engine_->learn_from(*teacher_, options.distil);
  }
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
    TextRows text = story_rows(data_, options_.context);
    const Corpus& valid = data_.valid;
    uint64_t tokens = 0;
    for (size_t i = 0; i < valid.stories(); i++) tokens += text_row_tokens(valid.story(i).size(), options_.context);
    return evaluate_in_parts<TextResult>(
        group_, (valid.stories() + kEvalStories - 1) / kEvalStories, tokens, [&](size_t batch) {
          return engine_->evaluate(text.fill(valid, eval_stories(batch * kEvalStories, valid.stories(), stories)));
        });
  }
  const TextResult r = evaluate_corpus(*engine_, data_.valid, story_rows(data_, options_.context));
  return {r.loss, r.correct, r.tokens};
}

void TextTask::initialise(std::span<float> weights, uint64_t seed) const {
  if (!start_) return Task::initialise(weights, seed);
  params().check_buffer(weights, "initialise");
  std::ranges::copy(start_->weights.span(), weights.begin());
  if (gate_to_json(start_->config.gate) != gate_to_json(config_.gate)) fit_gains(weights);
}

// Least squares over some tokens of the training stories: old gate(l) r by gain times new gate(l) r. The gain goes into
// the column of the output weights.
void TextTask::fit_gains(std::span<float> weights) const {
  constexpr size_t kTokens = 8192;
  TransformerConfig old = config_;
  old.gate = start_->config.gate;
  TransformerEngine engine(old, compute_, kEvalStories, false);
  engine.set_weights(start_->weights.span());
  TextRows text = story_rows(data_, options_.context);
  const std::span<const TokenRow> rows = text.fill_first(data_.train, kTokens);
  const size_t tokens = text.tokens(), h = config_.hidden();
  Matrix<float> input(tokens, config_.d_model), z(tokens, 2 * h), before(tokens, h), after(tokens, h);
  const TransformerParams& p = engine_->params();
  for (size_t layer = 0; layer < config_.layers; layer++) {
    engine.trace(rows, layer, input, z);
    gate_forward(compute_.kernels(), old.gate, z, before);
    gate_forward(compute_.kernels(), config_.gate, z, after);
    const MatrixView<float> out = p.table.view(weights, p.blocks[layer].mlp_p);
    for (size_t j = 0; j < h; j++) {
      double both = 0, squares = 0;
      for (size_t i = 0; i < tokens; i++) {
        both += static_cast<double>(before(i, j)) * after(i, j);
        squares += static_cast<double>(after(i, j)) * after(i, j);
      }
      const auto gain = static_cast<float>(squares > 0 ? both / squares : 1);
      for (size_t i = 0; i < out.rows(); i++) out(i, j) *= gain;
    }
  }
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
  Json json = {{"name", data_.name},
               {"checksum", data_.checksum},
               {"origin", data_.origin},
               {"train", data_.train.stories()},
               {"train_tokens", data_.train.tokens()},
               {"test", data_.valid.stories()},
               {"test_tokens", data_.valid.tokens()}};
  if (start_) json["start"] = start_->hash;
  return json;
}

}  // namespace glint

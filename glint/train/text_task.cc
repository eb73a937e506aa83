#include "glint/train/text_task.h"

#include <numeric>

#include "glint/base/error.h"
#include "glint/data/batches.h"

namespace glint {
namespace {

constexpr size_t kEvalStories = 64;

}  // namespace

TextResult evaluate_corpus(TransformerEngine& engine, const Corpus& corpus, TokenId end, size_t context,
                           const std::function<void(std::span<const float>)>& each) {
  TextRows text(end, context);
  std::vector<uint32_t> stories;
  TextResult total;
  for (size_t first = 0; first < corpus.stories(); first += kEvalStories) {
    stories.resize(std::min(kEvalStories, corpus.stories() - first));
    std::iota(stories.begin(), stories.end(), static_cast<uint32_t>(first));
    TransformerEngine::RowLosses tell;
    if (each) tell = [&](size_t, std::span<const float> losses) { each(losses); };
    const TextResult r = engine.evaluate(text.fill(corpus, stories), tell);
    total.loss += r.loss;
    total.correct += r.correct;
    total.tokens += r.tokens;
  }
  return total;
}

TextTask::TextTask(const TrainOptions& options, const TextData& data, const Compute& compute)
    : options_(options),
      data_(data),
      config_(transformer_config(options, data.vocab())),
      steps_(batch_count(data.train.stories(), options.batch,
                         options.drop_last ? LastBatch::drop : LastBatch::keep)),
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
  engine_ = std::make_unique<TransformerEngine>(config_, compute, options.micro_batch, true);
  rows_.reserve(options.batch);
}

StepResult TextTask::step(uint64_t epoch, uint64_t index, std::span<float> gradients) {
  if (epoch != epoch_) {
    order_ = epoch_order(options_.seed, static_cast<uint32_t>(epoch), data_.train.stories());
    epoch_ = epoch;
  }
  const TextResult r =
      engine_->forward_backward(rows_.fill(data_.train, batch_of(order_, options_.batch, index)), gradients);
  return {r.loss, r.correct, r.tokens};
}

StepResult TextTask::evaluate() {
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

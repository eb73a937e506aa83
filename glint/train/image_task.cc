#include "glint/train/image_task.h"

#include "glint/base/error.h"
#include "glint/base/rng.h"
#include "glint/data/arrays.h"
#include "glint/data/batches.h"
#include "glint/train/task.h"

namespace glint {
namespace {

constexpr size_t kEvalBatch = 1024;

LastBatch last_batch(const TrainOptions& o) { return o.drop_last ? LastBatch::drop : LastBatch::keep; }

}  // namespace

ClassifierConfig ImageTask::config_of(const TrainOptions& options, const Dataset& data) {
  check(data);
  return classifier_config(options, data.train.inputs(), data.train.classes);
}

ImageTask::ImageTask(const TrainOptions& options, const Dataset& data, const Compute& compute, Group* group)
    : options_(options),
      data_(data),
      compute_(compute),
      group_(group && !group->alone() ? group : nullptr),
      config_(config_of(options, data)),
      checksum_(data.checksum.empty() ? content_checksum(data) : data.checksum),
      steps_(batch_count(data.train.count(), options.batch, last_batch(options))) {
  const size_t rows = group_ ? own_rows(options.batch, 0).count : options.batch;  // no rank has more
  engine_ = std::make_unique<ClassifierEngine>(config_, compute, std::max(rows, kEvalBatch), true);
  labels_.resize(options.batch);
  if (group_) {
    sum_ = [this](std::span<const Range> pieces, size_t at_once, std::span<float> values, const FoldPieces& fold) {
      group_->ordered_sum(pieces, at_once, values, fold);
    };
    losses_.resize(options.batch);
    hits_.resize(options.batch);
    parts_.resize(group_->size());
  }
  if (data.train.floats()) black_.resize(config_.inputs);
  train_row_ = [this](size_t row, float* out) {
    const uint32_t sample = batch_[first_row_ + row];
    const uint32_t epoch = static_cast<uint32_t>(epoch_);
    const bool noisy =
        options_.noise_std > 0 && Rng(options_.seed, Stream::noise_choice, epoch).uniform(sample) < options_.noise_prob;
    if (!noisy) return write_sample(compute_.kernels(), data_.train, sample, out);
    const bool floats = data_.train.floats();
    compute_.kernels().noisy_pixels({options_.seed, epoch, sample}, static_cast<float>(options_.noise_std),
                                    config_.inputs, floats ? black_.data() : data_.train.pixels.view().row_ptr(sample),
                                    out);
    if (!floats) return;
    const float* values = data_.train.values.view().row_ptr(sample);
    for (size_t i = 0; i < config_.inputs; i++) out[i] += values[i];
  };
  test_row_ = [this](size_t row, float* out) { write_sample(compute_.kernels(), data_.test, test_first_ + row, out); };
}

StepResult ImageTask::step(uint64_t epoch, uint64_t index, std::span<float> gradients) {
  if (epoch != epoch_) {
    order_ = epoch_order(options_.seed, static_cast<uint32_t>(epoch), data_.train.count());
    epoch_ = epoch;
  }
  batch_ = batch_of(order_, options_.batch, index);
  for (size_t i = 0; i < batch_.size(); i++) labels_[i] = data_.train.labels[batch_[i]];
  if (group_) return step_together(gradients);
  const BatchResult r = engine_->forward_backward(batch_.size(), train_row_, labels_, gradients);
  return {r.loss, r.correct, batch_.size()};
}

Range ImageTask::own_rows(size_t batch, size_t rank) const {
  return part_of(batch, rank, group_->size(), gradient_cut(compute_.products));
}

// The losses of all rows are added in one go, as they are without other ranks.
StepResult ImageTask::step_together(std::span<float> gradients) {
  const size_t batch = batch_.size();
  const Range own = own_rows(batch, group_->rank());
  first_row_ = own.first;
  engine_->forward_backward(own.count, train_row_, std::span(labels_).subspan(own.first), gradients,
                            BatchShare{own.first, batch, sum_});
  std::copy_n(engine_->losses().begin(), own.count, losses_.begin() + static_cast<ptrdiff_t>(own.first));
  std::copy_n(engine_->hits().begin(), own.count, hits_.begin() + static_cast<ptrdiff_t>(own.first));
  for (size_t r = 0; r < parts_.size(); r++) parts_[r] = own_rows(batch, r);
  group_->gather(std::as_writable_bytes(std::span(hits_)), parts_);
  for (Range& part : parts_) part = {part.first * sizeof(float), part.count * sizeof(float)};
  group_->gather(std::as_writable_bytes(std::span(losses_)), parts_);
  StepResult result{compute_.kernels().sum(batch, losses_.data()), 0, batch};
  for (size_t i = 0; i < batch; i++) result.correct += hits_[i];
  return result;
}

BatchResult ImageTask::evaluate_batch(size_t batch) {
  test_first_ = batch * kEvalBatch;
  const size_t rows = std::min(kEvalBatch, data_.test.count() - test_first_);
  return engine_->evaluate(rows, test_row_, std::span(data_.test.labels).subspan(test_first_, rows));
}

StepResult ImageTask::evaluate() {
  return evaluate_in_parts<BatchResult>(group_, (data_.test.count() + kEvalBatch - 1) / kEvalBatch, data_.test.count(),
                                        [this](size_t batch) { return evaluate_batch(batch); });
}

ImageModel ImageTask::model(Matrix<float> weights) const {
  return {.config = config_,
          .data = data_.name,
          .height = data_.train.height,
          .width = data_.train.width,
          .class_names = data_.class_names,
          .weights = std::move(weights)};
}

std::map<std::string, std::string> ImageTask::description() const { return {{"config.json", config_text(model({}))}}; }

Json ImageTask::data_description() const {
  return {{"name", data_.name},
          {"checksum", checksum_},
          {"origin", data_.origin},
          {"train", data_.train.count()},
          {"test", data_.test.count()}};
}

SetResult evaluate_set(ClassifierEngine& engine, const Kernels& kernels, const ImageSet& set) {
  check(set, "images");
  if (set.count() > 0 && set.inputs() != engine.config().inputs)
    bad_argument("images", "samples of " + std::to_string(set.inputs()) + " numbers",
                 std::to_string(engine.config().inputs) + ", the inputs of the model");
  SetResult result;
  result.logits = Matrix<float>(set.count(), engine.logits().cols());
  for (size_t first = 0; first < set.count(); first += engine.max_batch()) {
    const size_t rows = std::min(engine.max_batch(), set.count() - first);
    const BatchResult r = engine.evaluate(
        rows, [&](size_t row, float* out) { write_sample(kernels, set, first + row, out); },
        std::span(set.labels).subspan(first, rows));
    result.loss += r.loss;
    result.correct += r.correct;
    for (size_t i = 0; i < rows; i++) {
      std::copy_n(engine.logits().row_ptr(i), result.logits.cols(), result.logits.view().row_ptr(first + i));
      result.losses.push_back(engine.losses()[i]);
    }
  }
  result.loss /= static_cast<double>(std::max<size_t>(1, set.count()));
  return result;
}

}  // namespace glint

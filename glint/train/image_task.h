// Training of an image classifier: shuffled batches, noise on some samples, evaluation on the clean test
// images.
#pragma once

#include <memory>
#include <vector>

#include "glint/base/file.h"
#include "glint/data/dataset.h"
#include "glint/model/classifier.h"
#include "glint/train/options.h"
#include "glint/train/task.h"

namespace glint {

class ImageTask : public Task {
 public:
  // Keeps references to data and compute.
  ImageTask(const TrainOptions& options, const Dataset& data, const Compute& compute);

  const ParamTable& params() const override { return engine_->params().table; }
  uint64_t steps_per_epoch() const override { return steps_; }
  void set_weights(std::span<const float> weights) override { engine_->set_weights(weights); }
  StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override;
  StepResult evaluate() override;
  std::map<std::string, std::string> description() const override;
  Json data_description() const override;

 private:
  const TrainOptions options_;
  const Dataset& data_;
  const Compute& compute_;
  ClassifierConfig config_;
  std::unique_ptr<ClassifierEngine> engine_;
  uint64_t steps_ = 0;

  uint64_t epoch_ = ~uint64_t{0};
  std::vector<uint32_t> order_;  // of the epoch
  std::span<const uint32_t> batch_;
  std::vector<uint32_t> labels_;  // of the batch
  ClassifierEngine::RowSource train_row_, test_row_;
  size_t test_first_ = 0;
};

// Loss, hits and logits of a whole set of images, in batches.
struct SetResult {
  double loss = 0;  // mean
  uint64_t correct = 0;
  Matrix<float> logits;       // [count, classes]
  std::vector<float> losses;  // per image
};
SetResult evaluate_set(ClassifierEngine& engine, const Kernels& kernels, const ImageSet& set);

}  // namespace glint

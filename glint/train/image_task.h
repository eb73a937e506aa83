// Training of a classifier of images or vectors: shuffled batches, noise on some samples, evaluation on the
// clean test samples.
#pragma once

#include <memory>
#include <vector>

#include "glint/base/file.h"
#include "glint/data/dataset.h"
#include "glint/model/model_file.h"
#include "glint/train/group.h"
#include "glint/train/options.h"
#include "glint/train/task.h"

namespace glint {

class ImageTask : public Task {
 public:
  // Keeps references to data, compute and group (null: alone). Each rank computes its rows of a batch, and
  // some batches of the test set. Error (usage) for data that no model can be trained on: check() of
  // data/arrays.h.
  ImageTask(const TrainOptions& options, const Dataset& data, const Compute& compute, Group* group = nullptr);

  const ParamTable& params() const override { return engine_->params().table; }
  uint64_t steps_per_epoch() const override { return steps_; }
  void set_weights(std::span<const float> weights) override { engine_->set_weights(weights); }
  StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override;
  StepResult evaluate() override;
  std::map<std::string, std::string> description() const override;
  Json data_description() const override;
  // The model that these weights of params() make: to be read or saved without a run directory.
  ImageModel model(Matrix<float> weights) const;

 private:
  // Checks the data before anything is made for them.
  static ClassifierConfig config_of(const TrainOptions& options, const Dataset& data);
  Range own_rows(size_t batch, size_t rank) const;
  StepResult step_together(std::span<float> gradients);
  BatchResult evaluate_batch(size_t batch);

  const TrainOptions options_;
  const Dataset& data_;
  const Compute& compute_;
  Group* const group_;
  ClassifierConfig config_;
  std::string checksum_;  // of the data
  std::unique_ptr<ClassifierEngine> engine_;
  uint64_t steps_ = 0;

  uint64_t epoch_ = ~uint64_t{0};
  std::vector<uint32_t> order_;  // of the epoch
  std::span<const uint32_t> batch_;
  std::vector<uint32_t> labels_;  // of the batch
  size_t first_row_ = 0;          // of the batch, that is computed here
  OrderedSum sum_;                // over the ranks
  std::vector<float> losses_;     // of all ranks
  std::vector<uint8_t> hits_;
  std::vector<Range> parts_;
  std::vector<uint8_t> black_;  // a picture without light: what noise for floats is drawn on
  ClassifierEngine::RowSource train_row_, test_row_;
  size_t test_first_ = 0;
};

// Loss, hits and logits of a whole set of samples, in batches.
struct SetResult {
  double loss = 0;  // mean
  uint64_t correct = 0;
  Matrix<float> logits;       // [count, classes]
  std::vector<float> losses;  // per sample
};
SetResult evaluate_set(ClassifierEngine& engine, const Kernels& kernels, const ImageSet& set);

}  // namespace glint

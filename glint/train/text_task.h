// Training of a language model: shuffled batches of stories, evaluation on the validation stories. Losses are
// per token.
#pragma once

#include <memory>
#include <vector>

#include "glint/base/file.h"
#include "glint/data/batches.h"
#include "glint/data/text_data.h"
#include "glint/model/language_file.h"
#include "glint/model/transformer.h"
#include "glint/train/group.h"
#include "glint/train/options.h"
#include "glint/train/start.h"
#include "glint/train/task.h"

namespace glint {

class TextTask : public Task {
 public:
  // Keeps references to data, compute and group (null: alone). Each rank computes some lanes of a step and
  // reads no other stories, and some batches of the validation stories. Error (usage) for more ranks than
  // lanes.
  TextTask(const TrainOptions& options, const TextData& data, const Compute& compute, Group* group = nullptr,
           std::shared_ptr<const TrainingStart> start = nullptr);

  const ParamTable& params() const override { return engine_->params().table; }
  uint64_t steps_per_epoch() const override { return steps_; }
  void set_weights(std::span<const float> weights) override { engine_->set_weights(weights); }
  void initialise(std::span<float> weights, uint64_t seed) const override;
  StepResult step(uint64_t epoch, uint64_t index, std::span<float> gradients) override;
  StepResult evaluate() override;
  std::map<std::string, std::string> description() const override;
  Json data_description() const override;
  // The model that these weights of params() make: to be read or saved without a run directory.
  LanguageModel model(Matrix<float> weights) const;
  bool text() const override { return true; }

 private:
  // What training goes on from; where its gate changes, each hidden unit with the gain that comes closest.
  void fit_gains(std::span<float> weights) const;
  StepResult step_together(std::span<const uint32_t> batch, std::span<float> gradients);

  const TrainOptions options_;
  const TextData& data_;
  const Compute& compute_;
  Group* const group_;
  std::shared_ptr<const TrainingStart> start_;  // null: from nothing
  TransformerConfig config_;
  std::unique_ptr<TransformerEngine> engine_, teacher_;  // teacher: the model of `start`, where one is learned from
  uint64_t steps_ = 0;

  uint64_t epoch_ = ~uint64_t{0};
  std::vector<uint32_t> order_;  // of the epoch
  TextRows rows_;
  OrderedSum sum_;  // over the ranks
  std::vector<Range> lanes_, own_lanes_, parts_;
  std::vector<TextResult> results_;  // of the lanes of all ranks
};

// Loss and hits over a whole corpus, story by story in batches; `each` is told the losses of every story's
// tokens, in order.
TextResult evaluate_corpus(TransformerEngine& engine, const Corpus& corpus, TextRows text,
                           const std::function<void(std::span<const float>)>& each = {});

}  // namespace glint

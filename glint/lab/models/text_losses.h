// The loss of every token of a text, and whether the model expected it most.
#pragma once

#include <span>
#include <vector>

#include "glint/lab/work/engine.h"
#include "glint/model/family_pass.h"
#include "glint/nn/softmax.h"

namespace glint {

class TextLosses {
 public:
  // For texts of at most `room` tokens. Keeps references.
  TextLosses(const Engine& engine, const FamilyModel& model, size_t room)
      : engine_(engine), pass_(model, engine.compute(), room), losses_(room), hits_(room) {}

  FamilyPass& pass() { return pass_; }
  // Of targets[from] and those behind it; targets[i] follows input[i].
  void run(std::span<const TokenId> input, std::span<const TokenId> targets, size_t from = 0) {
    pass_.clear();
    pass_.feed_all(input, [&](size_t first, MatrixView<float> logits) {
      engine_.check_stop();
      engine_.pool().for_tiles(logits.rows(), [&](size_t i, size_t) {
        if (first + i < from) return;
        const std::span<const float> l = logits.row(i);
        const TokenId target = targets[first + i];
        losses_[first + i] = log_sum_exp(l) - static_cast<double>(l[target]);
        hits_[first + i] = std::ranges::max_element(l) - l.begin() == target;
      });
    });
  }
  std::span<const double> losses() const { return losses_; }
  std::span<const uint8_t> hits() const { return hits_; }

 private:
  const Engine& engine_;
  FamilyPass pass_;
  std::vector<double> losses_;
  std::vector<uint8_t> hits_;
};

}  // namespace glint

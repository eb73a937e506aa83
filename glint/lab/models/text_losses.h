// The loss of every token of a text, and whether the model expected it most.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "glint/lab/models/evaluate.h"
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

// Losses by their place in a story, in stretches that double: the first token, the second, 3 and 4, 5 to 8
// ...
class LossPositions {
 public:
  // Losses of tokens that follow each other, the first of them at position `first` of its story.
  void add(std::span<const float> losses, size_t first = 0) {
    for (size_t i = 0; i < losses.size(); i++) add(losses[i], first + i);
  }
  void add(double loss, size_t position) {
    const size_t s = static_cast<size_t>(std::bit_width(position));
    while (stretches_.size() <= s) stretches_.push_back({stretches_.empty() ? 0 : longest_power(), 0});
    stretches_[s].last = std::max(stretches_[s].last, position);
    stretches_[s].loss += loss;
    stretches_[s].tokens++;
  }
  std::vector<LossStretch> used() const {
    std::vector<LossStretch> out;
    for (const LossStretch& s : stretches_)
      if (s.tokens) out.push_back(s);
    return out;
  }

 private:
  size_t longest_power() const { return size_t{1} << (stretches_.size() - 1); }
  std::vector<LossStretch> stretches_;
};

}  // namespace glint

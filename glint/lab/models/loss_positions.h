// Losses by their place in a story, in stretches that double: the first token, the second, 3 and 4, 5 to 8
// ...
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "glint/lab/models/evaluate.h"

namespace glint {

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

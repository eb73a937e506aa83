// The median of numbers that come in groups, with a bootstrap interval that keeps the groups together.
#pragma once

#include <cstdint>
#include <vector>

namespace glint {

struct MedianInterval {
  double median = 0, low = 0, high = 0;  // 95 %
  double least = 0;                      // the lowest of all numbers
};
// groups[i]: the numbers of one direction, one per seed; there must be some. 1000 draws of as many groups as
// there are, always the same ones.
MedianInterval median_interval(const std::vector<std::vector<double>>& groups, uint32_t stream);

}  // namespace glint

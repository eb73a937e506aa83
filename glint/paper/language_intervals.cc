#include "glint/paper/language_intervals.h"

#include <algorithm>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"

namespace glint {

MedianInterval median_interval(const std::vector<std::vector<double>>& groups, uint32_t stream) {
  constexpr size_t kDraws = 1000;
  std::vector<double> all;
  for (const std::vector<double>& g : groups) all.insert(all.end(), g.begin(), g.end());
  MedianInterval result{.median = quantile(all, 0.5), .least = *std::ranges::min_element(all)};
  const Rng rng(0, Stream::sample, stream);
  std::vector<double> medians, drawn;
  for (size_t d = 0; d < kDraws; d++) {
    drawn.clear();
    for (size_t i = 0; i < groups.size(); i++) {
      const std::vector<double>& g = groups[rng.below(groups.size(), d * groups.size() + i)];
      drawn.insert(drawn.end(), g.begin(), g.end());
    }
    medians.push_back(quantile(drawn, 0.5));
  }
  result.low = quantile(medians, 0.025);
  result.high = quantile(medians, 0.975);
  return result;
}

}  // namespace glint

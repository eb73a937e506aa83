// Mean, standard deviation and quantiles of a few numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace glint {

struct MeanAndSd {
  double mean = 0, sd = 0;  // of a sample: n - 1; 0 for a single number
};

inline MeanAndSd mean_and_sd(std::span<const double> values) {
  MeanAndSd r;
  const double n = static_cast<double>(values.size());
  for (const double v : values) r.mean += v / n;
  for (const double v : values) r.sd += (v - r.mean) * (v - r.mean);
  r.sd = values.size() > 1 ? std::sqrt(r.sd / (n - 1)) : 0;
  return r;
}

// Interpolated between neighbours; the values must not be empty.
inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const size_t low = static_cast<size_t>(at);
  const double rest = at - static_cast<double>(low);
  return low + 1 < values.size() ? values[low] * (1 - rest) + values[low + 1] * rest : values[low];
}

}  // namespace glint

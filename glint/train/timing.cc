#include "glint/train/timing.h"

#include <chrono>

#include "glint/base/statistics.h"

namespace glint {

TimeSpread time_spread(const std::vector<double>& milliseconds) {
  return {.repeats = milliseconds.size(),
          .median_ms = quantile(milliseconds, 0.5),
          .low_ms = quantile(milliseconds, 0.25),
          .high_ms = quantile(milliseconds, 0.75),
          .best_ms = quantile(milliseconds, 0)};
}

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace glint

// Is one gate better than another once the spread over seeds is taken into account? Paired differences with
// confidence intervals from Student's t distribution.
#pragma once

#include <cstddef>
#include <span>

namespace glint {

// P(T <= t) for Student's t with `dof` > 0 degrees of freedom, and its inverse for 0 < p < 1. Relative error
// below 1e-9.
double student_t_cdf(double t, double dof);
double student_t_quantile(double p, double dof);

inline constexpr double kConfidence = 0.95;

// Mean and interval of a[i] - b[i]. The interval is infinite for n < 2.
struct PairedDifference {
  double mean = 0, sd = 0, low = 0, high = 0;
  size_t n = 0;
  bool below() const { return high < 0; }  // a is lower than b, clearly
  bool above() const { return low > 0; }
};
// The spans have one length; empty ones give n = 0 and an infinite interval.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b,
                                   double confidence = kConfidence);

}  // namespace glint

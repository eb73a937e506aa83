#include "glint/paper/paired.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "glint/base/statistics.h"

namespace glint {
namespace {

// The continued fraction of the incomplete beta function, by the modified method of Lentz. Converges quickly
// for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  const auto guard = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / guard(1 - (a + b) * x / (a + 1)), f = d;
  for (int m = 1; m <= 1000; m++) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    f *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    f *= d * c;
    if (std::fabs(d * c - 1) < kEnough) break;
  }
  return f;
}

// Regularised: I_x(a, b). `rest` is 1 - x, given apart because it may be tiny.
double incomplete_beta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(rest, b, a) / b;
}

// P(T > t) for t >= 0.
double upper_tail(double t, double dof) {
  const double whole = dof + t * t;
  return 0.5 * incomplete_beta(dof / whole, t * t / whole, dof / 2, 0.5);
}

}  // namespace

double student_t_cdf(double t, double dof) {
  assert(dof > 0);
  return t < 0 ? upper_tail(-t, dof) : 1 - upper_tail(t, dof);
}

double student_t_quantile(double p, double dof) {
  assert(p > 0 && p < 1 && dof > 0);
  if (p == 0.5) return 0;
  const double tail = p < 0.5 ? p : 1 - p;  // a small p itself: 1 - p would lose its digits
  double low = 0, high = 1;
  while (upper_tail(high, dof) > tail && high < 1e300) low = high, high *= 2;
  while (high - low > 1e-13 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (upper_tail(middle, dof) > tail ? low : high) = middle;
  }
  const double t = (low + high) / 2;
  return p < 0.5 ? -t : t;
}

PairedDifference paired_difference(std::span<const double> a, std::span<const double> b, double confidence) {
  assert(a.size() == b.size());
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); i++) differences[i] = a[i] - b[i];
  const MeanAndSd m = mean_and_sd(differences);
  PairedDifference r{.mean = m.mean, .sd = m.sd, .n = a.size()};
  double half = std::numeric_limits<double>::infinity();
  if (r.n >= 2) {
    const double n = static_cast<double>(r.n);
    half = student_t_quantile(0.5 + confidence / 2, n - 1) * m.sd / std::sqrt(n);
  }
  r.low = r.mean - half;
  r.high = r.mean + half;
  return r;
}

}  // namespace glint

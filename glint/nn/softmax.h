// The softmax of one row of logits, in double: for what people look at. Training has kernels of its own.
//   log_sum_exp = log sum_j exp(x_j)      p_i = exp(x_i - log_sum_exp)
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <span>
#include <vector>

namespace glint {

// At least one logit.
template <class T>
double log_sum_exp(std::span<const T> logits) {
  assert(!logits.empty());
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double total = 0;
  for (const T x : logits) total += std::exp(static_cast<double>(x) - top);
  return top + std::log(total);
}

template <class T>
std::vector<double> softmax(std::span<const T> logits) {
  std::vector<double> p;
  p.reserve(logits.size());
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double total = 0;
  for (const T x : logits) p.push_back(std::exp(static_cast<double>(x) - top)), total += p.back();
  for (double& v : p) v /= total;
  return p;
}

}  // namespace glint

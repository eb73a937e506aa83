// Reductions along a row. They keep kParts partial sums, so that they vectorise without reordering permission
// from the compiler and give the same bits on every run.
#pragma once

#include "glint/kernels/isa/vec.h"

namespace glint::GLINT_ISA {
namespace {

constexpr size_t kParts = 16;

// Adds the partial sums in a fixed tree.
template <class T>
GLINT_INLINE T fold(T (&part)[kParts]) {
  for (size_t width = kParts / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; i++) part[i] += part[i + width];
  return part[0];
}

// sum over i < n of term(i), in T.
template <class T, class Term>
GLINT_INLINE T reduce(size_t n, const Term& term) {
  T part[kParts] = {};
  size_t i = 0;
  for (; i + kParts <= n; i += kParts)
    for (size_t j = 0; j < kParts; j++) part[j] += term(i + j);
  for (size_t j = 0; i < n; i++, j++) part[j] += term(i);
  return fold(part);
}

// The largest of a row; NaN where the first is, otherwise NaN is passed over. Compilers leave this one
// scalar.
GLINT_INLINE float row_max(size_t n, const float* x) {
  const Vec first = x[0] - Vec{};  // broadcast
  Vec even = first, odd = first;
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Vec a = load(x + i), b = load(x + i + kLanes);
    even = a > even ? a : even;
    odd = b > odd ? b : odd;
  }
  even = odd > even ? odd : even;
  float part[kLanes];
  store(part, even);
  for (size_t j = 0; i < n; i++, j = (j + 1) % kLanes) part[j] = x[i] > part[j] ? x[i] : part[j];
  for (size_t width = kLanes / 2; width > 0; width /= 2)
    for (size_t j = 0; j < width; j++) part[j] = part[j + width] > part[j] ? part[j + width] : part[j];
  return part[0];
}

GLINT_INLINE float exp_below_zero(float x) { return vmath::exp(x < -87.0f ? -87.0f : x); }

}  // namespace
}  // namespace glint::GLINT_ISA

// What the tests of kernels and layers share: random matrices, guarded outputs, distances in ulps.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "glint/base/cpu.h"
#include "glint/base/matrix.h"
#include "glint/base/rng.h"
#include "glint/kernels/gates.h"

namespace glint::model_testing {

inline constexpr double kU = 0x1p-24;      // half an ulp of a float, relative
inline constexpr double kTiny = 0x1p-149;  // the smallest denormal float
inline constexpr size_t kThreadCounts[] = {1, 2, 3, 7};

// The distance between floats at x: what "1 ulp of x" means.
inline double ulp(double x) {
  const double a = std::fabs(x);
  if (!(a > 0x1p-126)) return kTiny;
  return std::ldexp(1.0, std::min(std::ilogb(a), 127) - 23);
}

// |got - want| in ulps of want. Beyond the largest float, infinity is the right rounding.
inline double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(want)) return got == want ? 0 : HUGE_VAL;
  const double g = std::isinf(got) ? std::copysign(0x1p128, got) : static_cast<double>(got);
  return std::fabs(g - want) / ulp(want);
}

// What a float slope is measured against. A slope f + h f' (GELU, SiLU: value = h f) may cross zero, where
// only an error relative to the two terms can be bounded: f = value / h and the rest. Gates with options have
// no such cancellation in float.
inline double slope_scale(const GateInfo& gate, double h, const GateParams& params) {
  const double slope = gate.slope(h, params);
  if (gate.text.has_params || h == 0 || std::isinf(h)) return std::fabs(slope);
  const double f = gate.value(h, params) / h;
  return std::max(std::fabs(slope), std::fabs(f) + std::fabs(slope - f));
}
// Slopes: relative error of at most 11 half ulps. SQS, p = 1, s0 d d with d = 1 / (1 + lambda a): d has the
// roundings of lambda, the product, the sum and the quotient (4), twice that (8), s0 (1) and two products
// (2). The others have fewer.
inline constexpr double kSlopeError = 11 * kU;
inline double slope_bound(const GateInfo& gate, double h, const GateParams& params) {
  // What rounding the double formula itself leaves when c < 0 cancels the 1 of SQS: relative to its terms.
  const double terms = gate.slope(h, {std::fabs(params.c), params.lambda, params.p});
  // Denormals are rounded to kTiny. SiLU multiplies one by |h| (up to 104, beyond which it is zero).
  const double denormal = (2 + std::min(std::fabs(h), 104.0)) * kTiny;
  return kSlopeError * slope_scale(gate, h, params) + 0x1p-50 * std::fabs(terms) + denormal;
}
// Values: 4 ulp.
inline constexpr double kValueError = 8 * kU;

// Rounded to float and back. Volatile, because g++ 12 drops the pair of conversions where it vectorises them.
inline double float_value(double x) {
  const volatile float f = static_cast<float>(x);
  return f;
}
// Options as a float kernel holds them.
inline GateParams as_floats(const GateParams& g) { return {float_value(g.c), float_value(g.lambda), g.p}; }

// Normal numbers that depend only on (what, element).
inline Matrix<float> random_matrix(uint32_t what, size_t rows, size_t cols, double scale = 1) {
  Matrix<float> m(rows, cols);
  const Rng rng(20, Stream::test, what);
  for (size_t i = 0; i < m.size(); i++) m.span()[i] = static_cast<float>(scale * rng.normal(i));
  return m;
}

inline Matrix<double> to_double(ConstMatrixView<float> m) {
  Matrix<double> d(m.rows(), m.cols());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) d.data()[i * m.cols() + j] = m.row_ptr(i)[j];
  return d;
}
inline Matrix<float> to_float(ConstMatrixView<double> m) {
  Matrix<float> f(m.rows(), m.cols());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) f(i, j) = static_cast<float>(m(i, j));
  return f;
}
template <class F>
Matrix<double> map(Matrix<double> m, const F& f) {
  for (double& v : m.span()) v = f(v);
  return m;
}
inline Matrix<double> absolute(Matrix<double> m) {
  return map(std::move(m), [](double v) { return std::fabs(v); });
}

// A matrix with rows `pad` elements further apart than needed and a margin before and after; all that lies
// outside of the matrix holds a pattern that must survive.
template <class T>
class Guarded {
 public:
  Guarded(size_t rows, size_t cols, size_t pad)
      : rows_(rows), cols_(cols), stride_(cols + pad), all_(kMargin + rows * (cols + pad) + kMargin) {
    std::memset(all_.data(), kPattern, all_.size() * sizeof(T));
  }
  Guarded(ConstMatrixView<T> content, size_t pad) : Guarded(content.rows(), content.cols(), pad) {
    for (size_t i = 0; i < rows_; i++)
      for (size_t j = 0; j < cols_; j++) view().row_ptr(i)[j] = content.row_ptr(i)[j];
  }

  MatrixView<T> view() { return {all_.data() + kMargin, rows_, cols_, stride_}; }
  ConstMatrixView<T> view() const { return {all_.data() + kMargin, rows_, cols_, stride_}; }
  const std::vector<T>& all() const { return all_; }
  bool intact() const {
    T pattern;
    std::memset(&pattern, kPattern, sizeof pattern);
    for (size_t i = 0; i < all_.size(); i++) {
      const size_t at = i - kMargin;  // wraps before the matrix, and is then too large
      if (i >= kMargin && at < rows_ * stride_ && at % stride_ < cols_) continue;
      if (std::memcmp(&all_[i], &pattern, sizeof pattern) != 0) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kMargin = 67;
  static constexpr int kPattern = 0xa5;
  size_t rows_, cols_, stride_;
  std::vector<T> all_;
};

inline const CpuInfo& cpu() {
  static const CpuInfo info = detect_cpu();
  return info;
}

}  // namespace glint::model_testing

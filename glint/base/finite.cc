#include "glint/base/finite.h"

namespace glint {
namespace {

template <class T>
bool finite_row(const T* x, size_t n) {
  constexpr size_t kLanes = 16;  // sums side by side, which compilers keep in vector registers
  T sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t j = 0; j < kLanes; j++) sums[j] += 0 * x[i + j];  // NaN unless it is finite
  for (size_t j = 0; i < n; i++, j++) sums[j] += 0 * x[i];
  T all = 0;
  for (const T sum : sums) all += sum;
  return all == 0;
}

template <class T>
bool finite_rows(ConstMatrixView<T> m) {
  bool good = true;
  for (size_t r = 0; r < m.rows(); r++) good &= finite_row(m.row_ptr(r), m.cols());
  return good;
}

}  // namespace

bool all_finite(std::span<const float> x) { return finite_row(x.data(), x.size()); }
bool all_finite(std::span<const double> x) { return finite_row(x.data(), x.size()); }
bool all_finite(ConstMatrixView<float> m) { return finite_rows(m); }
bool all_finite(ConstMatrixView<double> m) { return finite_rows(m); }

void throw_overflow(const std::string& where) {
  throw Error({.code = ErrorCode::numeric,
               .what = "numbers overflow: a result is not finite",
               .where = where,
               .expected = "weights and inputs whose products a number can hold",
               .hint = "the training diverged, or the file with the weights was changed"});
}

}  // namespace glint

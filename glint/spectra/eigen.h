// The spectrum of a symmetric matrix, Q = sum_k values[k] v_k v_k', in one canonical form whatever library
// computed it, so that runs and models can be compared.
//
//   order  by eigenvalue, descending: top positive first, top negative last;
//   sign   the entry of the largest magnitude is positive, the first of those that are equal to 1e-9;
//   groups neighbours closer than gap * max|value| have one group id: their vectors are one basis of many of
//          the same subspace, and only the subspace means something.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/base/threads.h"
#include "glint/spectra/linalg.h"

namespace glint {

// Weights are floats: their rounding, 6e-8, turns the vectors of a gap of 1e-6 by up to a tenth of a radian.
inline constexpr double kDefaultGap = 1e-6;

struct Spectrum {
  std::vector<double> values;    // [k], descending
  Matrix<double> vectors;        // [k, d], row k belongs to values[k]; rows are orthonormal
  std::vector<uint32_t> groups;  // [k], 0, 0, 1, 2, 2, ...
  size_t count() const { return values.size(); }
  size_t width() const { return vectors.cols(); }
};

// All eigenpairs of a symmetric matrix. Error (numeric) when an entry is not finite.
Spectrum eigh(const LinearAlgebra& linalg, ConstMatrixView<double> matrix, double gap = kDefaultGap);

// The same for `count` matrices of one width, one matrix per tile. fill(i, worker, out) writes every entry of
// matrix i; it runs on the pool's threads, many at once. Bits do not depend on the number of threads.
using FillMatrix = std::function<void(size_t index, size_t worker, MatrixView<double> out)>;
std::vector<Spectrum> eigh_many(const LinearAlgebra& linalg, ThreadPool& pool, size_t count, size_t width,
                                const FillMatrix& fill, double gap = kDefaultGap);

// Sorts pairs (values[k], row k of vectors), fixes signs and marks groups: what every solver ends with.
// max_abs: the largest |eigenvalue| of the whole matrix, the scale of the gap.
Spectrum canonical(std::span<const double> values, ConstMatrixView<double> vectors, double max_abs, double gap);

// Indices of the values by magnitude, largest first; equal ones in their order.
std::vector<uint32_t> order_by_magnitude(std::span<const double> values);

// What is shown of many values: indices of the `most` largest above 0 and of the `most` smallest below 0, the
// strongest first.
struct BothEnds {
  std::vector<uint32_t> positive, negative;
};
BothEnds both_ends(std::span<const double> values, size_t most);

}  // namespace glint

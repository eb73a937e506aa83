// Overflow: sums and products that leave what a float or a double holds become infinite or NaN, and a later
// step can hide that again (a norm divides by infinity, a gate saturates). The places where it cannot be
// hidden ask here.
#pragma once

#include <span>
#include <string>

#include "glint/base/matrix.h"

namespace glint {

// Neither NaN nor infinite. A few vector operations: cheap beside the product that made the numbers.
bool all_finite(std::span<const float> x);
bool all_finite(std::span<const double> x);
bool all_finite(ConstMatrixView<float> m);
bool all_finite(ConstMatrixView<double> m);

// The Error (numeric) of numbers that are not finite; `where` says which: "the norm of layer 2".
[[noreturn]] void throw_overflow(const std::string& where);

}  // namespace glint

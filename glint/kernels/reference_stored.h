// Weights as other programs store them once more in double, as in reference.h: a value from the bits of its
// number or block, and the dot products.
#pragma once

#include "glint/kernels/reference.h"

namespace glint::reference {

// The bytes of a row of k values.
size_t stored_row_bytes(WeightLayout layout, size_t k);
// Value j of a row: a number times its scale, and what its block adds to that.
struct StoredParts {
  double product, offset;
};
StoredParts stored_parts(WeightLayout layout, const std::byte* row, size_t j);
double stored_value(WeightLayout layout, const std::byte* row, size_t j);
// y_r = start_r + sum_j w_rj x_j
std::vector<double> stored_dots(WeightLayout layout, std::span<const std::byte> w, size_t row_bytes,
                                std::span<const double> x, std::span<const double> start);

}  // namespace glint::reference

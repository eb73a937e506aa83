// How alike two sets of eigenvectors are, in the layer's input space or seen in pixels. The sign of an
// eigenvector means nothing, so a similarity is |cos|. Vectors of nearly equal eigenvalues mix freely: for
// them only the angles between subspaces compare.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/spectra/eigen.h"

namespace glint {

// How many values are above 0 (sign 1) or below (sign -1).
size_t count_sign(std::span<const double> values, int sign);

// |cos| between the rows of a [n, d] and of b [m, d]: [n, m]. A zero row has similarity 0 to everything.
Matrix<double> similarity(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b);
// The same with its sign.
Matrix<double> cosines(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b);

// Orthonormal rows that span the rows of m; those that depend on others add nothing.
Matrix<double> row_basis(ConstMatrixView<double> m);

// For every row of weight [n, m] a column of its own (n <= m) such that the sum of the weights is the
// largest. The Hungarian method, O(n^2 m). Error (numeric) where a weight is no number.
std::vector<uint32_t> best_matching(ConstMatrixView<double> weight);

// Principal angles between the spans of the rows of a and of b, in radians, ascending: as many as the smaller
// span has dimensions. Small angles from sines, large ones from cosines: accurate to 1e-14 everywhere.
std::vector<double> principal_angles(ConstMatrixView<double> a, ConstMatrixView<double> b);

// One side of one unit: the top k eigenvectors of one sign.
struct SideComparison {
  std::vector<double> rank_matched;  // [k]: first with first, second with second, ...
  std::vector<double> best_matched;  // [k]: the best one-to-one pairing
  std::vector<uint32_t> partner;     // [k]: of row i of the first set, in the second
  std::vector<double> subspace;      // [k]: mean cosine of the principal angles of the top 1 ... k
};

struct UnitComparison {
  SideComparison positive, negative;
};

// Rows of `vectors` (or of their features) in the order of `values`, descending. Positive side: the first k
// with values above 0; negative: the last k with values below 0, strongest first. k is cut to what both have.
struct VectorSet {
  std::span<const double> values;
  ConstMatrixView<double> vectors;
};
UnitComparison compare_units(const LinearAlgebra& linalg, const VectorSet& a, const VectorSet& b, size_t k);

SideComparison compare_sides(const LinearAlgebra& linalg, ConstMatrixView<double> a, ConstMatrixView<double> b);

}  // namespace glint

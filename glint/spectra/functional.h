// How alike two readings are as functions, without matching eigenvectors: in closed form for inputs x ~ N(0,
// I) of the space that both share. For f = x'Ax + b.x + c with symmetric A
//
//   E[f_A f_B] = (tr A + c_A)(tr B + c_B) + 2 <A, B> + b_A . b_B,   cov(f_A, f_B) = 2 <A, B> + b_A . b_B.
//
// The covariance is what is compared: the traces, which say nothing about x, would dominate otherwise.
#pragma once

#include <span>
#include <vector>

#include "glint/spectra/forms.h"

namespace glint {

struct QuadraticForm {
  Matrix<double> a;       // [n, n], symmetric
  std::vector<double> b;  // [n], or empty: all 0
  double c = 0;
};

// E[f_A f_B] and the covariance, over x ~ N(0, I).
struct GaussianProduct {
  double product = 0, covariance = 0;
};
GaussianProduct gaussian_product(const QuadraticForm& a, const QuadraticForm& b);

// The outputs of a layer as functions of an input p, where the layer reads x = map p + offset. Only what the
// covariance needs, in the width of the layer.
struct FunctionalForms {
  Matrix<double> map;                       // [w, n]
  std::vector<Matrix<double>> q;            // [units] of [w, w]
  std::vector<std::vector<double>> linear;  // [units] of [w]: of x - offset
};
// Of the layer's own input: p is x, without the 1 that belongs to biases.
FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units, size_t inputs);
// Of what comes before it, [d, n] with a bias [d] or none; a row of the map is an entry of x.
FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units,
                                 const InputMap& input);

// Covariance divided by both standard deviations, -1 ... 1; 0 for a function that is constant.
struct FunctionalSimilarity {
  double all = 0;            // the outputs' covariances and variances summed before
  std::vector<double> unit;  // [units]
};
// The two must have as many units and inputs.
FunctionalSimilarity functional_similarity(const LinearAlgebra& linalg, const FunctionalForms& a,
                                           const FunctionalForms& b);

}  // namespace glint

// Measures of how readable a model is, that order models as looking at their eigenvectors does. Smoothness of
// the pictures and the share of the first eigenvalues are not among them: both order models backwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "glint/spectra/eigen.h"

namespace glint {

// The eigenvectors of a spectrum that people look at first: the two strongest above 0, then the strongest
// below 0. Fewer where there are none.
std::vector<uint32_t> leading_vectors(std::span<const double> values);
// These alone, in descending order of their values.
Spectrum leading_spectrum(const Spectrum& spectrum);

// How many different pictures there are among n: e to the power of the entropy of the eigenvalues / n of the
// Gram matrix of the pictures, each scaled to length 1. From 1 (all the same but for sign) to n (no two
// alike). Pictures that are 0 do not count; 0 without any other.
double distinct_pictures(const LinearAlgebra& linalg, ConstMatrixView<double> pictures);

// values[k] (v_k . x)^2 of the strongest eigenvector above 0 and the strongest below 0 together, for every
// row of x [n, d]; in a layer with biases x has a last entry 1.
std::vector<double> strongest_pair_scores(const Spectrum& spectrum, ConstMatrixView<float> x);

// The probability that a score of the one group is higher than one of the rest, ties counted half: the area
// under the ROC curve. NaN when a group is empty.
double area_under_curve(std::span<const double> scores, std::span<const uint8_t> in_group);

// How alike the leading eigenvectors (or their pictures) of two readings of one direction are: mean |cos|,
// those above 0 in the best pairing, those below 0 with each other. NaN when they have none to compare.
struct LeadingVectors {
  std::vector<double> values;  // descending
  Matrix<double> vectors;      // a row for every value
};
double likeness(const LinearAlgebra& linalg, const LeadingVectors& a, const LeadingVectors& b);

}  // namespace glint

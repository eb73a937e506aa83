// How alike the eigenvectors of two models are, unit by unit, and the same over several pairs of models with
// its spread: the numbers of the paper's figure 2B.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "glint/spectra/compare.h"
#include "glint/spectra/forms.h"
#include "glint/spectra/image_reading.h"

namespace glint {

// Where eigenvectors are compared.
enum class CompareSpace {
  input,  // of the last layer: only for models of one width, and only with a common origin (the same seed)
  pixels  // as pictures: always, when the images have one size
};

// The strongest eigenvectors of every unit of one model, ready to compare.
struct ModelVectors {
  std::vector<std::vector<double>> values;  // [units], descending: the top k above 0, then the top k below
  std::vector<Matrix<double>> vectors;      // [units], one row per value
};

// `lines`: the forms of all layers. k is cut to what there is.
ModelVectors model_vectors(const ImageReading& reading, const Directions& units, std::span<const GateTerms> lines,
                           CompareSpace space, size_t k);

// The control that is always at hand: random orthonormal directions at the input of the last layer in the
// place of eigenvectors, seen through the model's own embedding.
ModelVectors random_vectors(const ImageReading& reading, size_t units, std::span<const GateTerms> lines,
                            CompareSpace space, size_t k, uint64_t seed);

// Of forms that are at hand, at the input of their layer; k is cut to what there is.
ModelVectors strongest_vectors(std::span<const UnitForm> forms, size_t k);
// Orthonormal rows of normal numbers, as many above 0 as below for every unit.
ModelVectors random_vectors(size_t units, size_t width, size_t k, uint64_t seed);

// One entry per unit.
using PairComparison = std::vector<UnitComparison>;
PairComparison compare_models(const LinearAlgebra& linalg, ThreadPool& pool, const ModelVectors& a,
                              const ModelVectors& b, size_t k);

enum class Measure { rank_matched, best_matched, subspace };
enum class Side { both, positive, negative };
inline constexpr Measure kMeasures[] = {Measure::rank_matched, Measure::best_matched, Measure::subspace};
inline constexpr Side kSides[] = {Side::both, Side::positive, Side::negative};
std::string_view name(Measure measure);
std::string_view name(Side side);

// Of all values that belong to one rank.
struct Spread {
  double mean = 0, sd = 0, min = 0;  // over units, sides and pairs
  double pair_sd = 0;                // between the means of the pairs
  size_t n = 0, pairs = 0;           // values; pairs that have any
};

// Element r belongs to rank r + 1; as many as any pair has. `unit`: of this one alone.
std::vector<Spread> by_rank(std::span<const PairComparison> pairs, Measure measure, Side side,
                            std::optional<size_t> unit = {});

// How alike two readings are as functions, without matching eigenvectors: in closed form for inputs x ~ N(0,
// I) of the space that both share. For f = x'Ax + b.x + c with symmetric A
//
//   E[f_A f_B] = (tr A + c_A)(tr B + c_B) + 2 <A, B> + b_A . b_B,   cov(f_A, f_B) = 2 <A, B> + b_A . b_B.
//
// The covariance is what is compared: the traces, which say nothing about x, would dominate otherwise.
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
FunctionalForms functional_forms(const LinearAlgebra& linalg, std::span<const UnitForm> units, const InputMap& input);

// Covariance divided by both standard deviations, -1 ... 1; 0 for a function that is constant.
struct FunctionalSimilarity {
  double all = 0;            // the outputs' covariances and variances summed before
  std::vector<double> unit;  // [units]
};
// The two must have as many units and inputs.
FunctionalSimilarity functional_similarity(const LinearAlgebra& linalg, const FunctionalForms& a,
                                           const FunctionalForms& b);

}  // namespace glint

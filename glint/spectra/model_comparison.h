// How alike the eigenvectors of two models are, unit by unit, and the same over several pairs of models with
// its spread: the numbers of the paper's figure 2B.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "glint/spectra/compare.h"
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
ModelVectors model_vectors(const ImageReading& reading, const Directions& units,
                           std::span<const GateTerms> lines, CompareSpace space, size_t k);

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

}  // namespace glint

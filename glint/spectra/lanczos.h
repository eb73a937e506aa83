// The strongest eigenpairs of a symmetric operator that is only applied, never formed: for widths where d^3
// is too much. Block Lanczos: Rayleigh-Ritz in a Krylov space that is kept orthonormal, grows by a block per
// product and shrinks to its best Ritz vectors when it is full,
//
//   Q V' = V' H + V_next' B'      V [m, w] orthonormal rows, H = V Q V', B only for the last block of V.
//
// What B leaves over is the residual of a Ritz pair, so that no product is spent on it.
#pragma once

#include <functional>

#include "glint/spectra/eigen.h"
#include "glint/spectra/interaction.h"

namespace glint {

enum class TopBy {
  magnitude,  // the k largest |value|
  both_ends,  // the (k + 1) / 2 largest and the k / 2 smallest values
};

struct LanczosOptions {
  TopBy by = TopBy::magnitude;
  double tolerance = 1e-12;     // of the residual |Q v - value v|, relative to the largest |value|
  size_t max_products = 20000;  // products Q x before it gives up
  double gap = kDefaultGap;
};

// y = Q x for every row: x and y are [vectors, width].
using ApplySymmetric = std::function<void(ConstMatrixView<double> x, MatrixView<double> y)>;

// min(k, width) eigenpairs, canonical as in eigen.h, always the same for the same operator, at any number of
// threads. Repeated eigenvalues are found as often as they occur: once converged, the search goes on from
// fresh random directions and must find nothing stronger. The basis takes at most width / 5 vectors, or what
// k needs. Error (numeric) when it does not converge or the operator gives NaN.
Spectrum top_eigenpairs(const LinearAlgebra& linalg, ThreadPool& pool, const ApplySymmetric& apply, size_t width,
                        size_t k, const LanczosOptions& options = {});

// The same for the interaction matrix of one output.
Spectrum top_interaction(const LayerReader& reader, const ProductWeights& q, size_t k,
                         const LanczosOptions& options = {});

}  // namespace glint

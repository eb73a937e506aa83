// Latents of sparse autoencoders beside the quadratic form of a layer. What a layer reads is about a sum of
// decoder rows, x = sum_i z_i d_i, so that in the basis of input latents a form x' Q x has the weights
//
//   M = D Q D'        sum_i M_ii z_i^2 + sum_{i < j} 2 M_ij z_i z_j
//
// which say which pairs of input latents make an output.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "glint/spectra/interaction.h"

namespace glint {

// first <= second; the factor of z_first z_second: M_ii, or 2 M_ij.
struct LatentPair {
  uint32_t first = 0, second = 0;
  double weight = 0;
};

// The `most` pairs of the largest |weight| for hidden weights q [h] (with the gains of a form in them),
// strongest first, equal ones by their numbers. Rows of `decoder` [latents, d] are taken with length 1; a row
// of zeros is in no pair. M is gone through in tiles and never whole in memory. `progress` is told how many
// latents are done.
std::vector<LatentPair> strongest_pairs(const LayerReader& reader, const ProductWeights& q,
                                        ConstMatrixView<float> decoder, size_t most,
                                        const std::function<void(size_t done)>& progress = {});

// How far the activation z of a latent goes with the strongest eigenvectors of its form: the correlation of z
// with the sum over the first k of value (v . x)^2, k by |value|, over all inputs and over those at which the
// latent is active. NaN where one of the two does not change.
struct LatentFit {
  double active = 0;  // share of the inputs at which z is not 0
  double one = 0, two = 0;
  double one_active = 0, two_active = 0;
};
// values [k] with their vectors as rows [k, d] (or d + 1, with biases).
LatentFit latent_fit(std::span<const double> values, ConstMatrixView<double> vectors, ConstMatrixView<float> x,
                     std::span<const float> activations);

}  // namespace glint

// Many output directions of one layer, one after the other: how concentrated the spectrum of each is.
#pragma once

#include <functional>
#include <vector>

#include "glint/nn/compute.h"
#include "glint/spectra/glu_model.h"
#include "glint/spectra/latents.h"

namespace glint {

// Trivial to copy: ranks and files pass it on as bytes.
struct ScannedDirection {
  uint64_t index = 0;  // of the direction
  SpectrumRank rank;
  double top = 0, bottom = 0;  // the largest and the smallest eigenvalue
  double energy = 0;           // share of the strongest eigenvalue in the sum of squares
  uint64_t strongest = 0;      // its index, in ascending order
  LatentFit fit;               // of a plan that has one
};

struct ScanPlan {
  size_t layer = 0;
  size_t count = 0;  // of all directions
  // Rows [n, outputs of the layer] of a block. Blocks begin at multiples of `block`, so that what is found
  // for a direction does not depend on those that are asked for.
  std::function<Matrix<double>(Range block)> directions;
  size_t block = 256;
  // How far the activation of a latent goes with its eigenvectors, vectors as rows; on any thread, many at
  // once. Empty: the directions are no latents, or nothing is known of them.
  std::function<LatentFit(size_t index, std::span<const double> values, ConstMatrixView<double> vectors)> fit = {};
  // So many eigenpairs of each, the strongest; 0: all. Rank and energy are then those of these alone.
  size_t strongest = 0;
};
// Of a layer: all eigenpairs, of one wider than kFullWidth the strongest kScanPairs, in small blocks since
// each direction takes long.
inline constexpr size_t kScanPairs = 32, kWideBlock = 8;
ScanPlan scan_plan(const GluModel& model, size_t layer, size_t count,
                   std::function<Matrix<double>(Range block)> directions);

// The directions of `some`. `progress` is told how many are done, from any thread, one call at a time.
std::vector<ScannedDirection> scan_directions(const GluModel& model, const GateTerms& line, const ScanPlan& plan,
                                              Range some, const std::function<void(size_t done)>& progress = {});

}  // namespace glint

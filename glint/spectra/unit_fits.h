// What the fits of gate lines share: sums over data for every hidden unit, and one linear solve in which the
// errors of units may cancel.
#pragma once

#include <functional>

#include "glint/spectra/row_tiles.h"

namespace glint {

// One Sums per hidden unit over the rows of x, added up in the same order at any number of threads. Calls
// add(sums, row, unit, l, r, gate(l)) for every row and unit; Sums has operator+=.
template <class Sums, class Add>
std::vector<Sums> unit_sums(const LayerReader& reader, ConstMatrixView<float> x, const Add& add) {
  const size_t h = reader.layer.hidden(), tiles = tiles_of(x.rows());
  std::vector<TileMemory> memory(reader.pool.size());
  Matrix<Sums> parts(tiles, h);
  reader.pool.for_tiles(tiles, [&](size_t t, size_t worker) {
    const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
    TileMemory& tile = memory[worker];
    tile_pre_activations(reader.linalg, reader.layer, x.row_range(first, rows), tile);
    Sums* part = parts.view().row_ptr(t);
    with_gate(reader.layer.gate, [&](auto gate) {
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < h; j++) {
          const float l = tile.l(i, j);
          add(part[j], first + i, j, static_cast<double>(l), static_cast<double>(tile.r(i, j)),
              static_cast<double>(gate(l)));
        }
    });
  });
  std::vector<Sums> sums(h);
  for (size_t t = 0; t < tiles; t++)
    for (size_t j = 0; j < h; j++) sums[j] += parts(t, j);
  return sums;
}

// Parameters of all hidden units together, `blocks` for each: parameter b of unit j adds features(i, b h + j)
// to the unit's product at row i, and rest(i, j) is what the units' present parameters leave of it. `fill`
// writes both for a tile whose first row is row `first` of x. Returns the changes [blocks h] for which the
// squared error of the outputs with hidden weights [units, h] is smallest, with a ridge of kFitRidge of the
// diagonal; empty where the system is beyond doubles.
inline constexpr double kFitRidge = 1e-3;
using FillFeatures =
    std::function<void(size_t first, const TileMemory& tile, Matrix<double>& features, Matrix<double>& rest)>;
std::vector<double> joint_changes(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                                  size_t blocks, const FillFeatures& fill);

}  // namespace glint

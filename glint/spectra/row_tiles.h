// Inputs of a layer in tiles of rows, and the pre-activations of a tile: what forms and calibration loop
// over.
#pragma once

#include <algorithm>

#include "glint/base/finite.h"
#include "glint/spectra/interaction.h"

namespace glint {

// Rows a tile: fixed, so that sums do not depend on the number of threads.
inline constexpr size_t kTileRows = 256;

// Hidden units whose weights become floats at once.
inline constexpr size_t kTileUnits = 1024;

inline size_t tiles_of(size_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// Calls body(g) with g(float l) -> float, the gate as the model's kernels compute it.
template <class Body>
void with_gate(const Gate& gate, Body&& body) {
  const auto value = [&](const auto functor) { body([functor](float l) { return functor(l).value; }); };
  switch (gate.kind) {
#define GLINT_GATE_CASE(G) \
  case GateKind::G:        \
    return with_functor<G>(gate.params, value);
    GLINT_GATES(GLINT_GATE_CASE)
#undef GLINT_GATE_CASE
    case GateKind::count:
      break;
  }
}

// l and r of a tile of inputs, [rows, h] each. Error (numeric) when one is not finite: a gate could hide
// that.
struct TileMemory {
  Matrix<float> l, r;
  Matrix<float> rows;  // of weights that do not lie in memory as floats
};

inline void tile_pre_activations(const LinearAlgebra& linalg, const GluLayerView& layer, ConstMatrixView<float> x,
                                 TileMemory& tile) {
  const size_t h = layer.hidden();
  if (tile.l.rows() != x.rows() || tile.l.cols() != h)
    tile.l = Matrix<float>(x.rows(), h), tile.r = Matrix<float>(x.rows(), h);
  const auto half = [&](const WeightRows& weight, std::span<const float> bias, Matrix<float>& out) {
    for (size_t i = 0; i < x.rows() && !bias.empty(); i++) std::copy(bias.begin(), bias.end(), out.view().row_ptr(i));
    for (size_t first = 0; first < h; first += kTileUnits) {
      const size_t units = std::min(kTileUnits, h - first);
      linalg.gemm(Op::plain, Op::transposed, 1.0f, x, weight.floats({first, units}, tile.rows),
                  bias.empty() ? 0.0f : 1.0f, out.view().col_range(first, units));
    }
  };
  half(layer.left, layer.bias_left, tile.l);
  half(layer.right, layer.bias_right, tile.r);
  if (!all_finite(tile.l) || !all_finite(tile.r)) throw_overflow("the hidden units of a layer");
}

}  // namespace glint

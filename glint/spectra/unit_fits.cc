#include "glint/spectra/unit_fits.h"

#include <Eigen/Cholesky>

namespace glint {
namespace {

// gram = F' F, slope = sum over rows of F * (rest W' W).
struct NormalEquations {
  Matrix<double> gram;
  std::vector<double> slope;
  explicit NormalEquations(size_t n) : gram(n, n), slope(n) {}
};

// Rows go to a fixed number of sums, which are then added up in order.
constexpr size_t kSums = 8;

NormalEquations normal_equations(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                                 size_t blocks, const FillFeatures& fill) {
  const size_t h = reader.layer.hidden(), tiles = tiles_of(x.rows()), sums = std::min(kSums, tiles);
  std::vector<NormalEquations> parts(sums, NormalEquations(blocks * h));
  std::vector<TileMemory> memory(sums);
  // Tile t goes to sum t % sums. A loop of the pool per round of tiles, so that it can be stopped between
  // them.
  for (size_t round = 0; round < tiles; round += sums)
    reader.pool.for_tiles(std::min(sums, tiles - round), [&](size_t s, size_t) {
      const size_t first = (round + s) * kTileRows, rows = std::min(kTileRows, x.rows() - first);
      NormalEquations& part = parts[s];
      TileMemory& tile = memory[s];
      tile_pre_activations(reader.linalg, reader.layer, x.row_range(first, rows), tile);
      Matrix<double> f(rows, blocks * h), e(rows, h), out(rows, weights.rows());
      fill(first, tile, f, e);
      reader.linalg.gemm(Op::plain, Op::transposed, 1.0, e, weights, 0.0, out);
      reader.linalg.gemm(Op::plain, Op::plain, 1.0, out, weights, 0.0, e);
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < blocks * h; j++) part.slope[j] += f(i, j) * e(i, j % h);
      reader.linalg.gemm(Op::transposed, Op::plain, 1.0, f, f, 1.0, part.gram);
    });
  for (size_t s = 1; s < sums; s++) {
    for (size_t i = 0; i < parts[0].gram.size(); i++) parts[0].gram.data()[i] += parts[s].gram.data()[i];
    for (size_t j = 0; j < blocks * h; j++) parts[0].slope[j] += parts[s].slope[j];
  }
  return std::move(parts[0]);
}

}  // namespace

std::vector<double> joint_changes(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                                  size_t blocks, const FillFeatures& fill) {
  const size_t h = reader.layer.hidden(), n = blocks * h;
  if (x.rows() == 0) return std::vector<double>(n);
  const NormalEquations equations = normal_equations(reader, weights, x, blocks, fill);
  Matrix<double> between(h, h);  // W' W: how far two units add up in the same outputs
  reader.linalg.gemm(Op::transposed, Op::plain, 1.0, weights, weights, 0.0, between);
  const auto index = [](size_t i) { return static_cast<Eigen::Index>(i); };
  Eigen::MatrixXd a(index(n), index(n));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) a(index(i), index(j)) = equations.gram(i, j) * between(i % h, j % h);
  for (Eigen::Index i = 0; i < a.rows(); i++) a(i, i) = a(i, i) > 0 ? a(i, i) * (1 + kFitRidge) : 1;
  const Eigen::VectorXd change = a.llt().solve(Eigen::Map<const Eigen::VectorXd>(equations.slope.data(), index(n)));
  if (!change.allFinite()) return {};
  return {change.data(), change.data() + change.size()};
}

}  // namespace glint

#include "glint/spectra/latents.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr size_t kLatentTile = 256;

// Rows [first, first + count) with length 1; those of length 0 stay 0. Of an augmented layer the last entry,
// which belongs to the constant 1, is 0.
void unit_rows(ConstMatrixView<float> decoder, size_t first, MatrixView<double> out) {
  for (size_t r = 0; r < out.rows(); r++) {
    const std::span<const float> row = decoder.row(first + r);
    double squares = 0;
    for (const float v : row) squares += static_cast<double>(v) * static_cast<double>(v);
    const double factor = squares > 0 ? 1 / std::sqrt(squares) : 0;
    std::fill_n(out.row_ptr(r), out.cols(), 0.0);
    for (size_t j = 0; j < row.size(); j++) out(r, j) = factor * static_cast<double>(row[j]);
  }
}

bool stronger(const LatentPair& a, const LatentPair& b) {
  return std::tuple(-std::fabs(a.weight), a.first, a.second) < std::tuple(-std::fabs(b.weight), b.first, b.second);
}

void keep_strongest(std::vector<LatentPair>& pairs, size_t most) {
  if (pairs.size() <= most) return;
  std::nth_element(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(most), pairs.end(), stronger);
  pairs.resize(most);
}

double correlation_of(std::span<const double> a, std::span<const double> b) {
  const double n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < a.size(); i++) mean_a += a[i] / n, mean_b += b[i] / n;
  for (size_t i = 0; i < a.size(); i++) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    aa += x * x, bb += y * y, ab += x * y;
  }
  // What rounding leaves of a constant is no change.
  const auto still = [n](double squares, double mean) { return squares <= 1e-20 * (n * mean * mean); };
  if (still(aa, mean_a) || still(bb, mean_b)) return std::numeric_limits<double>::quiet_NaN();
  return ab / std::sqrt(aa * bb);
}

}  // namespace

std::vector<LatentPair> strongest_pairs(const LayerReader& reader, const ProductWeights& q,
                                        ConstMatrixView<float> decoder, size_t most,
                                        const std::function<void(size_t)>& progress) {
  check_argument(decoder.cols() == reader.layer.inputs() && q.products.size() == reader.layer.hidden(),
                 "strongest_pairs", "latents as wide as the layer's input, and a weight per hidden unit");
  const size_t n = decoder.rows(), width = reader.layer.width();
  std::vector<LatentPair> best;
  if (most == 0) return best;
  InteractionOperator form(reader);
  struct Worker {
    Matrix<double> rows, products;
  };
  std::vector<Worker> workers(reader.pool.size());
  double least = 0;  // a pair weaker than this is not among the strongest
  for (size_t first = 0; first < n; first += kLatentTile) {
    const size_t count = std::min(kLatentTile, n - first);
    Matrix<double> rows(count, width), images(count, width);
    unit_rows(decoder, first, rows);
    form.apply(q, rows, images);
    // Latents from the first of this tile on: M is symmetric.
    std::vector<std::vector<LatentPair>> found((n - first + kLatentTile - 1) / kLatentTile);
    reader.pool.for_tiles(found.size(), [&](size_t tile, size_t id) {
      Worker& w = workers[id];
      const size_t other = first + tile * kLatentTile, others = std::min(kLatentTile, n - other);
      if (w.rows.rows() != others) w.rows = Matrix<double>(others, width);
      if (w.products.rows() != count || w.products.cols() != others) w.products = Matrix<double>(count, others);
      unit_rows(decoder, other, w.rows);
      reader.linalg.gemm(Op::plain, Op::transposed, 1.0, images, w.rows, 0.0, w.products);
      std::vector<LatentPair>& out = found[tile];
      for (size_t i = 0; i < count; i++)
        for (size_t j = tile == 0 ? i : 0; j < others; j++) {
          const bool same = tile == 0 && i == j;
          const double weight = (same ? 1 : 2) * w.products(i, j);
          if (weight == 0 || std::fabs(weight) < least) continue;
          out.push_back({static_cast<uint32_t>(first + i), static_cast<uint32_t>(other + j), weight});
          if (out.size() >= 4 * most + 1024) keep_strongest(out, most);
        }
      keep_strongest(out, most);
    });
    for (const std::vector<LatentPair>& some : found) best.insert(best.end(), some.begin(), some.end());
    keep_strongest(best, most);
    if (best.size() == most) least = std::fabs(std::ranges::max_element(best, stronger)->weight);
    if (progress) progress(first + count);
  }
  std::sort(best.begin(), best.end(), stronger);
  return best;
}

LatentFit latent_fit(std::span<const double> values, ConstMatrixView<double> vectors, ConstMatrixView<float> x,
                     std::span<const float> activations) {
  check_argument(activations.size() == x.rows(), "latent_fit", "an activation per input");
  const size_t n = x.rows(), d = x.cols();
  const std::vector<double> z(activations.begin(), activations.end());
  std::vector<size_t> active;
  for (size_t i = 0; i < n; i++)
    if (z[i] != 0) active.push_back(i);
  LatentFit fit{.active = n ? static_cast<double>(active.size()) / static_cast<double>(n) : 0};
  std::vector<double> sum(n);
  const auto add = [&](uint32_t k) {
    const double* v = vectors.row_ptr(k);
    for (size_t i = 0; i < n; i++) {
      const float* row = x.row_ptr(i);
      double p = vectors.cols() > d ? v[d] : 0;
      for (size_t j = 0; j < d; j++) p += v[j] * static_cast<double>(row[j]);
      sum[i] += values[k] * p * p;
    }
  };
  const auto measure = [&](double& everywhere, double& where_active) {
    everywhere = correlation_of(z, sum);
    std::vector<double> a, b;
    for (const size_t i : active) a.push_back(z[i]), b.push_back(sum[i]);
    where_active = correlation_of(a, b);
  };
  const std::vector<uint32_t> order = order_by_magnitude(values);
  if (!order.empty()) add(order[0]);
  measure(fit.one, fit.one_active);
  if (order.size() > 1) add(order[1]);
  measure(fit.two, fit.two_active);
  return fit;
}

}  // namespace glint

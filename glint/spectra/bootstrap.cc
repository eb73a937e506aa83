#include "glint/spectra/bootstrap.h"

#include <algorithm>
#include <cassert>

#include "glint/base/rng.h"
#include "glint/base/statistics.h"

namespace glint {
namespace {

// Over the inputs of a block, or of several: values less their mean over all inputs, their squares, and the
// squares of the errors.
struct BlockSums {
  double y = 0, yy = 0, ee = 0;
};

Interval middle_of(std::vector<double> values) {
  return {.low = quantile(values, 0.025), .high = quantile(values, 0.975)};
}

double share_explained(double error, double spread) { return spread > 0 ? 1 - error / spread : error == 0 ? 1 : 0; }

}  // namespace

R2Intervals bootstrap_r2(ConstMatrixView<double> model, ConstMatrixView<double> form, std::span<const size_t> blocks) {
  const size_t units = model.cols(), n = model.rows();
  Matrix<BlockSums> sums(blocks.size(), units);
  for (size_t u = 0; u < units; u++) {
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += model(i, u) / static_cast<double>(n);
    size_t at = 0;
    for (size_t b = 0; b < blocks.size(); b++)
      for (const size_t end = at + blocks[b]; at < end; at++) {
        const double y = model(at, u) - mean, e = model(at, u) - form(at, u);
        BlockSums& s = sums(b, u);
        s.y += y, s.yy += y * y, s.ee += e * e;
      }
    assert(at == n);
  }
  const Rng rng(0, Stream::sample);
  std::vector<double> all;
  std::vector<std::vector<double>> each(units);
  std::vector<size_t> times(blocks.size());
  for (size_t draw = 0; draw < kBootstrapDraws; draw++) {
    std::ranges::fill(times, 0);
    for (size_t k = 0; k < blocks.size(); k++) times[rng.below(blocks.size(), draw * blocks.size() + k)]++;
    double inputs = 0, errors = 0, spreads = 0;
    for (size_t b = 0; b < blocks.size(); b++) inputs += static_cast<double>(times[b] * blocks[b]);
    for (size_t u = 0; u < units; u++) {
      BlockSums s;
      for (size_t b = 0; b < blocks.size(); b++) {
        const auto t = static_cast<double>(times[b]);
        s.y += t * sums(b, u).y, s.yy += t * sums(b, u).yy, s.ee += t * sums(b, u).ee;
      }
      const double spread = inputs > 0 ? s.yy - s.y * s.y / inputs : 0;
      each[u].push_back(share_explained(s.ee, spread));
      errors += s.ee, spreads += spread;
    }
    all.push_back(share_explained(errors, spreads));
  }
  R2Intervals out{.all = middle_of(std::move(all)), .unit = {}};
  for (std::vector<double>& values : each) out.unit.push_back(middle_of(std::move(values)));
  return out;
}

std::vector<size_t> token_blocks(std::span<const TokenRow> rows, size_t most) {
  std::vector<size_t> blocks;
  size_t tokens = 0;
  for (size_t r = 0; r < rows.size() && tokens < most; r++) {
    const size_t n = rows[r].input.size(), pieces = (n + kBlockTokens - 1) / kBlockTokens;
    for (size_t p = 0; p < pieces; p++) blocks.push_back(n * (p + 1) / pieces - n * p / pieces);
    tokens += n;
  }
  return blocks;
}

}  // namespace glint

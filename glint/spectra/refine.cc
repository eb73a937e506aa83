#include "glint/spectra/refine.h"

#include <cmath>
#include <deque>
#include <numeric>

#include "glint/nn/softmax.h"
#include "glint/spectra/row_tiles.h"
#include "glint/spectra/scaled.h"

namespace glint {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// What is minimised: kLogitWeight times the mean over samples and classes of the squared error of the centred
// logits, plus the mean cross-entropy of the form's probabilities with the model's.
class Objective {
 public:
  Objective(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> logits,
            ConstMatrixView<float> x)
      : linalg_(reader.linalg),
        pool_(reader.pool),
        weights_(centred_over_classes(weights)),
        logits_(logits),
        products_(x.rows(), reader.layer.hidden()),
        target_(x.rows(), weights.rows()) {
    for (size_t i = 0; i < x.rows(); i++) sizes_.push_back(input_size(x.row(i)));
    std::vector<TileMemory> memory(reader.pool.size());
    reader.pool.for_tiles(tiles_of(x.rows()), [&](size_t t, size_t worker) {
      const size_t first = t * kTileRows, rows = std::min(kTileRows, x.rows() - first);
      TileMemory& tile = memory[worker];
      tile_pre_activations(reader.linalg, reader.layer, x.row_range(first, rows), tile);
      Matrix<double> hidden(rows, reader.layer.hidden());
      with_gate(reader.layer.gate, [&](auto gate) {
        for (size_t i = 0; i < rows; i++)
          for (size_t j = 0; j < reader.layer.hidden(); j++) {
            products_(first + i, j) = tile.l(i, j) * tile.r(i, j);
            hidden(i, j) = static_cast<double>(gate(tile.l(i, j))) * static_cast<double>(tile.r(i, j));
          }
      });
      reader.linalg.gemm(Op::plain, Op::transposed, 1.0, hidden, weights_, 0.0, target_.view().row_range(first, rows));
    });
  }

  // At a line with power 1; the gradients by gain and by slope [h] each.
  double value(const GateTerms& line, Vector& by_gain, Vector& by_slope) const {
    const size_t n = products_.rows(), h = products_.cols(), tiles = tiles_of(n);
    Vector losses(tiles);
    Matrix<double> gain_parts(tiles, h), slope_parts(tiles, h);
    pool_.for_tiles(tiles, [&](size_t t, size_t) {
      const size_t first = t * kTileRows, rows = std::min(kTileRows, n - first);
      losses[t] = tile_value(line, first, rows, gain_parts.view().row(t), slope_parts.view().row(t));
    });
    by_gain.assign(h, 0), by_slope.assign(h, 0);
    for (size_t t = 0; t < tiles; t++)
      for (size_t j = 0; j < h; j++) by_gain[j] += gain_parts(t, j), by_slope[j] += slope_parts(t, j);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

 private:
  double tile_value(const GateTerms& line, size_t first, size_t rows, std::span<double> by_gain,
                    std::span<double> by_slope) const {
    const size_t h = products_.cols(), classes = weights_.rows();
    const double n = static_cast<double>(products_.rows()), all = n * static_cast<double>(classes);
    Matrix<double> shrunk(rows, h), hidden(rows, h), pull(rows, classes);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < h; j++) {
        shrunk(i, j) = line.slope.empty() ? 1 : 1 / (1 + line.slope[j] * sizes_[first + i]);
        hidden(i, j) = line.gain[j] * shrunk(i, j) * static_cast<double>(products_(first + i, j));
      }
    linalg_.gemm(Op::plain, Op::transposed, 1.0, hidden, weights_, 0.0, pull);
    double loss = 0;
    std::vector<double> own(classes), read(classes);
    for (size_t i = 0; i < rows; i++) {
      for (size_t c = 0; c < classes; c++) {
        own[c] = logits_(first + i, c);
        read[c] = own[c] + pull(i, c) - target_(first + i, c);
      }
      const std::vector<double> p = softmax<double>(own), q = softmax<double>(read);
      for (size_t c = 0; c < classes; c++) {
        const double error = pull(i, c) - target_(first + i, c);
        loss += kLogitWeight * error * error / all - p[c] * std::log(std::max(q[c], 1e-300)) / n;
        pull(i, c) = kLogitWeight * 2 * error / all + (q[c] - p[c]) / n;
      }
    }
    linalg_.gemm(Op::plain, Op::plain, 1.0, pull, weights_, 0.0, hidden);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < h; j++) {
        const double by = hidden(i, j) * shrunk(i, j) * static_cast<double>(products_(first + i, j));
        by_gain[j] += by;
        by_slope[j] -= by * line.gain[j] * shrunk(i, j) * sizes_[first + i];
      }
    return loss;
  }

  const LinearAlgebra& linalg_;
  ThreadPool& pool_;
  Matrix<double> weights_;
  ConstMatrixView<float> logits_;
  Matrix<float> products_;  // l r
  Matrix<double> target_;   // the layer's own part of the logits, centred
  Vector sizes_;
};

// Goes downhill from `at` by L-BFGS; `value` gives the gradient too.
void descend(Vector& at, const auto& value) {
  constexpr size_t kMemory = 12, kSteps = 300, kTries = 30;
  constexpr double kEnough = 1e-7;  // relative decrease below which a step was the last
  struct Pair {
    Vector step, change;
    double product;
  };
  std::deque<Pair> pairs;
  Vector gradient;
  double best = value(at, gradient);
  for (size_t step = 0; step < kSteps; step++) {
    Vector direction = gradient;
    std::vector<double> alpha(pairs.size());
    for (size_t k = pairs.size(); k-- > 0;) {
      alpha[k] = dot(pairs[k].step, direction) / pairs[k].product;
      for (size_t i = 0; i < at.size(); i++) direction[i] -= alpha[k] * pairs[k].change[i];
    }
    const double scale = pairs.empty() ? 0.1 / std::max(1e-300, std::sqrt(dot(gradient, gradient)))
                                       : pairs.back().product / dot(pairs.back().change, pairs.back().change);
    for (double& d : direction) d *= scale;
    for (size_t k = 0; k < pairs.size(); k++) {
      const double beta = dot(pairs[k].change, direction) / pairs[k].product;
      for (size_t i = 0; i < at.size(); i++) direction[i] += (alpha[k] - beta) * pairs[k].step[i];
    }
    const double fall = dot(gradient, direction);
    if (!(fall > 0)) return;
    Vector next = at, next_gradient;
    double found = best, length = 1;
    size_t tries = 0;
    for (; tries < kTries; tries++, length /= 2) {
      for (size_t i = 0; i < at.size(); i++) next[i] = at[i] - length * direction[i];
      found = value(next, next_gradient);
      if (found <= best - 1e-4 * length * fall) break;
    }
    if (tries == kTries) return;
    Pair pair{next, next_gradient, 0};
    for (size_t i = 0; i < at.size(); i++) pair.step[i] -= at[i], pair.change[i] -= gradient[i];
    pair.product = dot(pair.step, pair.change);
    const double decrease = best - found;
    at = std::move(next), gradient = std::move(next_gradient), best = found;
    if (decrease < kEnough * std::fabs(best)) return;
    if (pair.product > 1e-12 * dot(pair.change, pair.change)) pairs.push_back(std::move(pair));
    if (pairs.size() > kMemory) pairs.pop_front();
  }
}

}  // namespace

GateTerms refined_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> logits,
                       ConstMatrixView<float> x, const GateTerms& line) {
  const size_t h = reader.layer.hidden();
  if (reader.layer.gate.kind == GateKind::Identity || !fits_together(reader.layer, x.rows())) return line;
  GateTerms start = line;
  if (!line.slope.empty() && line.power != 1) {
    start.power = 1;
    start.gain = fitted_gains(reader, weights, x, start);
  }
  // Relative to the start, slopes as squares: they cannot become negative, and a slope of 0 stays.
  const auto line_at = [&](const Vector& at) {
    GateTerms out = start;
    for (size_t j = 0; j < h; j++) out.gain[j] *= at[j];
    for (size_t j = 0; j < out.slope.size(); j++) out.slope[j] *= at[h + j] * at[h + j];
    return out;
  };
  const Objective objective(reader, weights, logits, x);
  Vector at(h + start.slope.size(), 1.0), by_gain, by_slope;
  descend(at, [&](const Vector& v, Vector& gradient) {
    const double value = objective.value(line_at(v), by_gain, by_slope);
    gradient.resize(v.size());
    for (size_t j = 0; j < h; j++) gradient[j] = by_gain[j] * start.gain[j];
    for (size_t j = 0; j < start.slope.size(); j++) gradient[h + j] = by_slope[j] * start.slope[j] * 2 * v[h + j];
    return value;
  });
  return line_at(at);
}

}  // namespace glint

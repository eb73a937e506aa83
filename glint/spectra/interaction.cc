#include "glint/spectra/interaction.h"

#include <algorithm>
#include <array>

namespace glint {
namespace {

constexpr size_t kLanes = 8;  // partial sums that the compiler can keep in vector registers, in a fixed order

// sum of a_i factor_i x_i; empty factors are 1.
double dot(const float* a, std::span<const float> factors, const double* x, size_t n) {
  std::array<double, kLanes> sum{};
  const auto at = [&](size_t i) {
    const double v = factors.empty() ? x[i] : x[i] * static_cast<double>(factors[i]);
    return static_cast<double>(a[i]) * v;
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t j = 0; j < kLanes; j++) sum[j] += at(i + j);
  for (size_t j = 0; i < n; i++, j++) sum[j] += at(i);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

float bias_at(std::span<const float> bias, size_t h) { return bias.empty() ? 0.0f : bias[h]; }

constexpr size_t kRowsAtOnce = 64;  // of weights that are widened

Matrix<double> widen(const WeightRows& m, std::span<const float> bias, size_t width) {
  Matrix<double> out(m.rows(), width);
  Matrix<float> buffer;
  for (size_t first = 0; first < m.rows(); first += kRowsAtOnce)
    m.widen(first, out.view().row_range(first, std::min(kRowsAtOnce, m.rows() - first)), buffer);
  for (size_t r = 0; r < m.rows() && width > m.cols(); r++) out(r, m.cols()) = bias_at(bias, r);
  return out;
}

std::string shape(size_t rows, size_t cols) { return std::to_string(rows) + " x " + std::to_string(cols); }

// In tiles, so that the mirrored reads stay in the cache.
void symmetrise(MatrixView<double> m) {
  constexpr size_t kTile = 32;
  const size_t n = m.rows();
  for (size_t r0 = 0; r0 < n; r0 += kTile)
    for (size_t c0 = 0; c0 <= r0; c0 += kTile)
      for (size_t r = r0; r < std::min(n, r0 + kTile); r++)
        for (size_t c = c0; c < std::min(c0 + kTile, r); c++) m(r, c) = m(c, r) = 0.5 * (m(r, c) + m(c, r));
}

}  // namespace

void check(const GluLayerView& layer, const std::string& where) {
  const size_t h = layer.hidden(), d = layer.inputs();
  if (layer.right.rows() != h || layer.right.cols() != d)
    bad_file(where, "the linear half has the shape " + shape(layer.right.rows(), layer.right.cols()),
              shape(h, d) + ", as the gated half");
  for (const std::span<const float> bias : {layer.bias_left, layer.bias_right})
    if (!bias.empty() && bias.size() != h)
      bad_file(where, "a bias has " + std::to_string(bias.size()) + " entries",
                std::to_string(h) + ", one per hidden unit");
}

PreActivation pre_activation(const GluLayerView& layer, size_t h, std::span<const double> x) {
  assert(x.size() == layer.inputs() || x.size() == layer.width());
  const size_t d = layer.inputs();
  const double one = x.size() > d ? x[d] : 1.0;
  Matrix<float> buffer;
  const auto half = [&](const WeightRows& w, std::span<const float> bias) {
    return dot(w.plain({h, 1}, buffer).row_ptr(0), w.column_factors(), x.data(), d) + one * bias_at(bias, h);
  };
  return {half(layer.left, layer.bias_left), half(layer.right, layer.bias_right)};
}

Matrix<double> hidden_weights(const LinearAlgebra& linalg, ConstMatrixView<double> directions,
                              const WeightRows& projection) {
  Matrix<double> out(directions.rows(), projection.cols()), some(directions.rows(), kRowsAtOnce);
  Matrix<float> buffer;
  assert(projection.column_factors().empty());
  const std::span<const float> factors = projection.row_factors();
  for (size_t first = 0; first < projection.rows(); first += kRowsAtOnce) {
    const size_t rows = std::min(kRowsAtOnce, projection.rows() - first);
    for (size_t u = 0; u < directions.rows(); u++)
      for (size_t r = 0; r < rows; r++)
        some(u, r) = directions(u, first + r) * (factors.empty() ? 1.0 : factors[first + r]);
    linalg.add_rows(some.view().col_range(0, rows), projection.plain({first, rows}, buffer), out);
  }
  return out;
}

Matrix<double> hidden_weights(const WeightRows& directions) { return widen(directions, {}, directions.cols()); }

InteractionBuilder::InteractionBuilder(const LinearAlgebra& linalg, const GluLayerView& layer)
    : linalg_(linalg),
      left_(widen(layer.left, layer.bias_left, layer.width())),
      right_(widen(layer.right, layer.bias_right, layer.width())) {}

void InteractionBuilder::build(const ProductWeights& q, MatrixView<double> out, Matrix<double>& scratch) const {
  assert(q.products.size() == hidden() && (q.squares.empty() || q.squares.size() == hidden()));
  if (scratch.rows() != hidden() || scratch.cols() != width()) scratch = Matrix<double>(hidden(), width());
  for (size_t h = 0; h < hidden(); h++) {
    const double* from = right_.view().row_ptr(h);
    double* to = scratch.view().row_ptr(h);
    for (size_t i = 0; i < width(); i++) to[i] = q.products[h] * from[i];
    if (q.squares.empty()) continue;
    const double* left = left_.view().row_ptr(h);
    for (size_t i = 0; i < width(); i++) to[i] += q.squares[h] * left[i];
  }
  linalg_.gemm(Op::transposed, Op::plain, 1.0, left_, scratch, 0.0, out);
  symmetrise(out);
}

namespace {

// Hidden units whose rows are read and then added up: both halves of them, and four vectors, stay in L2.
constexpr size_t kUnits = 16;
// Parts of the hidden units that are summed by themselves: enough for many threads, and fixed.
constexpr size_t kParts = 32;

}  // namespace

struct InteractionOperator::Memory {
  Matrix<float> left, right;  // rows, where they do not lie in memory as floats
  Matrix<double> l, r;        // [n, kUnits]: products of the rows with x
};

namespace {

// x diag(factors), or x itself where there are none.
ConstMatrixView<double> scaled(ConstMatrixView<double> x, std::span<const float> factors, Matrix<double>& out) {
  if (factors.empty()) return x;
  if (out.rows() != x.rows() || out.cols() != x.cols()) out = Matrix<double>(x.rows(), x.cols());
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t j = 0; j < x.cols(); j++) out(i, j) = x(i, j) * static_cast<double>(factors[j]);
  return out;
}

bool same(std::span<const float> a, std::span<const float> b) { return a.data() == b.data() && a.size() == b.size(); }

}  // namespace

InteractionOperator::InteractionOperator(const LayerReader& reader)
    : linalg_(reader.linalg), pool_(reader.pool), layer_(reader.layer) {
  assert(same(reader.layer.left.column_factors(), reader.layer.right.column_factors()));
  assert(reader.layer.left.row_factors().empty() && reader.layer.right.row_factors().empty());
  const size_t blocks = (reader.layer.hidden() + kUnits - 1) / kUnits;
  sums_.resize(std::min(kParts, blocks));
  for (size_t i = 0; i < reader.pool.size(); i++) memory_.push_back(std::make_unique<Memory>());
}

InteractionOperator::~InteractionOperator() = default;

void InteractionOperator::apply(const ProductWeights& q, ConstMatrixView<double> x, MatrixView<double> y) {
  const size_t hidden = layer_.hidden(), d = layer_.inputs(), width = layer_.width(), n = x.rows();
  assert(q.products.size() == hidden && x.cols() == width && y.cols() == width && n == y.rows());
  const size_t blocks = (hidden + kUnits - 1) / kUnits;
  // Factors of the columns belong to the vectors: L diag(g) x = L (g * x). Those of both halves are the same.
  const std::span<const float> factors = layer_.left.column_factors();
  const ConstMatrixView<double> input = scaled(x.col_range(0, d), factors, scaled_);
  pool_.for_tiles(sums_.size(), [&](size_t part, size_t worker) {
    Memory& m = *memory_[worker];
    if (m.l.rows() != n) m.l = Matrix<double>(n, kUnits), m.r = Matrix<double>(n, kUnits);
    Matrix<double>& sum = sums_[part];
    if (sum.rows() != n || sum.cols() != width) sum = Matrix<double>(n, width);
    std::fill_n(sum.data(), sum.size(), 0.0);
    for (size_t block = part * blocks / sums_.size(); block < (part + 1) * blocks / sums_.size(); block++) {
      const size_t first = block * kUnits, units = std::min(kUnits, hidden - first);
      const ConstMatrixView<float> left = layer_.left.plain({first, units}, m.left),
                                   right = layer_.right.plain({first, units}, m.right);
      const MatrixView<double> l = m.l.view().col_range(0, units), r = m.r.view().col_range(0, units);
      linalg_.dots(input, left, l);
      linalg_.dots(input, right, r);
      for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < units; h++) {
          const double one = width > d ? x(i, d) : 0.0, half = q.products[first + h] / 2,
                       square = q.squares.empty() ? 0 : q.squares[first + h];
          const double bias_l = bias_at(layer_.bias_left, first + h), bias_r = bias_at(layer_.bias_right, first + h);
          const double own = l(i, h) + one * bias_l;
          l(i, h) = half * own, r(i, h) = half * (r(i, h) + one * bias_r) + square * own;
          if (width > d) sum(i, d) += r(i, h) * bias_l + l(i, h) * bias_r;
        }
      linalg_.add_rows(r, left, sum.view().col_range(0, d));
      linalg_.add_rows(l, right, sum.view().col_range(0, d));
    }
  });
  pool_.for_tiles(n, [&](size_t i, size_t) {
    std::fill_n(y.row_ptr(i), width, 0.0);
    for (const Matrix<double>& sum : sums_)
      for (size_t j = 0; j < width; j++) y(i, j) += sum(i, j);
    for (size_t j = 0; j < factors.size(); j++) y(i, j) *= static_cast<double>(factors[j]);
  });
}

Matrix<double> interaction(const LinearAlgebra& linalg, const GluLayerView& layer, const ProductWeights& q) {
  Matrix<double> out(layer.width(), layer.width()), scratch;
  InteractionBuilder(linalg, layer).build(q, out, scratch);
  return out;
}

std::vector<Spectrum> interaction_spectra(const LayerReader& reader, ConstMatrixView<double> q,
                                          ConstMatrixView<double> s, double gap) {
  assert(q.cols() == reader.layer.hidden());
  const InteractionBuilder builder(reader.linalg, reader.layer);
  std::vector<Matrix<double>> scratch(reader.pool.size());
  return eigh_many(
      reader.linalg, reader.pool, q.rows(), reader.layer.width(),
      [&](size_t unit, size_t worker, MatrixView<double> out) {
        builder.build({q.row(unit), s.empty() ? std::span<const double>() : s.row(unit)}, out, scratch[worker]);
      },
      gap);
}

Features features(const LinearAlgebra& linalg, ConstMatrixView<double> vectors, const InputMap& input) {
  const size_t d = input.row_is_input ? input.matrix.cols() : input.matrix.rows();
  const size_t inputs = input.row_is_input ? input.matrix.rows() : input.matrix.cols();
  assert(vectors.cols() == d || vectors.cols() == d + 1);
  Features out{Matrix<double>(vectors.rows(), inputs), std::vector<double>(vectors.rows())};
  linalg.gemm(Op::plain, input.row_is_input ? Op::transposed : Op::plain, 1.0, vectors.col_range(0, d),
              widen(input.matrix, {}, input.matrix.cols()), 0.0, out.maps);
  for (size_t k = 0; k < vectors.rows(); k++) {
    if (!input.bias.empty()) out.offsets[k] = dot(input.bias.data(), {}, vectors.row_ptr(k), d);
    if (vectors.cols() > d) out.offsets[k] += vectors(k, d);
  }
  return out;
}

}  // namespace glint

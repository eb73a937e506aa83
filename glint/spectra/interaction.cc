#include "glint/spectra/interaction.h"

#include <algorithm>
#include <array>

namespace glint {
namespace {

constexpr size_t kLanes = 8;  // partial sums that the compiler can keep in vector registers, in a fixed order

double dot(const float* a, const double* x, size_t n) {
  std::array<double, kLanes> sum{};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (size_t j = 0; j < kLanes; j++) sum[j] += static_cast<double>(a[i + j]) * x[i + j];
  for (size_t j = 0; i < n; i++, j++) sum[j] += static_cast<double>(a[i]) * x[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

float bias_at(std::span<const float> bias, size_t h) { return bias.empty() ? 0.0f : bias[h]; }

Matrix<double> widen(ConstMatrixView<float> m, std::span<const float> bias, size_t width) {
  Matrix<double> out(m.rows(), width);
  for (size_t r = 0; r < m.rows(); r++) {
    std::copy_n(m.row_ptr(r), m.cols(), out.view().row_ptr(r));
    if (width > m.cols()) out(r, m.cols()) = bias_at(bias, r);
  }
  return out;
}

[[noreturn]] void bad_shape(const std::string& where, const std::string& what, const std::string& expected) {
  throw Error({.code = ErrorCode::bad_file, .what = what, .where = where, .expected = expected});
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
    bad_shape(where, "the linear half has the shape " + shape(layer.right.rows(), layer.right.cols()),
              shape(h, d) + ", as the gated half");
  for (const std::span<const float> bias : {layer.bias_left, layer.bias_right})
    if (!bias.empty() && bias.size() != h)
      bad_shape(where, "a bias has " + std::to_string(bias.size()) + " entries",
                std::to_string(h) + ", one per hidden unit");
}

PreActivation pre_activation(const GluLayerView& layer, size_t h, std::span<const double> x) {
  assert(x.size() == layer.inputs() || x.size() == layer.width());
  const size_t d = layer.inputs();
  const double one = x.size() > d ? x[d] : 1.0;
  return {dot(layer.left.row_ptr(h), x.data(), d) + one * bias_at(layer.bias_left, h),
          dot(layer.right.row_ptr(h), x.data(), d) + one * bias_at(layer.bias_right, h)};
}

Matrix<double> hidden_weights(const LinearAlgebra& linalg, ConstMatrixView<double> directions,
                              ConstMatrixView<float> projection) {
  Matrix<double> out(directions.rows(), projection.cols());
  linalg.gemm(Op::plain, Op::plain, 1.0, directions, widen(projection, {}, projection.cols()), 0.0, out);
  return out;
}

Matrix<double> hidden_weights(ConstMatrixView<float> directions) {
  return widen(directions, {}, directions.cols());
}

InteractionBuilder::InteractionBuilder(const LinearAlgebra& linalg, const GluLayerView& layer)
    : linalg_(linalg),
      left_(widen(layer.left, layer.bias_left, layer.width())),
      right_(widen(layer.right, layer.bias_right, layer.width())) {}

void InteractionBuilder::build(std::span<const double> q, MatrixView<double> out,
                               Matrix<double>& scratch) const {
  assert(q.size() == hidden());
  if (scratch.rows() != hidden() || scratch.cols() != width()) scratch = Matrix<double>(hidden(), width());
  for (size_t h = 0; h < hidden(); h++) {
    const double* from = right_.view().row_ptr(h);
    double* to = scratch.view().row_ptr(h);
    for (size_t i = 0; i < width(); i++) to[i] = q[h] * from[i];
  }
  linalg_.gemm(Op::transposed, Op::plain, 1.0, left_, scratch, 0.0, out);
  symmetrise(out);
}

namespace {

// Hidden units that are widened together: two tiles of them at width 4096 are 2 MB, an L2.
constexpr size_t kUnits = 32;
// Parts of the hidden units that are summed by themselves: enough for many threads, and fixed.
constexpr size_t kParts = 32;

void widen_rows(ConstMatrixView<float> m, std::span<const float> bias, size_t first, MatrixView<double> out) {
  for (size_t r = 0; r < out.rows(); r++) {
    std::copy_n(m.row_ptr(first + r), m.cols(), out.row_ptr(r));
    if (out.cols() > m.cols()) out(r, m.cols()) = bias_at(bias, first + r);
  }
}

}  // namespace

struct InteractionOperator::Memory {
  Matrix<double> left, right;  // [kUnits, w]: rows of the weights
  Matrix<double> l, r;         // [n, kUnits]: their products with x
};

InteractionOperator::InteractionOperator(const LinearAlgebra& linalg, ThreadPool& pool,
                                         const GluLayerView& layer)
    : linalg_(linalg), pool_(pool), layer_(layer) {
  const size_t blocks = (layer.hidden() + kUnits - 1) / kUnits;
  sums_.resize(std::min(kParts, blocks));
  for (size_t i = 0; i < pool.size(); i++) memory_.push_back(std::make_unique<Memory>());
}

InteractionOperator::~InteractionOperator() = default;

void InteractionOperator::apply(std::span<const double> q, ConstMatrixView<double> x, MatrixView<double> y) {
  const size_t hidden = layer_.hidden(), width = layer_.width(), n = x.rows();
  assert(q.size() == hidden && x.cols() == width && y.cols() == width && n == y.rows());
  const size_t blocks = (hidden + kUnits - 1) / kUnits;
  pool_.for_tiles(sums_.size(), [&](size_t part, size_t worker) {
    Memory& m = *memory_[worker];
    if (m.left.cols() != width)
      m.left = Matrix<double>(kUnits, width), m.right = Matrix<double>(kUnits, width);
    if (m.l.rows() != n) m.l = Matrix<double>(n, kUnits), m.r = Matrix<double>(n, kUnits);
    Matrix<double>& sum = sums_[part];
    if (sum.rows() != n || sum.cols() != width) sum = Matrix<double>(n, width);
    std::fill_n(sum.data(), sum.size(), 0.0);
    for (size_t block = part * blocks / sums_.size(); block < (part + 1) * blocks / sums_.size(); block++) {
      const size_t first = block * kUnits, units = std::min(kUnits, hidden - first);
      const MatrixView<double> left = m.left.view().row_range(0, units),
                               right = m.right.view().row_range(0, units), l = m.l.view().col_range(0, units),
                               r = m.r.view().col_range(0, units);
      widen_rows(layer_.left, layer_.bias_left, first, left);
      widen_rows(layer_.right, layer_.bias_right, first, right);
      linalg_.gemm(Op::plain, Op::transposed, 0.5, x, left, 0.0, l);
      linalg_.gemm(Op::plain, Op::transposed, 0.5, x, right, 0.0, r);
      for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < units; h++) l(i, h) *= q[first + h], r(i, h) *= q[first + h];
      linalg_.gemm(Op::plain, Op::plain, 1.0, r, left, 1.0, sum);
      linalg_.gemm(Op::plain, Op::plain, 1.0, l, right, 1.0, sum);
    }
  });
  pool_.for_tiles(n, [&](size_t i, size_t) {
    std::fill_n(y.row_ptr(i), width, 0.0);
    for (const Matrix<double>& sum : sums_)
      for (size_t j = 0; j < width; j++) y(i, j) += sum(i, j);
  });
}

Matrix<double> interaction(const LinearAlgebra& linalg, const GluLayerView& layer,
                           std::span<const double> q) {
  Matrix<double> out(layer.width(), layer.width()), scratch;
  InteractionBuilder(linalg, layer).build(q, out, scratch);
  return out;
}

std::vector<Spectrum> interaction_spectra(const LinearAlgebra& linalg, ThreadPool& pool,
                                          const GluLayerView& layer, ConstMatrixView<double> q, double gap) {
  assert(q.cols() == layer.hidden());
  const InteractionBuilder builder(linalg, layer);
  std::vector<Matrix<double>> scratch(pool.size());
  return eigh_many(
      linalg, pool, q.rows(), layer.width(),
      [&](size_t unit, size_t worker, MatrixView<double> out) {
        builder.build(q.row(unit), out, scratch[worker]);
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
    if (!input.bias.empty()) out.offsets[k] = dot(input.bias.data(), vectors.row_ptr(k), d);
    if (vectors.cols() > d) out.offsets[k] += vectors(k, d);
  }
  return out;
}

}  // namespace glint

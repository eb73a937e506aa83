#include "glint/spectra/lanczos.h"

#include <algorithm>
#include <cmath>

#include "glint/base/rng.h"

namespace glint {
namespace {

constexpr size_t kBlock = 8;           // directions added at once: a pass over the weights serves them all
constexpr double kDependent = 1e-10;   // of its length left after orthogonalisation: nothing new in it
constexpr uint64_t kStartSeed = 4096;  // any fixed number

double norm(std::span<const double> v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

// An orthonormal basis V and Q V, rows being vectors, of which the first `size` are in use.
class Basis {
 public:
  Basis(const LinearAlgebra& linalg, const ApplySymmetric& apply, size_t capacity, size_t width)
      : linalg_(linalg), apply_(apply), v_(capacity, width), qv_(capacity, width), h_(capacity, capacity) {}

  size_t size() const { return size_; }
  size_t capacity() const { return v_.rows(); }
  size_t products() const { return products_; }

  // Adds what the rows of x have outside the span, as far as there is room; the number of vectors added.
  size_t add(Matrix<double> x) {
    size_t rows = keep_independent(x, x.rows());
    for (int pass = 0; pass < 2 && rows > 0;
         pass++) {  // the second removes what cancellation left of the first
      const MatrixView<double> block = x.view().row_range(0, rows);
      Matrix<double> inside(rows, size_);
      linalg_.gemm(Op::plain, Op::transposed, 1.0, block, used(v_), 0.0, inside);
      linalg_.gemm(Op::plain, Op::plain, -1.0, inside, used(v_), 1.0, block);
      rows = keep_independent(x, rows);
    }
    rows = std::min(rows, capacity() - size_);
    if (rows == 0) return 0;
    const MatrixView<double> fresh = v_.view().row_range(size_, rows),
                             product = qv_.view().row_range(size_, rows);
    std::copy_n(x.data(), rows * x.cols(), fresh.data());
    apply_(fresh, product);
    products_ += rows;
    size_ += rows;
    Matrix<double> h(rows, size_);
    linalg_.gemm(Op::plain, Op::transposed, 1.0, product, used(v_), 0.0, h);
    for (size_t i = 0; i < rows; i++) {
      if (!std::isfinite(norm(product.row(i))))
        throw Error(
            {.code = ErrorCode::numeric,
             .what = "a product with the matrix to decompose is not finite",
             .hint = "the weights hold NaN or infinity: the training diverged or the file is damaged"});
      for (size_t j = 0; j < size_; j++) h_(size_ - rows + i, j) = h_(j, size_ - rows + i) = h(i, j);
    }
    return rows;
  }

  size_t add_random(size_t count) {
    Matrix<double> x(count, v_.cols());
    const Rng rng(kStartSeed, Stream::sample, draws_++);
    for (size_t i = 0; i < x.size(); i++) x.data()[i] = rng.normal(i);
    return add(std::move(x));
  }

  Spectrum ritz() const { return eigh(linalg_, h_.view().row_range(0, size_).col_range(0, size_), 0.0); }

  // Rows of y are coefficients: y V and y Q V.
  Matrix<double> combine(ConstMatrixView<double> y, bool of_product) const {
    Matrix<double> out(y.rows(), v_.cols());
    linalg_.gemm(Op::plain, Op::plain, 1.0, y, used(of_product ? qv_ : v_), 0.0, out);
    return out;
  }

  // Keeps only the span of the rows of y V, which are Ritz vectors of the values theta.
  void shrink(ConstMatrixView<double> y, std::span<const double> theta) {
    const Matrix<double> v = combine(y, false), qv = combine(y, true);
    std::copy_n(v.data(), v.size(), v_.data());
    std::copy_n(qv.data(), qv.size(), qv_.data());
    size_ = y.rows();
    for (size_t i = 0; i < size_; i++)
      for (size_t j = 0; j < size_; j++) h_(i, j) = i == j ? theta[i] : 0.0;
  }

 private:
  ConstMatrixView<double> used(const Matrix<double>& m) const { return m.view().row_range(0, size_); }

  // Makes the first rows of x orthonormal among themselves and moves those that depend on the others out of
  // the way; the number that is left.
  static size_t keep_independent(Matrix<double>& x, size_t rows) {
    size_t kept = 0;
    for (size_t r = 0; r < rows; r++) {
      const std::span<double> row = x.view().row(r);
      const double before = norm(row);
      for (size_t i = 0; i < kept; i++) {
        const std::span<const double> other = x.view().row(i);
        double c = 0;
        for (size_t j = 0; j < row.size(); j++) c += other[j] * row[j];
        for (size_t j = 0; j < row.size(); j++) row[j] -= c * other[j];
      }
      const double left = norm(row);
      if (!(left > kDependent * before) || !(before > kDependent)) continue;
      const std::span<double> to = x.view().row(kept++);
      for (size_t j = 0; j < row.size(); j++) to[j] = row[j] / left;
    }
    return kept;
  }

  const LinearAlgebra& linalg_;
  const ApplySymmetric& apply_;
  Matrix<double> v_, qv_;
  Matrix<double> h_;  // V Q V'
  size_t size_ = 0, products_ = 0;
  uint32_t draws_ = 0;
};

// Indices into descending values, what is wanted first.
std::vector<uint32_t> wanted_order(std::span<const double> values, TopBy by) {
  if (by == TopBy::magnitude) return order_by_magnitude(values);
  std::vector<uint32_t> order;
  for (size_t top = 0, bottom = values.size(); top < bottom;) {
    order.push_back(static_cast<uint32_t>(top++));
    if (top < bottom) order.push_back(static_cast<uint32_t>(--bottom));
  }
  return order;
}

Matrix<double> rows_of(const Matrix<double>& m, std::span<const uint32_t> rows) {
  Matrix<double> out(rows.size(), m.cols());
  for (size_t i = 0; i < rows.size(); i++)
    std::copy_n(m.view().row_ptr(rows[i]), m.cols(), out.view().row_ptr(i));
  return out;
}

std::vector<double> values_of(std::span<const double> values, std::span<const uint32_t> rows) {
  std::vector<double> out;
  for (uint32_t r : rows) out.push_back(values[r]);
  return out;
}

// Ritz pairs of chosen indices, and the directions in which those that have not converged are wrong.
struct Ritz {
  std::vector<double> values;
  Matrix<double> vectors;
  Matrix<double> residuals;  // [at most kBlock, width], each of length 1
};

Ritz ritz_pairs(const Basis& basis, const Spectrum& small, std::span<const uint32_t> chosen,
                double tolerance) {
  const Matrix<double> y = rows_of(small.vectors, chosen);
  Ritz out{values_of(small.values, chosen), basis.combine(y, false), {}};
  Matrix<double> r = basis.combine(y, true);
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < chosen.size(); i++) {
    const std::span<double> row = r.view().row(i);
    for (size_t j = 0; j < row.size(); j++) row[j] -= out.values[i] * out.vectors(i, j);
    const double length = norm(row);
    if (length <= tolerance || open.size() == kBlock) continue;
    for (double& e : row) e /= length;
    open.push_back(i);
  }
  out.residuals = rows_of(r, open);
  return out;
}

}  // namespace

Spectrum top_eigenpairs(const LinearAlgebra& linalg, const ApplySymmetric& apply, size_t width, size_t k,
                        const LanczosOptions& options) {
  k = std::min(k, width);
  if (k == 0) return {{}, Matrix<double>(0, width), {}};
  const size_t keep = std::min(width, k + std::max(kBlock, k / 2));  // guards speed up the last wanted ones
  Basis basis(linalg, apply, std::min(width, std::max(2 * keep, keep + 10 * kBlock)), width);
  basis.add_random(std::max(k, kBlock));

  bool rechecked = false;
  for (;;) {
    const Spectrum small = basis.ritz();
    const double scale = std::max(std::fabs(small.values.front()), std::fabs(small.values.back()));
    const double tolerance = options.tolerance * scale;
    const std::vector<uint32_t> order = wanted_order(small.values, options.by);
    const std::span<const uint32_t> wanted(order.data(), std::min(k, order.size()));
    Ritz top = ritz_pairs(basis, small, wanted, tolerance);
    const bool converged = wanted.size() == k && top.residuals.rows() == 0;
    if (wanted.size() == k && (basis.size() == width || (converged && rechecked)))
      return canonical(top.values, top.vectors, scale, options.gap);
    if (basis.products() > options.max_products)
      throw Error({.code = ErrorCode::numeric,
                   .what = "the " + std::to_string(k) + " strongest eigenpairs did not converge in " +
                           std::to_string(basis.products()) + " products",
                   .hint = "ask for a few more or fewer: neighbours that are nearly equal separate slowly"});

    if (basis.size() + kBlock > basis.capacity() && basis.capacity() < width) {
      const std::span<const uint32_t> kept(order.data(), std::min(keep, order.size()));
      basis.shrink(rows_of(small.vectors, kept), values_of(small.values, kept));
    }
    rechecked = converged;
    if (!converged) {
      if (basis.add(std::move(top.residuals)) == 0) basis.add_random(kBlock);
      continue;
    }
    // Look once more where the start directions may have been blind, and let what that brings in grow for a
    // sweep.
    basis.add_random(kBlock);
    for (size_t added = kBlock; added > 0 && basis.size() + kBlock <= basis.capacity();) {
      const Spectrum again = basis.ritz();
      const std::vector<uint32_t> rest = wanted_order(again.values, options.by);
      Ritz next = ritz_pairs(basis, again, std::span(rest).subspan(k), tolerance);
      added = basis.add(std::move(next.residuals));
    }
  }
}

Spectrum top_interaction(const LinearAlgebra& linalg, ThreadPool& pool, const GluLayerView& layer,
                         std::span<const double> q, size_t k, const LanczosOptions& options) {
  InteractionOperator q_times(linalg, pool, layer);
  return top_eigenpairs(
      linalg, [&](ConstMatrixView<double> x, MatrixView<double> y) { q_times.apply(q, x, y); }, layer.width(),
      k, options);
}

}  // namespace glint

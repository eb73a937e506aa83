#include "glint/spectra/lanczos.h"

#include <algorithm>
#include <cmath>

#include "glint/base/rng.h"

namespace glint {
namespace {

constexpr size_t kBlock = 4;           // directions added at once: sees up to four-fold eigenvalues at once
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

  // Adds a direction unless it lies in the span. A random one always has something new while there is room.
  bool add(std::vector<double> x) {
    const size_t n = v_.cols();
    const double before = norm(x);
    if (size_ == capacity() || !(before > 0)) return false;
    for (double& e : x) e /= before;
    for (int pass = 0; pass < 3; pass++) {  // the second pass removes what cancellation left of the first
      const double length = norm(x);
      for (size_t i = 0; i < size_; i++) {
        const double* v = v_.view().row_ptr(i);
        double c = 0;
        for (size_t j = 0; j < n; j++) c += v[j] * x[j];
        for (size_t j = 0; j < n; j++) x[j] -= c * v[j];
      }
      const double left = norm(x);
      if (!(left > kDependent * length)) return false;
      for (double& e : x) e /= left;
    }
    std::copy(x.begin(), x.end(), v_.view().row_ptr(size_));
    const std::span<double> product = qv_.view().row(size_);
    apply_(x, product);
    products_++;
    for (size_t i = 0; i <= size_; i++) {
      const double* v = v_.view().row_ptr(i);
      double c = 0;
      for (size_t j = 0; j < n; j++) c += v[j] * product[j];
      h_(i, size_) = h_(size_, i) = c;
    }
    if (!std::isfinite(norm(product)))
      throw Error({.code = ErrorCode::numeric,
                   .what = "a product with the matrix to decompose is not finite",
                   .hint = "the weights hold NaN or infinity: the training diverged or the file is damaged"});
    size_++;
    return true;
  }

  bool add_random() {
    std::vector<double> x(v_.cols());
    const Rng rng(kStartSeed, Stream::sample, draws_++);
    for (size_t i = 0; i < x.size(); i++) x[i] = rng.normal(i);
    return add(std::move(x));
  }

  Spectrum ritz() const {
    return eigh(linalg_, ConstMatrixView<double>(h_.data(), size_, size_, h_.cols()), 0.0);
  }

  // Rows of y are coefficients: y V and y Q V.
  Matrix<double> combine(ConstMatrixView<double> y, bool of_product) const {
    Matrix<double> out(y.rows(), v_.cols());
    linalg_.gemm(Op::plain, Op::plain, 1.0, y, (of_product ? qv_ : v_).view().row_range(0, size_), 0.0, out);
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

}  // namespace

Spectrum top_eigenpairs(const LinearAlgebra& linalg, const ApplySymmetric& apply, size_t width, size_t k,
                        const LanczosOptions& options) {
  k = std::min(k, width);
  if (k == 0) return {{}, Matrix<double>(0, width), {}};
  const size_t keep =
      std::min(width, k + std::max<size_t>(8, k / 2));  // guards speed up the last wanted ones
  Basis basis(linalg, apply, std::min(width, std::max<size_t>(2 * keep, keep + 10 * kBlock)), width);
  for (size_t i = 0; i < std::max(k, kBlock) && i < basis.capacity(); i++) basis.add_random();

  bool rechecked = false;
  for (;;) {
    const Spectrum ritz = basis.ritz();
    const std::vector<uint32_t> order = wanted_order(ritz.values, options.by);
    const double scale = std::max(std::fabs(ritz.values.front()), std::fabs(ritz.values.back()));
    const std::span<const uint32_t> wanted(order.data(), std::min(k, order.size()));
    const Matrix<double> y = rows_of(ritz.vectors, wanted);
    Matrix<double> vectors = basis.combine(y, false);
    const Matrix<double> products = basis.combine(y, true);

    std::vector<std::vector<double>> residuals;
    for (size_t i = 0; i < wanted.size(); i++) {
      std::vector<double> r(width);
      for (size_t j = 0; j < width; j++) r[j] = products(i, j) - ritz.values[wanted[i]] * vectors(i, j);
      if (!(norm(r) <= options.tolerance * scale)) residuals.push_back(std::move(r));
    }
    const bool whole_space = basis.size() == width;
    if (wanted.size() == k && (whole_space || (residuals.empty() && rechecked)))
      return canonical(values_of(ritz.values, wanted), vectors, scale, options.gap);
    if (basis.products() > options.max_products)
      throw Error({.code = ErrorCode::numeric,
                   .what = "the " + std::to_string(k) + " strongest eigenpairs did not converge in " +
                           std::to_string(basis.products()) + " products",
                   .hint = "ask for a few more or fewer: neighbours that are nearly equal separate slowly"});

    if (basis.size() + kBlock > basis.capacity() && basis.capacity() < width) {
      const std::span<const uint32_t> kept(order.data(), std::min(keep, order.size()));
      basis.shrink(rows_of(ritz.vectors, kept), values_of(ritz.values, kept));
    }
    if (residuals.empty()) {
      // Converged: look once more where the start directions may have been blind, and let what that brings in
      // grow for a whole sweep.
      rechecked = true;
      for (size_t i = 0; i < kBlock; i++) basis.add_random();
      while (basis.size() + kBlock <= basis.capacity()) {
        const size_t before = basis.size();
        const Spectrum again = basis.ritz();
        const std::vector<uint32_t> next = wanted_order(again.values, options.by);
        const Matrix<double> rows = rows_of(again.vectors, next);
        const Matrix<double> v = basis.combine(rows, false), qv = basis.combine(rows, true);
        for (size_t i = k; i < next.size() && basis.size() < before + kBlock; i++) {
          std::vector<double> r(width);
          for (size_t j = 0; j < width; j++) r[j] = qv(i, j) - again.values[next[i]] * v(i, j);
          if (norm(r) > options.tolerance * scale) basis.add(std::move(r));
        }
        if (basis.size() == before) break;
      }
      continue;
    }
    rechecked = false;
    size_t added = 0;
    for (size_t i = 0; i < residuals.size() && added < kBlock; i++)
      added += basis.add(std::move(residuals[i]));
    if (added == 0) basis.add_random();
  }
}

Spectrum top_interaction(const LinearAlgebra& linalg, const GluLayerView& layer, std::span<const double> q,
                         size_t k, const LanczosOptions& options) {
  return top_eigenpairs(
      linalg, [&](std::span<const double> x, std::span<double> y) { apply_interaction(layer, q, x, y); },
      layer.width(), k, options);
}

}  // namespace glint

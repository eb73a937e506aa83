#include "glint/spectra/lanczos.h"

#include <algorithm>
#include <cmath>

#include "glint/base/rng.h"
#include "glint/nn/compute.h"

namespace glint {
namespace {

// Vectors of a block: as many as a pass over the weights serves for nothing. Each one more makes the
// polynomials of the Krylov space shorter.
constexpr size_t kBlock = 4;
// What is left of a vector that lies in the span of others, relative to the block: rounding.
constexpr double kDependent = 1e-13;
constexpr double kLeft = 0.1;          // of its length: an orthogonalisation that left more was accurate
constexpr size_t kBlindSteps = 8;      // blocks from fresh directions, before nothing new is believed
constexpr uint64_t kStartSeed = 4096;  // any fixed number
constexpr size_t kTileVectors = 32, kTileColumns = 512;

double norm(std::span<const double> v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}

double dot_rows(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t j = 0; j < a.size(); j++) sum += a[j] * b[j];
  return sum;
}

Matrix<double> rows_of(const Matrix<double>& m, std::span<const uint32_t> rows) {
  Matrix<double> out(rows.size(), m.cols());
  for (size_t i = 0; i < rows.size(); i++) std::copy_n(m.view().row_ptr(rows[i]), m.cols(), out.view().row_ptr(i));
  return out;
}

std::vector<double> values_of(std::span<const double> values, std::span<const uint32_t> rows) {
  std::vector<double> out;
  for (uint32_t r : rows) out.push_back(values[r]);
  return out;
}

// The Krylov space: the rows V, and behind them the block that comes next.
class Krylov {
 public:
  Krylov(const LinearAlgebra& linalg, ThreadPool& pool, const ApplySymmetric& apply, size_t capacity, size_t width)
      : linalg_(linalg), pool_(pool), apply_(apply), v_(capacity, width), h_(capacity, capacity) {
    append_random(kBlock);
  }

  size_t size() const { return size_; }
  size_t width() const { return v_.cols(); }
  size_t next() const { return next_; }
  size_t products() const { return products_; }
  bool complete() const { return size_ == width(); }
  bool full() const { return v_.rows() < width() && size_ + 2 * next_ > v_.rows(); }

  // Takes the next block into the basis, and makes the one after it from its products.
  void advance() {
    const size_t rows = next_, first = size_;
    Matrix<double> product(rows, width());
    apply_(next_block(), product);
    products_ += rows;
    double largest = 0;
    for (size_t i = 0; i < rows; i++) {
      const double length = norm(product.view().row(i));
      if (!std::isfinite(length))
        throw Error({.code = ErrorCode::numeric,
                     .what = "a product with the matrix to decompose is not finite",
                     .hint = "the weights hold NaN or infinity: the training diverged or the file is damaged"});
      largest = std::max(largest, length);
    }
    size_ += rows, next_ = 0;
    Matrix<double> left = product, inside(rows, size_);
    // Once a block has followed another, the products have their large parts in these two; the rest of the
    // basis then takes rounding away, and nothing more.
    if (tail_ > 0) project(left, {first - tail_, tail_ + rows}, inside);
    append(std::move(left), kDependent * largest, inside);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < size_; j++) h_(first + i, j) = h_(j, first + i) = inside(i, j);
    tail_ = rows;
    if (next_ < kBlock) append_random(kBlock - next_);
    coupling_ = Matrix<double>(rows, next_);
    linalg_.dots(product, next_block(), coupling_);
  }

  // Directions that no product has led to, behind the next block or in its place.
  void append_random(size_t count, bool in_place = false) {
    if (in_place) next_ = 0;
    const size_t taken = size_ + next_;
    Matrix<double> x(std::min({count, width() - taken, v_.rows() - taken}), width());
    const Rng rng(kStartSeed, Stream::sample, draws_++);
    for (size_t i = 0; i < x.size(); i++) x.data()[i] = rng.normal(i);
    append(std::move(x), 0, {});
  }

  Spectrum ritz() const { return eigh(linalg_, h_.view().row_range(0, size_).col_range(0, size_), 0.0); }

  // |Q v - theta v| of the Ritz vector v = y V.
  double residual(std::span<const double> y) const {
    std::vector<double> outside(coupling_.cols());
    for (size_t i = 0; i < coupling_.rows(); i++)
      for (size_t j = 0; j < outside.size(); j++) outside[j] += y[size_ - tail_ + i] * coupling_(i, j);
    return norm(outside);
  }

  // Rows of y are coefficients: y V.
  Matrix<double> combine(ConstMatrixView<double> y) const {
    Matrix<double> out(y.rows(), width());
    for_columns([&](size_t from, size_t columns) {
      linalg_.gemm(Op::plain, Op::plain, 1.0, y, v_.view().row_range(0, size_).col_range(from, columns), 0.0,
                   out.view().col_range(from, columns));
    });
    return out;
  }

  // Keeps only the span of the rows of y V, which are Ritz vectors of the values theta, and the next block.
  void shrink(ConstMatrixView<double> y, std::span<const double> theta) {
    const Matrix<double> v = combine(y);
    assert(y.rows() <= size_);
    std::copy_n(next_block().data(), next_ * width(), v_.view().row_ptr(y.rows()));
    size_ = y.rows();
    std::copy_n(v.data(), v.size(), v_.data());
    for (size_t i = 0; i < size_; i++)
      for (size_t j = 0; j < size_; j++) h_(i, j) = i == j ? theta[i] : 0.0;
    tail_ = 0;
  }

 private:
  ConstMatrixView<double> next_block() const { return v_.view().row_range(size_, next_); }

  // Takes from the rows of x what they have in some rows of the basis, and adds it to `inside`.
  void project(MatrixView<double> x, Range basis, MatrixView<double> inside) const {
    const ConstMatrixView<double> v = v_.view().row_range(basis.first, basis.count);
    Matrix<double> c(x.rows(), basis.count);
    pool_.for_tiles((basis.count + kTileVectors - 1) / kTileVectors, [&](size_t tile, size_t) {
      const size_t from = tile * kTileVectors, rows = std::min(kTileVectors, basis.count - from);
      linalg_.dots(x, v.row_range(from, rows), c.view().col_range(from, rows));
    });
    for (size_t i = 0; i < x.rows(); i++)
      for (size_t j = 0; j < basis.count; j++) {
        if (!inside.empty()) inside(i, basis.first + j) += c(i, j);
        c(i, j) = -c(i, j);
      }
    for_columns([&](size_t from, size_t columns) {
      linalg_.add_rows(c, v.col_range(from, columns), x.col_range(from, columns));
    });
  }

  void for_columns(const auto& body) const {
    pool_.for_tiles((width() + kTileColumns - 1) / kTileColumns, [&](size_t tile, size_t) {
      const size_t from = tile * kTileColumns;
      body(from, std::min(kTileColumns, width() - from));
    });
  }

  // Puts what the rows of x have outside the basis behind it, orthonormal. Rows of which less than `least` is
  // outside are left out. What they have inside is added to `inside`, unless that is empty.
  void append(Matrix<double> x, double least, MatrixView<double> inside) {
    size_t rows = x.rows();
    for (bool accurate = false; rows > 0 && !accurate;) {
      const MatrixView<double> block = x.view().row_range(0, rows);
      std::vector<double> before;
      for (size_t i = 0; i < rows; i++) before.push_back(norm(block.row(i)));
      project(block, {0, size_ + next_}, inside);
      rows = make_orthonormal(block, before, least, accurate);
      least = kDependent, inside = {};  // their lengths are 1 now
    }
    rows = std::min(rows, v_.rows() - size_ - next_);
    std::copy_n(x.data(), rows * width(), v_.view().row_ptr(size_ + next_));
    next_ += rows;
  }

  // The rows that are left. Accurate: none of them lost much of its length, so that it lost no digits either.
  static size_t make_orthonormal(MatrixView<double> x, std::span<const double> before, double least, bool& accurate) {
    accurate = true;
    size_t kept = 0;
    for (size_t r = 0; r < x.rows(); r++) {
      const std::span<double> row = x.row(r);
      for (size_t i = 0; i < kept; i++) {
        const double c = dot_rows(x.row(i), row);
        for (size_t j = 0; j < row.size(); j++) row[j] -= c * x(i, j);
      }
      const double left = norm(row);
      if (!(left > least) || !(left > kDependent * before[r])) continue;
      accurate = accurate && left > kLeft * before[r];
      const std::span<double> to = x.row(kept++);
      for (size_t j = 0; j < row.size(); j++) to[j] = row[j] / left;
    }
    return kept;
  }

  const LinearAlgebra& linalg_;
  ThreadPool& pool_;
  const ApplySymmetric& apply_;
  Matrix<double> v_;
  Matrix<double> h_;         // V Q V'
  Matrix<double> coupling_;  // B [tail, next]
  size_t size_ = 0, next_ = 0, tail_ = 0, products_ = 0;
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

// What has converged, and is believed when more directions find nothing stronger. The values tell: when they
// have copies, the vectors found later mix with those of before.
struct Found {
  std::vector<double> values;
  Matrix<double> vectors;

  bool is_still(std::span<const double> later, double tolerance) const {
    const auto strengths = [](std::span<const double> v) {
      std::vector<double> out;
      for (const double x : v) out.push_back(std::fabs(x));
      std::ranges::sort(out);
      return out;
    };
    return !values.empty() && std::ranges::equal(strengths(values), strengths(later),
                                                 [&](double a, double b) { return std::fabs(a - b) <= tolerance; });
  }
};

// Grows the basis to `size` vectors, or as far as there is room.
void grow(Krylov& krylov, size_t size) {
  while (krylov.size() < size && !krylov.full() && !krylov.complete()) krylov.advance();
}

}  // namespace

Spectrum top_eigenpairs(const LinearAlgebra& linalg, ThreadPool& pool, const ApplySymmetric& apply, size_t width,
                        size_t k, const LanczosOptions& options) {
  k = std::min(k, width);
  if (k == 0) return {{}, Matrix<double>(0, width), {}};
  const size_t room = std::max({width / 5, 6 * k, k + 24 * kBlock});
  Krylov krylov(linalg, pool, apply, std::min(width, room), width);

  Found found;
  grow(krylov, 2 * k + 4 * kBlock);
  for (;;) {
    const Spectrum small = krylov.ritz();
    const double scale = std::max(std::fabs(small.values.front()), std::fabs(small.values.back()));
    const double tolerance = options.tolerance * scale;
    const std::vector<uint32_t> order = wanted_order(small.values, options.by);
    const std::span<const uint32_t> wanted(order.data(), std::min(k, order.size()));
    const std::vector<double> values = values_of(small.values, wanted);
    if (found.is_still(values, tolerance)) return canonical(found.values, found.vectors, scale, options.gap);
    const bool converged = wanted.size() == k && std::ranges::all_of(wanted, [&](uint32_t i) {
                             return krylov.residual(small.vectors.view().row(i)) <= tolerance;
                           });
    found = converged || krylov.complete() ? Found{values, krylov.combine(rows_of(small.vectors, wanted))} : Found();
    if (krylov.complete()) return canonical(found.values, found.vectors, scale, options.gap);
    if (krylov.products() > options.max_products)
      throw Error({.code = ErrorCode::numeric,
                   .what = "the " + std::to_string(k) + " strongest eigenpairs did not converge in " +
                           std::to_string(krylov.products()) + " products",
                   .hint = "ask for a few more or fewer: neighbours that are nearly equal separate slowly"});
    const auto shrink_to = [&](size_t count) {
      const std::span<const uint32_t> kept(order.data(), std::min(count, order.size()));
      krylov.shrink(rows_of(small.vectors, kept), values_of(small.values, kept));
    };
    const size_t keep = std::max(k + k / 2, room / 3);  // guards speed up the last wanted ones
    if (!converged) {
      if (krylov.full()) shrink_to(keep);
      grow(krylov, krylov.size() + std::max(8 * kBlock, krylov.size() / 8));
      continue;
    }
    // Looks once more where the start may have been blind: beside what has not converged, or in its place
    // when it has been done often and the block is large.
    const bool large = krylov.next() >= 8 * kBlock;
    shrink_to(large ? k : keep);
    krylov.append_random(kBlock, large);
    grow(krylov, krylov.size() + kBlindSteps * krylov.next());
  }
}

Spectrum top_interaction(const LayerReader& reader, const ProductWeights& q, size_t k, const LanczosOptions& options) {
  InteractionOperator q_times(reader);
  return top_eigenpairs(
      reader.linalg, reader.pool, [&](ConstMatrixView<double> x, MatrixView<double> y) { q_times.apply(q, x, y); },
      reader.layer.width(), k, options);
}

}  // namespace glint

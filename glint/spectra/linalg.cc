#include "glint/spectra/linalg.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <limits>

#include "glint/spectra/openblas.h"

namespace glint {
namespace {

int blas_int(size_t n) {
  if (n > static_cast<size_t>(std::numeric_limits<int>::max()))
    throw Error({.what = "matrix with a side of " + std::to_string(n) + " is too large for LAPACK",
                 .expected = "at most 2147483647"});
  return static_cast<int>(n);
}

template <class T>
using EigenRows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using EigenView = Eigen::Map<const EigenRows<T>, 0, Eigen::OuterStride<>>;

template <class T>
EigenView<T> eigen_view(ConstMatrixView<T> m) {
  return {m.data(), static_cast<Eigen::Index>(m.rows()), static_cast<Eigen::Index>(m.cols()),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(m.stride()))};
}

template <class T>
void eigen_gemm(Op op_a, Op op_b, T alpha, ConstMatrixView<T> a, ConstMatrixView<T> b, T beta, MatrixView<T> c) {
  const EigenView<T> ea = eigen_view(a), eb = eigen_view(b);
  Eigen::Map<EigenRows<T>, 0, Eigen::OuterStride<>> ec(c.data(), static_cast<Eigen::Index>(c.rows()),
                                                       static_cast<Eigen::Index>(c.cols()),
                                                       Eigen::OuterStride<>(static_cast<Eigen::Index>(c.stride())));
  if (beta == T{0})
    ec.setZero();
  else
    ec *= beta;
  if (op_a == Op::plain && op_b == Op::plain) ec.noalias() += alpha * (ea * eb);
  if (op_a == Op::transposed && op_b == Op::plain) ec.noalias() += alpha * (ea.transpose() * eb);
  if (op_a == Op::plain && op_b == Op::transposed) ec.noalias() += alpha * (ea * eb.transpose());
  if (op_a == Op::transposed && op_b == Op::transposed) ec.noalias() += alpha * (ea.transpose() * eb.transpose());
}

[[noreturn]] void no_convergence(size_t n) {
  throw Error({.code = ErrorCode::numeric,
               .what = "the eigen-decomposition of a matrix of width " + std::to_string(n) + " did not converge"});
}

template <class T>
void blas_gemm(const OpenBlas& blas, Op op_a, Op op_b, T alpha, ConstMatrixView<T> a, ConstMatrixView<T> b, T beta,
               MatrixView<T> c) {
  // A row-major matrix is the transpose of a column-major one: compute c' = op(b)' op(a)'.
  const char ta = op_a == Op::plain ? 'N' : 'T', tb = op_b == Op::plain ? 'N' : 'T';
  const int m = blas_int(c.cols()), n = blas_int(c.rows()), k = blas_int(op_a == Op::plain ? a.cols() : a.rows());
  const int lda = blas_int(a.stride()), ldb = blas_int(b.stride()), ldc = blas_int(c.stride());
  blas.gemm(tb, ta, m, n, k, alpha, b.data(), ldb, a.data(), lda, beta, c.data(), ldc);
}

template <class T>
DoubleRows<T> double_rows(ConstMatrixView<double> vectors, ConstMatrixView<T> w) {
  return {.n = w.rows(), .k = w.cols(), .vectors = vectors.rows(), .w = w.data(), .w_row = w.stride()};
}

template <class T>
void check_gemm([[maybe_unused]] Op op_a, [[maybe_unused]] Op op_b, [[maybe_unused]] ConstMatrixView<T> a,
                [[maybe_unused]] ConstMatrixView<T> b, [[maybe_unused]] MatrixView<T> c) {
  assert(c.rows() == (op_a == Op::plain ? a.rows() : a.cols()));
  assert(c.cols() == (op_b == Op::plain ? b.cols() : b.rows()));
  assert((op_a == Op::plain ? a.cols() : a.rows()) == (op_b == Op::plain ? b.rows() : b.cols()));
}

}  // namespace

LinearAlgebra::LinearAlgebra(LinalgBackend backend, const CpuInfo& cpu, size_t threads)
    : kernels_(glint::kernels(cpu.best)) {
  if (backend == LinalgBackend::eigen) return;
  std::string problem;
  blas_ = OpenBlas::open(cpu, threads, problem);
  if (!problem.empty()) note_ = problem + "; computing with Eigen, whose last digits differ";
  if (!blas_ && backend == LinalgBackend::openblas && !problem.empty())
    throw Error(
        {.what = problem, .expected = "a larger limit on memory (ulimit -v), or Eigen", .hint = "fewer threads"});
  if (!blas_ && backend == LinalgBackend::openblas)
    throw Error({.what = "OpenBLAS could not be opened",
                 .where = std::string(OpenBlas::library()),
                 .expected = "a shared library with LAPACK and 32-bit integers",
                 .hint = "install libopenblas0-pthread"});
}

std::string LinearAlgebra::description() const {
  if (!blas_)
    return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
           std::to_string(EIGEN_MINOR_VERSION);
  return blas_->description();
}

void LinearAlgebra::gemm(Op op_a, Op op_b, double alpha, ConstMatrixView<double> a, ConstMatrixView<double> b,
                         double beta, MatrixView<double> c) const {
  check_gemm(op_a, op_b, a, b, c);
  if (c.empty()) return;
  if (!blas_ || a.empty()) return eigen_gemm(op_a, op_b, alpha, a, b, beta, c);
  blas_gemm(*blas_, op_a, op_b, alpha, a, b, beta, c);
}

void LinearAlgebra::gemm(Op op_a, Op op_b, float alpha, ConstMatrixView<float> a, ConstMatrixView<float> b, float beta,
                         MatrixView<float> c) const {
  check_gemm(op_a, op_b, a, b, c);
  if (c.empty()) return;
  if (!blas_ || a.empty()) return eigen_gemm(op_a, op_b, alpha, a, b, beta, c);
  blas_gemm(*blas_, op_a, op_b, alpha, a, b, beta, c);
}

void LinearAlgebra::dots(ConstMatrixView<double> x, ConstMatrixView<float> w, MatrixView<double> out) const {
  assert(x.cols() == w.cols() && out.rows() == x.rows() && out.cols() == w.rows());
  kernels_.double_dots_f32(double_rows(x, w), x.data(), x.stride(), out.data(), out.stride());
}

void LinearAlgebra::dots(ConstMatrixView<double> x, ConstMatrixView<double> w, MatrixView<double> out) const {
  assert(x.cols() == w.cols() && out.rows() == x.rows() && out.cols() == w.rows());
  kernels_.double_dots_f64(double_rows(x, w), x.data(), x.stride(), out.data(), out.stride());
}

void LinearAlgebra::add_rows(ConstMatrixView<double> c, ConstMatrixView<float> w, MatrixView<double> y) const {
  assert(c.cols() == w.rows() && y.rows() == c.rows() && y.cols() == w.cols());
  kernels_.double_add_f32(double_rows(c, w), c.data(), c.stride(), y.data(), y.stride());
}

void LinearAlgebra::add_rows(ConstMatrixView<double> c, ConstMatrixView<double> w, MatrixView<double> y) const {
  assert(c.cols() == w.rows() && y.rows() == c.rows() && y.cols() == w.cols());
  kernels_.double_add_f64(double_rows(c, w), c.data(), c.stride(), y.data(), y.stride());
}

void LinearAlgebra::eigh_in_place(MatrixView<double> a, std::span<double> values, EighWorkspace& workspace) const {
  const size_t n = a.rows();
  assert(a.cols() == n && values.size() == n);
  if (n == 0) return;
  if (!blas_) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(eigen_view<double>(a));
    if (solver.info() != Eigen::Success) no_convergence(n);
    for (size_t k = 0; k < n; k++) {
      values[k] = solver.eigenvalues()[static_cast<Eigen::Index>(k)];
      Eigen::Map<Eigen::VectorXd>(a.row_ptr(k), static_cast<Eigen::Index>(n)) =
          solver.eigenvectors().col(static_cast<Eigen::Index>(k));
    }
    return;
  }
  blas_int(2 * n * n + 64 * n);  // the length of the workspace
  if (!blas_->eigh(blas_int(n), a.data(), blas_int(a.stride()), values.data(), workspace)) no_convergence(n);
}

}  // namespace glint

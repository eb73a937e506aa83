#include "glint/spectra/linalg.h"

#include <dlfcn.h>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cstdlib>
#include <limits>
#include <mutex>

namespace glint {
namespace {

// Fortran passes everything by address and the lengths of strings at the end.
using SyevdFn = void (*)(const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
                         double* w, double* work, const int* lwork, int* iwork, const int* liwork, int* info,
                         size_t, size_t);
template <class T>
using GemmFn = void (*)(const char* ta, const char* tb, const int* m, const int* n, const int* k,
                        const T* alpha, const T* a, const int* lda, const T* b, const int* ldb, const T* beta,
                        T* c, const int* ldc, size_t, size_t);

// The plain name follows the system's choice of build. The rest are Debian's places, for systems where that
// choice was never made.
constexpr const char* kLibraries[] = {
    "libopenblas.so.0",
    "libopenblas.so",
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
};

constexpr int kOpenMpBuild = 2;  // openblas_get_parallel()

// An environment variable that OpenBLAS reads once, while it is loaded: set unless the user did, and taken
// away again, so that neither the process nor its children keep it.
class EnvironmentWhileLoading {
 public:
  EnvironmentWhileLoading(const char* name, std::string_view value) : name_(name) {
    if (value.empty() || std::getenv(name)) return;
    set_ = ::setenv(name, std::string(value).c_str(), 1) == 0;
  }
  ~EnvironmentWhileLoading() {
    if (set_) ::unsetenv(name_);
  }
  EnvironmentWhileLoading(const EnvironmentWhileLoading&) = delete;
  EnvironmentWhileLoading& operator=(const EnvironmentWhileLoading&) = delete;

 private:
  const char* name_;
  bool set_ = false;
};

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
void eigen_gemm(Op op_a, Op op_b, T alpha, ConstMatrixView<T> a, ConstMatrixView<T> b, T beta,
                MatrixView<T> c) {
  const EigenView<T> ea = eigen_view(a), eb = eigen_view(b);
  Eigen::Map<EigenRows<T>, 0, Eigen::OuterStride<>> ec(
      c.data(), static_cast<Eigen::Index>(c.rows()), static_cast<Eigen::Index>(c.cols()),
      Eigen::OuterStride<>(static_cast<Eigen::Index>(c.stride())));
  if (beta == T{0})
    ec.setZero();
  else
    ec *= beta;
  if (op_a == Op::plain && op_b == Op::plain) ec.noalias() += alpha * (ea * eb);
  if (op_a == Op::transposed && op_b == Op::plain) ec.noalias() += alpha * (ea.transpose() * eb);
  if (op_a == Op::plain && op_b == Op::transposed) ec.noalias() += alpha * (ea * eb.transpose());
  if (op_a == Op::transposed && op_b == Op::transposed)
    ec.noalias() += alpha * (ea.transpose() * eb.transpose());
}

[[noreturn]] void no_convergence(size_t n) {
  throw Error(
      {.code = ErrorCode::numeric,
       .what = "the eigen-decomposition of a matrix of width " + std::to_string(n) + " did not converge"});
}

}  // namespace

struct LinearAlgebra::Blas {
  SyevdFn syevd = nullptr;
  GemmFn<double> dgemm = nullptr;
  GemmFn<float> sgemm = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int (*get_parallel)() = nullptr;
  char* (*get_config)() = nullptr;
  char* (*get_corename)() = nullptr;
  bool openmp = false;

  // OpenBLAS keeps its thread count in one place; in the OpenMP build that place belongs to the calling
  // thread.
  void one_thread() const {
    if (openmp) set_num_threads(1);
  }

  static std::shared_ptr<const Blas> open(const CpuInfo& cpu) {
    // The environment belongs to the process, so that two objects made at once must take turns.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const EnvironmentWhileLoading core("OPENBLAS_CORETYPE", openblas_core_type(cpu));
    const EnvironmentWhileLoading threads("OPENBLAS_NUM_THREADS", "1");  // no idle helpers
    for (const char* library : kLibraries)
      // NODELETE: OpenBLAS does not survive being unloaded while threads have used it.
      if (void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        auto blas = std::make_shared<Blas>();
        if (blas->resolve(handle)) return blas;
      }
    return nullptr;
  }

 private:
  template <class F>
  static bool find(void* handle, const char* name, F& function) {
    function = reinterpret_cast<F>(::dlsym(handle, name));
    return function != nullptr;
  }
  bool resolve(void* handle) {
    const bool found = find(handle, "dsyevd_", syevd) && find(handle, "dgemm_", dgemm) &&
                       find(handle, "sgemm_", sgemm) &&
                       find(handle, "openblas_set_num_threads", set_num_threads) &&
                       find(handle, "openblas_get_parallel", get_parallel);
    if (!found) return false;
    find(handle, "openblas_get_config", get_config);
    find(handle, "openblas_get_corename", get_corename);
    openmp = get_parallel() == kOpenMpBuild;
    set_num_threads(1);
    return true;
  }
};

namespace {

template <class T>
void blas_gemm(GemmFn<T> gemm, Op op_a, Op op_b, T alpha, ConstMatrixView<T> a, ConstMatrixView<T> b, T beta,
               MatrixView<T> c) {
  // A row-major matrix is the transpose of a column-major one: compute c' = op(b)' op(a)'.
  const char ta = op_a == Op::plain ? 'N' : 'T', tb = op_b == Op::plain ? 'N' : 'T';
  const int m = blas_int(c.cols()), n = blas_int(c.rows()),
            k = blas_int(op_a == Op::plain ? a.cols() : a.rows());
  const int lda = blas_int(a.stride()), ldb = blas_int(b.stride()), ldc = blas_int(c.stride());
  gemm(&tb, &ta, &m, &n, &k, &alpha, b.data(), &ldb, a.data(), &lda, &beta, c.data(), &ldc, 1, 1);
}

template <class T>
void check_gemm([[maybe_unused]] Op op_a, [[maybe_unused]] Op op_b, [[maybe_unused]] ConstMatrixView<T> a,
                [[maybe_unused]] ConstMatrixView<T> b, [[maybe_unused]] MatrixView<T> c) {
  assert(c.rows() == (op_a == Op::plain ? a.rows() : a.cols()));
  assert(c.cols() == (op_b == Op::plain ? b.cols() : b.rows()));
  assert((op_a == Op::plain ? a.cols() : a.rows()) == (op_b == Op::plain ? b.rows() : b.cols()));
}

}  // namespace

LinearAlgebra::LinearAlgebra(LinalgBackend backend, const CpuInfo& cpu) {
  if (backend == LinalgBackend::eigen) return;
  blas_ = Blas::open(cpu);
  if (!blas_ && backend == LinalgBackend::openblas)
    throw Error({.what = "OpenBLAS could not be opened",
                 .where = kLibraries[0],
                 .expected = "a shared library with dsyevd and 32-bit integers",
                 .hint = "install libopenblas0-pthread"});
}

std::string LinearAlgebra::description() const {
  if (!blas_)
    return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
           std::to_string(EIGEN_MINOR_VERSION);
  // The configuration is "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
  std::string text = blas_->get_config ? blas_->get_config() : "OpenBLAS";
  if (const size_t version = text.find(' '); version != std::string::npos)
    text = text.substr(0, text.find(' ', version + 1));
  return blas_->get_corename ? text + " (" + blas_->get_corename() + ")" : text;
}

void LinearAlgebra::gemm(Op op_a, Op op_b, double alpha, ConstMatrixView<double> a, ConstMatrixView<double> b,
                         double beta, MatrixView<double> c) const {
  check_gemm(op_a, op_b, a, b, c);
  if (c.empty()) return;
  if (!blas_ || a.empty()) return eigen_gemm(op_a, op_b, alpha, a, b, beta, c);
  blas_->one_thread();
  blas_gemm(blas_->dgemm, op_a, op_b, alpha, a, b, beta, c);
}

void LinearAlgebra::gemm(Op op_a, Op op_b, float alpha, ConstMatrixView<float> a, ConstMatrixView<float> b,
                         float beta, MatrixView<float> c) const {
  check_gemm(op_a, op_b, a, b, c);
  if (c.empty()) return;
  if (!blas_ || a.empty()) return eigen_gemm(op_a, op_b, alpha, a, b, beta, c);
  blas_->one_thread();
  blas_gemm(blas_->sgemm, op_a, op_b, alpha, a, b, beta, c);
}

void LinearAlgebra::eigh_in_place(MatrixView<double> a, std::span<double> values,
                                  EighWorkspace& workspace) const {
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
  blas_->one_thread();
  const int order = blas_int(n), lda = blas_int(a.stride());
  const int lwork = blas_int(1 + 6 * n + 2 * n * n), liwork = blas_int(3 + 5 * n);
  if (workspace.work.size() < static_cast<size_t>(lwork)) workspace.work.resize(static_cast<size_t>(lwork));
  if (workspace.iwork.size() < static_cast<size_t>(liwork))
    workspace.iwork.resize(static_cast<size_t>(liwork));
  int info = 0;
  blas_->syevd("V", "L", &order, a.data(), &lda, values.data(), workspace.work.data(), &lwork,
               workspace.iwork.data(), &liwork, &info, 1, 1);
  if (info != 0) no_convergence(n);
}

std::string_view openblas_core_type(const CpuInfo& cpu) {
  constexpr int kIntelFamily = 6;  // AMD's AVX2 families are 21 and above, and OpenBLAS goes by family there
  if (cpu.best == Isa::v4) return "SkylakeX";
  if (cpu.best == Isa::v3 && cpu.family == kIntelFamily) return "Haswell";
  return "";
}

}  // namespace glint

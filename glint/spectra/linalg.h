// Dense linear algebra in float and double for the analysis of weights: products and symmetric eigenpairs,
// through OpenBLAS opened at run time, or through Eigen where there is none; products of a few vectors with
// many rows through glint's own kernels. One object, made by the caller and passed around; every call
// computes on the calling thread only, and any number of threads may call at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glint/base/cpu.h"
#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

class OpenBlas;

enum class LinalgBackend { automatic, openblas, eigen };

enum class Op : bool { plain, transposed };

// Scratch of eigh_in_place, kept between calls of one thread.
struct EighWorkspace {
  std::vector<double> work;
  std::vector<int> iwork;
};

class LinearAlgebra {
 public:
  // `automatic`: OpenBLAS when it can be opened, else Eigen. Forcing `openblas` where it cannot be opened is
  // an Error (failure). Make the first object before threads read the environment: see openblas.cc. OpenBLAS
  // takes memory for the calls of so many threads at once; 0: as many as the process may run on. Where there
  // is no room for that, `automatic` is Eigen, and note() says so.
  explicit LinearAlgebra(LinalgBackend backend = LinalgBackend::automatic, const CpuInfo& cpu = detect_cpu(),
                         size_t threads = 0);

  bool uses_openblas() const { return blas_ != nullptr; }
  std::string description() const;                   // "OpenBLAS 0.3.21 (Zen)" or "Eigen 3.4.0"
  const std::string& note() const { return note_; }  // why OpenBLAS is not used although it may be there

  // c = alpha op(a) op(b) + beta c, row-major. With beta = 0 what c held does not matter.
  void gemm(Op op_a, Op op_b, double alpha, ConstMatrixView<double> a, ConstMatrixView<double> b, double beta,
            MatrixView<double> c) const;
  void gemm(Op op_a, Op op_b, float alpha, ConstMatrixView<float> a, ConstMatrixView<float> b, float beta,
            MatrixView<float> c) const;

  // For a few vectors and many rows of floats or doubles w [n, k], which are read once:
  // out [m, n] = x [m, k] w', and y [m, k] += c [m, n] w.
  void dots(ConstMatrixView<double> x, ConstMatrixView<float> w, MatrixView<double> out) const;
  void dots(ConstMatrixView<double> x, ConstMatrixView<double> w, MatrixView<double> out) const;
  void add_rows(ConstMatrixView<double> c, ConstMatrixView<float> w, MatrixView<double> y) const;
  void add_rows(ConstMatrixView<double> c, ConstMatrixView<double> w, MatrixView<double> y) const;
  const Kernels& kernels() const { return kernels_; }

  // The symmetric matrix a [n, n] is overwritten by its eigenvectors, in rows; values [n] ascending. Signs,
  // and the basis of a repeated eigenvalue, are as the library left them: spectra/eigen.h makes them
  // canonical.
  void eigh_in_place(MatrixView<double> a, std::span<double> values, EighWorkspace& workspace) const;

 private:
  const Kernels& kernels_;
  std::shared_ptr<const OpenBlas> blas_;  // null: Eigen
  std::string note_;
};

// What OPENBLAS_CORETYPE must be for OpenBLAS not to fall back to its SSE kernels on a processor newer than
// itself; "" where its own detection is right.
std::string_view openblas_core_type(const CpuInfo& cpu);

}  // namespace glint

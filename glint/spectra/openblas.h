// OpenBLAS opened at run time: what spectra/linalg.h calls of it, and the symmetric eigen-decomposition built
// from its parts. Column-major, 32-bit integers, as in Fortran. Used by linalg.cc only.
#pragma once

#include <cstddef>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>

#include "glint/base/cpu.h"
#include "glint/spectra/linalg.h"

namespace glint {

class OpenBlas {
 public:
  // The one of the process, with memory for calls of so many threads at once (at most as many as there are
  // processors; further callers wait). Null when no library can be opened, and when there is no room for that
  // memory: then `problem` says so. Sets the environment while it loads: see openblas.cc.
  static std::shared_ptr<const OpenBlas> open(const CpuInfo& cpu, size_t threads, std::string& problem);
  // The name of the library that is tried first, for messages.
  static std::string_view library();

  std::string description() const;

  void gemm(char op_a, char op_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b, int ldb,
            double beta, double* c, int ldc) const;
  void gemm(char op_a, char op_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb,
            float beta, float* c, int ldc) const;

  // a [n, n] symmetric, both triangles filled, column stride lda: overwritten by its eigenvectors, in
  // columns; values [n] ascending. False when the iteration did not converge.
  //
  // The steps of dsyevd (tridiagonal form, divide and conquer, back-transformation), with the eigenvectors in
  // columns whose distance is no power of two: inside dsyevd it is n, and a width of 512 loses a fifth to
  // that.
  [[nodiscard]] bool eigh(int n, double* a, int lda, double* values, EighWorkspace& workspace) const;

 private:
  template <class T>
  using GemmFn = void (*)(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha,
                          const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc,
                          size_t,
                          size_t);  // the lengths of strings come last
  using SytrdFn = void (*)(const char* uplo, const int* n, double* a, const int* lda, double* d, double* e, double* tau,
                           double* work, const int* lwork, int* info, size_t);
  using StedcFn = void (*)(const char* compz, const int* n, double* d, double* e, double* z, const int* ldz,
                           double* work, const int* lwork, int* iwork, const int* liwork, int* info, size_t);
  using OrmtrFn = void (*)(const char* side, const char* uplo, const char* op, const int* m, const int* n,
                           const double* a, const int* lda, const double* tau, double* c, const int* ldc, double* work,
                           const int* lwork, int* info, size_t, size_t, size_t);

  class Turn;  // of one call

  static std::shared_ptr<OpenBlas> load(const CpuInfo& cpu);
  bool resolve(void* handle);
  void reserve(size_t buffers);

  GemmFn<double> dgemm_ = nullptr;
  GemmFn<float> sgemm_ = nullptr;
  SytrdFn sytrd_ = nullptr;
  StedcFn stedc_ = nullptr;
  OrmtrFn ormtr_ = nullptr;
  void (*set_num_threads_)(int) = nullptr;
  int (*get_parallel_)() = nullptr;
  char* (*get_config_)() = nullptr;
  char* (*get_corename_)() = nullptr;
  void* (*memory_alloc_)(int) = nullptr;
  void (*memory_free_)(void*) = nullptr;
  bool openmp_ = false;
  size_t reserved_ = 0;                        // buffers that the library holds
  mutable std::counting_semaphore<> free_{0};  // those of them that no call uses
};

}  // namespace glint

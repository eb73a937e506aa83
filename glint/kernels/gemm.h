// Matrix products of training, behind one interface for f32 and bf16. Single-threaded: callers cut the work
// into tiles with borders of their own and give each worker its scratch.
//
//   forward          C[m,n] = X[m,k] W[n,k]^T      multiply(X, pack(W, transposed))
//   input gradient   dX[m,k] = dC[m,n] W[n,k]      multiply(dC, pack(W, as it is))
//   weight gradient  dW[n,k] = dC[m,n]^T X[m,k]    multiply_tn(dC, X)
//
// bf16 rounds both operands to bf16 and accumulates in f32; inputs and outputs stay f32.
// Every element of C is summed in an order that depends on k alone, never on how callers cut m and n.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "glint/base/cpu.h"
#include "glint/base/matrix.h"
#include "glint/kernels/kernels.h"

namespace glint {

enum class Precision { f32, bf16 };
std::string_view name(Precision precision);
Precision parse_precision(std::string_view word);

struct Bf16Products;  // bf16.h

class Products {
 public:
  explicit Products(const Kernels& kernels) : kernels_(&kernels) {}  // f32
  Products(const Kernels& kernels, Bf16Unit unit);                   // bf16; unit must not be none
  Products(const Kernels& kernels, const Bf16Products& bf16) : kernels_(&kernels), bf16_(&bf16) {}

  Precision precision() const { return bf16_ ? Precision::bf16 : Precision::f32; }
  const Kernels& kernels() const { return *kernels_; }

  // Which matrix a packed right operand B[k,n] is made of.
  enum class Form { as_is, transposed };  // B = W, B = W^T

  // Bytes of B[k,n] packed; the buffer must be 64-byte aligned.
  size_t packed_bytes(size_t k, size_t n) const;
  // Panels are the units of packing, so that threads can share the work: columns [panel * panel_columns(),
  // ...).
  size_t panel_columns() const;
  size_t panels(size_t n) const { return (n + panel_columns() - 1) / panel_columns(); }
  void pack(ConstMatrixView<float> w, Form form, std::span<std::byte> out, size_t first_panel,
            size_t panel_count) const;

  // C = A B, or C += A B. A is [m,k]; B was packed with (k, n = C.cols()).
  void multiply(ConstMatrixView<float> a, std::span<const std::byte> b, MatrixView<float> c, bool accumulate,
                std::span<std::byte> scratch) const;
  // C[m,n] = A[k,m]^T B[k,n], or +=.
  void multiply_tn(ConstMatrixView<float> a, ConstMatrixView<float> b, MatrixView<float> c, bool accumulate,
                   std::span<std::byte> scratch) const;

  // The most rows of C that multiply_tn takes in one call, and the scratch that any call needs.
  size_t tile_rows() const;  // whole register tiles: of 6 and 14 rows in f32, 32 in bf16
  static constexpr size_t kMaxTileRows = 252;
  static constexpr size_t kScratchBytes = size_t{5} << 18;

 private:
  const Kernels* kernels_;
  const Bf16Products* bf16_ = nullptr;
};

// One worker's scratch each, 64-byte aligned.
class Scratch {
 public:
  explicit Scratch(size_t workers) : bytes_(workers, Products::kScratchBytes) {}
  std::span<std::byte> operator[](size_t worker) { return bytes_.view().row(worker); }

 private:
  Matrix<std::byte> bytes_;
};

}  // namespace glint

// Linear layers whose weights stay as a file stores them: y = x W^T (+ b), W [n, k]. A few vectors go through
// dot products that widen the weights in registers; many go through the packed product, for which a tile of W
// at a time becomes floats. Sums are f32, and tiles depend on shapes alone: the same bytes at any number of
// threads.
#pragma once

#include <span>
#include <vector>

#include "glint/io/stored_tensor.h"
#include "glint/kernels/gates.h"
#include "glint/nn/compute.h"

namespace glint {

// Some rows of a tensor, with the bias that is added where there is one.
struct StoredMatrix {
  const StoredTensor* tensor = nullptr;
  size_t first = 0, rows = 0, cols = 0;
  std::vector<float> bias = {};
  bool empty() const { return tensor == nullptr; }
};

// Rows [first, first + out.rows()) of the matrix as floats: the same ones, with kernels faster.
void widen_rows(const StoredMatrix& matrix, size_t first, MatrixView<float> out);
void widen_rows(const StoredMatrix& matrix, size_t first, MatrixView<float> out, const Kernels& kernels);
// The matrix in place where it is stored as floats that the processor can address; else empty.
ConstMatrixView<float> float_view(const StoredMatrix& matrix);

class StoredProducts {
 public:
  explicit StoredProducts(const Compute& compute);

  struct Task {
    const StoredMatrix* w;
    ConstMatrixView<float> x;  // [m, k]
    MatrixView<float> y;       // [m, n]
  };
  // All of them in one loop over the pool.
  void run(std::span<const Task> tasks);
  // y = gate(x G^T) * (x U^T) for `gate` G and `up` U, both [h, k]: both products of a piece and its gates at
  // once.
  void run_glu(const StoredMatrix& gate, const StoredMatrix& up, const Gate& kind, ConstMatrixView<float> x,
               MatrixView<float> y);

  // From so many vectors on the product is packed.
  static constexpr size_t kMany = 6;

 private:
  struct Piece {
    uint32_t task;
    uint32_t first, rows;
  };
  void cut(std::span<const Task> tasks);
  // Some rows of the weights, which give as many columns of y.
  void multiply(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y, size_t worker);
  void dots(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y, size_t worker);
  void packed(const StoredMatrix& w, Range rows, ConstMatrixView<float> x, MatrixView<float> y, size_t worker);
  struct Memory {
    Matrix<float> wide, halves;
    Matrix<std::byte> packed;
  };
  MatrixView<float> wide(size_t worker, size_t rows, size_t cols);

  const Compute& compute_;
  Products products_;  // f32, whatever the precision of the engine
  std::vector<Piece> pieces_;
  std::vector<Memory> memory_;  // one per worker, as large as was needed so far
};

}  // namespace glint

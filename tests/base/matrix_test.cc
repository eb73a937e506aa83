#include "glint/base/matrix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

namespace glint {
namespace {

template <class T>
bool aligned(const T* p) {
  return reinterpret_cast<uintptr_t>(p) % kAlignment == 0;
}

TEST(Matrix, IsZeroedAlignedAndContiguous) {
  for (size_t rows : {1, 2, 17, 64})
    for (size_t cols : {1, 3, 16, 65}) {
      const Matrix<float> m(rows, cols);
      EXPECT_TRUE(aligned(m.data())) << rows << " x " << cols;
      EXPECT_EQ(m.size(), rows * cols);
      EXPECT_EQ(m.view().stride(), cols);
      for (float v : m.span()) EXPECT_EQ(v, 0.0f);
    }
}

TEST(Matrix, IsRowMajor) {
  Matrix<int> m(3, 5);
  std::iota(m.span().begin(), m.span().end(), 0);
  EXPECT_EQ(m(0, 4), 4);
  EXPECT_EQ(m(1, 0), 5);
  EXPECT_EQ(m(2, 3), 13);
}

TEST(Matrix, CopiesDeeplyAndMovesWithoutCopying) {
  Matrix<double> a(2, 3);
  a(1, 2) = 7;
  Matrix<double> b = a;
  b(1, 2) = 8;
  EXPECT_EQ(a(1, 2), 7);

  const double* p = a.data();
  Matrix<double> c = std::move(a);
  EXPECT_EQ(c.data(), p);
  EXPECT_EQ(c(1, 2), 7);
  EXPECT_EQ(a.size(), 0u);  // a moved-from matrix is empty

  b = c;
  EXPECT_EQ(b(1, 2), 7);
  b = std::move(c);
  EXPECT_EQ(b.data(), p);
  const Matrix<double>& same = b;
  b = same;  // to itself
  EXPECT_EQ(b(1, 2), 7);
}

TEST(Matrix, MayBeEmptyInEitherDirection) {
  for (const auto& [rows, cols] : {std::pair<size_t, size_t>{0, 0}, {0, 4}, {4, 0}}) {
    const Matrix<float> m(rows, cols);
    const Matrix<float> copy = m;
    EXPECT_EQ(copy.rows(), rows);
    EXPECT_EQ(copy.cols(), cols);
    EXPECT_TRUE(copy.view().empty());
    EXPECT_TRUE(copy.span().empty());
  }
}

TEST(Matrix, TooLargeIsAnErrorAndNotAWrapAround) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  EXPECT_THROW((Matrix<float>(kMax, kMax)), Error);
  EXPECT_THROW((Matrix<float>(size_t{1} << 32, size_t{1} << 32)), Error);  // the count wraps to 0
  EXPECT_THROW((Matrix<float>(size_t{1} << 62, 1)), Error);                // the bytes wrap to 0
  const volatile size_t unknown = kMax / 4;  // the compiler would warn of a size that it can see
  EXPECT_THROW((Matrix<float>(unknown, 1)), Error);
  EXPECT_THROW(checked_bytes(size_t{1} << 46, 1, 2), Error);
  EXPECT_EQ(checked_bytes(size_t{1} << 45, 2, 1), size_t{1} << 46);
  EXPECT_EQ(checked_bytes(kMax, 0, 8), 0u);
  try {
    checked_bytes(kMax, 3, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().what, "matrix of 18446744073709551615 x 3 is too large");
  }
}

TEST(MatrixView, RangesShareTheElements) {
  Matrix<int> m(6, 8);
  std::iota(m.span().begin(), m.span().end(), 0);
  const MatrixView<int> block = m.view().row_range(2, 3).col_range(4, 2);
  EXPECT_EQ(block.rows(), 3u);
  EXPECT_EQ(block.cols(), 2u);
  EXPECT_EQ(block.stride(), 8u);
  for (size_t r = 0; r < 3; r++)
    for (size_t c = 0; c < 2; c++) EXPECT_EQ(block(r, c), m(r + 2, c + 4));
  block(1, 1) = -1;
  EXPECT_EQ(m(3, 5), -1);
  EXPECT_EQ(block.row(1).size(), 2u);
  EXPECT_EQ(block.row(1)[1], -1);
  EXPECT_EQ(block.row_ptr(1) + 1, &m(3, 5));
  EXPECT_TRUE(m.view().row_range(6, 0).empty());
  EXPECT_TRUE(m.view().col_range(8, 0).empty());
}

TEST(MatrixView, ConstIsAddedButNeverTakenAway) {
  static_assert(std::is_convertible_v<MatrixView<float>, ConstMatrixView<float>>);
  static_assert(!std::is_convertible_v<ConstMatrixView<float>, MatrixView<float>>);
  static_assert(std::is_convertible_v<const Matrix<float>&, ConstMatrixView<float>>);
  static_assert(!std::is_convertible_v<const Matrix<float>&, MatrixView<float>>);
  Matrix<float> m(2, 2);
  const ConstMatrixView<float> v = m.view().col_range(1, 1);
  m(1, 1) = 3;
  EXPECT_EQ(v(1, 0), 3.0f);
  EXPECT_EQ(v.stride(), 2u);
}

}  // namespace
}  // namespace glint

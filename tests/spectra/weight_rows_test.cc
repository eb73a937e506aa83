#include "glint/spectra/weight_rows.h"

#include "glint/spectra/lanczos.h"
#include "tests/spectra/fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

const Kernels& level() { return kernels(detect_cpu().best); }

// A matrix as a file may store it: any bytes are numbers once the halves that scale them are.
struct StoredFixture {
  StoredFixture(StoredType type, size_t rows, size_t cols, size_t offset) {
    uint64_t size = 0;
    EXPECT_TRUE(stored_bytes(type, rows * cols, size));
    bytes.resize(size + offset);
    const Rng rng(31, Stream::test, static_cast<uint32_t>(type));
    // The third byte of a float, and the upper one of a half, keep exponents in the middle.
    for (size_t i = 0; i < size; i++) {
      const auto random = static_cast<uint8_t>(rng.bits(i));
      const size_t width = type == StoredType::f32 ? 4 : 2;
      const bool top = i % width == width - 1;
      const uint8_t middle = type == StoredType::f16 ? 0x38 : 0x3f;
      bytes[offset + i] = static_cast<std::byte>(top ? (random & 0x80) | middle : random);
    }
    if (block_values(type) > 1)  // small positive scales, wherever a block has them
      for (size_t i = 0; i + 1 < size; i++)
        if (i % block_bytes(type) == scale_at(type))
          bytes[offset + i] = std::byte{0x11}, bytes[offset + i + 1] = std::byte{0x24};
    tensor = {.name = "w", .shape = {rows, cols}, .type = type, .bytes = {}, .scales = {}};
    tensor.bytes = std::span<const std::byte>(bytes).subspan(offset);
    matrix = {&tensor, 0, rows, cols};
  }
  static size_t scale_at(StoredType type) { return type == StoredType::q6_k ? 208 : 0; }

  std::vector<std::byte> bytes;
  StoredTensor tensor;
  StoredMatrix matrix;
};

constexpr StoredType kTypes[] = {StoredType::f32,  StoredType::f16,  StoredType::bf16,
                                 StoredType::q8_0, StoredType::q4_0, StoredType::q6_k};

TEST(WeightRows, AreTheStoredNumbersTimesTheirFactors) {
  constexpr size_t kRows = 9, kCols = 512;
  const Matrix<float> of_rows = random_matrix<float>(1, kRows, 1), of_columns = random_matrix<float>(1, kCols, 2);
  for (const StoredType type : kTypes)
    for (const size_t offset : {0u, 1u}) {  // files need not align
      SCOPED_TRACE(std::string(name(type)) + " at " + std::to_string(offset));
      const StoredFixture stored(type, kRows, kCols, offset);
      Matrix<float> want(kRows, kCols);
      for (size_t r = 0; r < kRows; r++) widen(stored.tensor, r * kCols, want.view().row(r));
      const WeightRows w(stored.matrix, level(), of_rows.view().row(0), of_columns.view().row(0));
      Matrix<float> buffer;
      Matrix<double> wide(4, kCols);
      std::vector<float> some(40);
      for (const WeightRows& part : {w, w.row_range(2, 7)}) {
        const size_t skip = kRows - part.rows();
        const ConstMatrixView<float> plain = part.plain({1, 4}, buffer);
        for (size_t r = 0; r < 4; r++)
          for (size_t j = 0; j < kCols; j++) ASSERT_EQ(plain(r, j), want(skip + 1 + r, j));
        const ConstMatrixView<float> floats = part.floats({1, 4}, buffer);
        for (size_t r = 0; r < 4; r++)
          for (size_t j = 0; j < kCols; j++)
            ASSERT_EQ(floats(r, j), of_rows(0, skip + 1 + r) * (want(skip + 1 + r, j) * of_columns(0, j)));
        part.widen(1, wide, buffer);
        for (size_t r = 0; r < 4; r++)
          for (size_t j = 0; j < kCols; j++)
            ASSERT_EQ(wide(r, j), static_cast<double>(want(skip + 1 + r, j)) * static_cast<double>(of_columns(0, j)) *
                                      static_cast<double>(of_rows(0, skip + 1 + r)));
        part.columns(3, 70, some);
        for (size_t j = 0; j < some.size(); j++)
          ASSERT_EQ(some[j], of_rows(0, skip + 3) * (want(skip + 3, 70 + j) * of_columns(0, 70 + j)));
      }
    }
}

TEST(WeightRows, FloatsWithoutFactorsStayWhereTheyAre) {
  const StoredFixture stored(StoredType::f32, 4, 32, 0);
  const WeightRows w(stored.matrix, level(), {}, {});
  Matrix<float> buffer;
  EXPECT_EQ(static_cast<const void*>(w.floats({1, 2}, buffer).data()), stored.bytes.data() + 32 * 4);
  EXPECT_EQ(buffer.size(), 0u);
}

// The factors of the norm beside the vectors, and in the weights: the same matrix. Rounding only: sums of h
// and d terms in double.
TEST(WeightRows, AStoredLayerHasTheSpectrumOfItsFloats) {
  constexpr size_t kHidden = 96, kWidth = 256;
  const LinearAlgebra linalg;
  ThreadPool pool(2);
  const Matrix<float> norm = random_matrix<float>(1, kWidth, 3);
  const Matrix<double> q = random_matrix(1, kHidden, 4), x = random_matrix(3, kWidth, 5);
  for (const StoredType type : kTypes) {
    SCOPED_TRACE(name(type));
    const StoredFixture left(type, kHidden, kWidth, 0), right(type, kHidden, kWidth, 1);
    const GluLayerView layer{.left = {left.matrix, level(), {}, norm.view().row(0)},
                             .right = {right.matrix, level(), {}, norm.view().row(0)},
                             .bias_left = {},
                             .bias_right = {},
                             .gate = {}};
    const Matrix<double> whole = interaction(linalg, layer, q.span());
    const Spectrum full = eigh(linalg, whole);
    const double scale = std::max(full.values.front(), -full.values.back());
    Matrix<double> y(3, kWidth);
    InteractionOperator({linalg, pool, layer}).apply(q.span(), x, y);
    for (size_t i = 0; i < 3; i++)
      for (size_t j = 0; j < kWidth; j++) {
        double sum = 0;
        for (size_t t = 0; t < kWidth; t++) sum += whole(j, t) * x(i, t);
        EXPECT_NEAR(y(i, j), sum, 1e-12 * scale);
      }
    const Spectrum top = top_interaction({linalg, pool, layer}, q.span(), 8, {.by = TopBy::both_ends});
    for (size_t k = 0; k < 4; k++) {
      EXPECT_NEAR(top.values[k], full.values[k], 1e-12 * scale);
      EXPECT_NEAR(top.values[7 - k], full.values[full.count() - 1 - k], 1e-12 * scale);
    }
  }
}

}  // namespace
}  // namespace glint

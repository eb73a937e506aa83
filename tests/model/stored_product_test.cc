// Products with weights of every type that a file may store.
#include "glint/model/stored_product.h"

#include <gtest/gtest.h>

#include <cstring>

#include "glint/io/weight_file.h"
#include "glint/kernels/reference.h"
#include "model_testing.h"

namespace glint {
namespace {

using model_testing::TestMachine;

const WeightFile& quantised() {
  static const WeightFile file = open_weights(GLINT_GOLDEN_DIR "/io/quantised.gguf");
  return file;
}

StoredMatrix matrix_of(const StoredTensor& t) { return {.tensor = &t, .first = 0, .rows = t.rows(), .cols = t.cols()}; }

// The kernels of every level widen as the formats' own program does, to the last bit.
TEST(StoredProduct, KernelsWidenToTheLastBit) {
  for (const Isa isa : runnable_isas(cpu()))
    for (const StoredTensor& t : quantised().tensors()) {
      const StoredMatrix w = matrix_of(t);
      Matrix<float> plain(w.rows, w.cols), fast(w.rows, w.cols);
      widen_rows(w, 0, plain);
      widen_rows(w, 0, fast, kernels(isa));
      EXPECT_EQ(std::memcmp(plain.data(), fast.data(), 4 * plain.size()), 0) << t.name << ", " << name(isa);
    }
}

// A few vectors go through dot products, many through the packed product: both are those of the widened weights.
TEST(StoredProduct, AFewVectorsAndManyAreThoseOfTheWidenedWeights) {
  for (const Isa isa : runnable_isas(cpu()))
    for (const StoredTensor& t : quantised().tensors()) {
      TestMachine machine(2, isa);
      StoredMatrix w = matrix_of(t);
      for (size_t r = 0; r < w.rows; r++) w.bias.push_back(0.25f * static_cast<float>(r));
      Matrix<float> wide(w.rows, w.cols);
      widen_rows(w, 0, wide);
      const size_t many = 2 * StoredProducts::kMany;
      Matrix<float> x(many, w.cols);
      const Rng random(3, Stream::noise);
      for (size_t i = 0; i < x.size(); i++)
        x.data()[i] = static_cast<float>(static_cast<int64_t>(random.bits(i) % 2001) - 1000) / 1000;
      for (const size_t m : {size_t{1}, many}) {
        Matrix<float> y(m, w.rows);
        StoredProducts products(machine.compute);
        const StoredProducts::Task task{&w, x.view().row_range(0, m), y};
        products.run({&task, 1});
        for (size_t i = 0; i < m; i++)
          for (size_t r = 0; r < w.rows; r++) {
            double sum = w.bias[r], sizes = std::fabs(w.bias[r]);
            for (size_t j = 0; j < w.cols; j++) {
              const reference::StoredParts parts =
                  reference::stored_parts(static_cast<WeightLayout>(t.type), t.bytes.data() + r * t.row_bytes(), j);
              sum += double{wide(r, j)} * x(i, j);
              sizes += (std::fabs(parts.product) + std::fabs(parts.offset)) * std::fabs(x(i, j));
            }
            // A sum of cols numbers in any order, and four roundings of each.
            EXPECT_NEAR(y(i, r), sum, static_cast<double>(w.cols + 6) * 0x1p-24 * sizes)
                << t.name << ", " << m << ", " << name(isa);
          }
      }
    }
}

}  // namespace
}  // namespace glint

// The linear control of a reading.
#include "glint/spectra/controls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

class LinearControl : public ::testing::TestWithParam<LinalgBackend> {
 protected:
  const LinearAlgebra linalg{GetParam()};
  ThreadPool pool{2};
};
INSTANTIATE_TEST_SUITE_P(Backends, LinearControl, ::testing::ValuesIn(backends()),
                         [](const auto& p) { return p.param == LinalgBackend::openblas ? "OpenBlas" : "Eigen"; });

TEST_P(LinearControl, FindsTheMapThatMadeTheOutputs) {
  const size_t n = 700, d = 90, units = 4;  // more than one block of columns and one tile of rows
  Matrix<float> x = random_matrix<float>(n, d, 800);
  for (size_t i = 0; i < n; i++) x(i, 3) = 2;  // an input that never varies
  LinearMap made{random_matrix(units, d, 801), {1, -2, 3, 0.5}};
  for (size_t u = 0; u < units; u++) made.weights(u, 3) = 0;
  const Matrix<double> y = linear_outputs(linalg, pool, made, x);
  const LinearMap found = fit_linear(linalg, pool, x, y);
  for (size_t u = 0; u < units; u++) {
    EXPECT_NEAR(found.constants[u], made.constants[u], 1e-2);
    for (size_t j = 0; j < d; j++) EXPECT_NEAR(found.weights(u, j), made.weights(u, j), 1e-3);
  }
  EXPECT_GT(fidelity(y, linear_outputs(linalg, pool, found, x)).r2, 0.999999);
}

// Normal equations: what a least-squares map leaves is orthogonal to every input, but for the ridge.
TEST_P(LinearControl, LeavesNothingThatAnInputExplains) {
  const Matrix<float> x = random_matrix<float>(500, 20, 802);
  const Matrix<double> y = random_matrix(500, 2, 803);
  const Matrix<double> fitted = linear_outputs(linalg, pool, fit_linear(linalg, pool, x, y), x);
  for (size_t u = 0; u < 2; u++) {
    double sum = 0;
    for (size_t i = 0; i < 500; i++) sum += y(i, u) - fitted(i, u);
    EXPECT_NEAR(sum, 0, 1e-9) << "the constant";
    for (size_t j = 0; j < 20; j++) {
      double together = 0;
      for (size_t i = 0; i < 500; i++) together += (y(i, u) - fitted(i, u)) * static_cast<double>(x(i, j));
      EXPECT_NEAR(together, 0, 500 * 1e-5);
    }
  }
}

TEST_P(LinearControl, BitsDoNotDependOnTheNumberOfThreads) {
  const Matrix<float> x = random_matrix<float>(600, 150, 804);
  const Matrix<double> y = random_matrix(600, 3, 805);
  ThreadPool one(1), many(5);
  const LinearMap a = fit_linear(linalg, one, x, y), b = fit_linear(linalg, many, x, y);
  EXPECT_TRUE(std::ranges::equal(a.weights.span(), b.weights.span()));
  EXPECT_EQ(a.constants, b.constants);
}

TEST_P(LinearControl, OfNoDataAndOfInputsThatNeverVary) {
  const LinearMap none = fit_linear(linalg, pool, Matrix<float>(0, 3), Matrix<double>(0, 2));
  EXPECT_EQ(none.constants, (std::vector<double>{0, 0}));
  const LinearMap still = fit_linear(linalg, pool, Matrix<float>(9, 3), random_matrix(9, 2, 806));
  for (const double w : still.weights.span()) EXPECT_EQ(w, 0);
}

// A bilinear layer is quadratic: the form is exact, and no linear map is.
TEST(LinearControlOfAModel, IsHeldAgainstTheModelItself) {
  for (const bool residual : {false, true}) {
    OneImageModel m(7, 1, true);
    m.model.config.residual = residual;
    Matrix<uint8_t> images(400, 20);
    const Rng rng(3, Stream::test, 807);
    for (size_t i = 0; i < images.size(); i++) images.data()[i] = static_cast<uint8_t>(rng.bits(i) % 256);
    const Activations all = m.reading.activations(0, images.view());
    const Directions classes = m.reading.classes();
    EXPECT_NEAR(form_fidelity(m.reading, classes, weights_lines(m.reading)[0], all).r2, 1, 1e-6);
    const Fidelity linear = linear_control(m.reading, classes, all, all);
    EXPECT_LT(linear.r2, 0.999);
    EXPECT_GT(linear.r2, residual ? 0.2 : 0);
    EXPECT_EQ(linear.inputs, 400u);
  }
}

}  // namespace
}  // namespace glint

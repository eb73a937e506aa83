// Functional similarity: the closed form against drawn inputs, and the layer's forms against dense ones.
#include "glint/spectra/model_comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "glint/base/rng.h"

namespace glint {
namespace {

QuadraticForm random_form(size_t n, uint64_t seed) {
  const Rng rng(seed, Stream::sample);
  QuadraticForm f{Matrix<double>(n, n), std::vector<double>(n), rng.normal(1000)};
  for (size_t i = 0; i < n; i++) {
    f.b[i] = rng.normal(500 + i);
    for (size_t j = 0; j <= i; j++) f.a(i, j) = f.a(j, i) = rng.normal(i * n + j);
  }
  return f;
}

double value(const QuadraticForm& f, const std::vector<double>& x) {
  double sum = f.c;
  for (size_t i = 0; i < x.size(); i++) {
    sum += f.b[i] * x[i];
    for (size_t j = 0; j < x.size(); j++) sum += x[i] * f.a(i, j) * x[j];
  }
  return sum;
}

TEST(FunctionalSimilarity, ClosedFormIsTheMeanOverDrawnInputs) {
  constexpr size_t n = 4, draws = 400000;
  const QuadraticForm a = random_form(n, 1), b = random_form(n, 2);
  const Rng rng(3, Stream::sample);
  double product = 0, mean_a = 0, mean_b = 0, squares = 0;
  std::vector<double> x(n);
  for (size_t d = 0; d < draws; d++) {
    for (size_t i = 0; i < n; i++) x[i] = rng.normal(d * n + i);
    const double fa = value(a, x), fb = value(b, x);
    product += fa * fb / draws, mean_a += fa / draws, mean_b += fb / draws, squares += fa * fb * fa * fb / draws;
  }
  const double error = 5 * std::sqrt(squares / draws);
  const GaussianProduct closed = gaussian_product(a, b);
  EXPECT_NEAR(closed.product, product, error);
  EXPECT_NEAR(closed.covariance, product - mean_a * mean_b, error);
  EXPECT_GT(std::fabs(closed.product), error);  // the draws are enough to tell
}

// Two small layers, with biases and without, seen from their own input and through a map.
struct SmallLayer {
  static constexpr size_t kHidden = 6, kInputs = 3, kUnits = 2;
  Matrix<float> left{kHidden, kInputs}, right{kHidden, kInputs}, embed{kInputs, 5};
  std::vector<float> bias_left, bias_right, embed_bias;
  Matrix<double> weights{kUnits, kHidden};
  GateTerms line;
  SmallLayer(uint64_t seed, bool bias) {
    const Rng rng(seed, Stream::sample);
    uint64_t at = 0;
    const auto next = [&] { return rng.normal(at++); };
    for (Matrix<float>* m : {&left, &right, &embed})
      for (size_t i = 0; i < m->size(); i++) m->data()[i] = static_cast<float>(next());
    for (size_t i = 0; i < weights.size(); i++) weights.data()[i] = next();
    for (size_t h = 0; h < kHidden; h++) line.gain.push_back(next()), line.shift.push_back(next());
    for (size_t h = 0; h < kHidden && bias; h++) {
      bias_left.push_back(static_cast<float>(next()));
      bias_right.push_back(static_cast<float>(next()));
    }
    for (size_t i = 0; i < kInputs && bias; i++) embed_bias.push_back(static_cast<float>(next()));
  }
  GluLayerView view() const { return {left, right, bias_left, bias_right, {}}; }
  InputMap map() const { return {.matrix = embed, .row_is_input = false, .bias = embed_bias}; }
  // sum_h weight (gain l + shift) r as a dense form of x, or of p through the map.
  QuadraticForm dense(size_t unit, bool mapped) const {
    const size_t n = mapped ? embed.cols() : kInputs;
    QuadraticForm f{Matrix<double>(n, n), std::vector<double>(n), 0};
    for (size_t h = 0; h < kHidden; h++) {
      std::vector<double> l(n), r(n);
      double l0 = bias_left.empty() ? 0 : static_cast<double>(bias_left[h]),
             r0 = bias_right.empty() ? 0 : static_cast<double>(bias_right[h]);
      for (size_t i = 0; i < kInputs; i++) {
        const double wl = static_cast<double>(left(h, i)), wr = static_cast<double>(right(h, i));
        for (size_t j = 0; j < n; j++) {
          const double e = mapped ? static_cast<double>(embed(i, j)) : i == j;
          l[j] += wl * e, r[j] += wr * e;
        }
        if (mapped && !embed_bias.empty())
          l0 += wl * static_cast<double>(embed_bias[i]), r0 += wr * static_cast<double>(embed_bias[i]);
      }
      const double q = weights(unit, h), g = line.gain[h], s = line.shift[h];
      for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) f.a(i, j) += q * g * (l[i] * r[j] + l[j] * r[i]) / 2;
        f.b[i] += q * (g * (l[i] * r0 + l0 * r[i]) + s * r[i]);
      }
      f.c += q * (g * l0 + s) * r0;
    }
    return f;
  }
};

TEST(FunctionalSimilarity, LayersAreTheirDenseForms) {
  const LinearAlgebra linalg;
  ThreadPool pool(1);
  for (const bool bias : {false, true})
    for (const bool mapped : {false, true}) {
      const SmallLayer one(1, bias), two(2, bias);
      const auto forms = [&](const SmallLayer& s) {
        const std::vector<UnitForm> units = unit_forms({linalg, pool, s.view()}, s.line, s.weights);
        return mapped ? functional_forms(linalg, units, s.map()) : functional_forms(linalg, units, SmallLayer::kInputs);
      };
      const FunctionalSimilarity got = functional_similarity(linalg, forms(one), forms(two));
      double sum = 0, sum_a = 0, sum_b = 0;
      for (size_t u = 0; u < SmallLayer::kUnits; u++) {
        const QuadraticForm a = one.dense(u, mapped), b = two.dense(u, mapped);
        const double ab = gaussian_product(a, b).covariance, aa = gaussian_product(a, a).covariance,
                     bb = gaussian_product(b, b).covariance;
        EXPECT_NEAR(got.unit[u], ab / std::sqrt(aa * bb), 1e-9) << bias << mapped;
        sum += ab, sum_a += aa, sum_b += bb;
      }
      EXPECT_NEAR(got.all, sum / std::sqrt(sum_a * sum_b), 1e-9) << bias << mapped;
      EXPECT_NEAR(functional_similarity(linalg, forms(one), forms(one)).all, 1, 1e-12);
      EXPECT_LT(std::fabs(got.all), 0.999);
    }
}

TEST(FunctionalSimilarity, AConstantIsLikeNothing) {
  const LinearAlgebra linalg;
  ThreadPool pool(1);
  const SmallLayer one(1, false);
  SmallLayer none(2, false);
  for (size_t i = 0; i < none.weights.size(); i++) none.weights.data()[i] = 0;
  const auto forms = [&](const SmallLayer& s) {
    return functional_forms(linalg, unit_forms({linalg, pool, s.view()}, s.line, s.weights), SmallLayer::kInputs);
  };
  EXPECT_EQ(functional_similarity(linalg, forms(one), forms(none)).all, 0);
}

}  // namespace
}  // namespace glint

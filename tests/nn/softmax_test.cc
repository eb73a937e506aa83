#include "glint/nn/softmax.h"

#include <gtest/gtest.h>

#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

TEST(Softmax, SumsToOneAndFollowsTheFormula) {
  const Matrix<float> logits = random_matrix(1, 1, 30, 3);
  const std::span<const float> x = logits.span();
  const std::vector<double> p = softmax(x);
  const double lse = log_sum_exp(x);
  double total = 0;
  for (size_t i = 0; i < p.size(); i++) {
    EXPECT_NEAR(p[i], std::exp(static_cast<double>(x[i]) - lse), 1e-15);
    total += p[i];
  }
  EXPECT_NEAR(total, 1, 1e-15);
  double direct = 0;
  for (const float v : x) direct += std::exp(static_cast<double>(v));
  EXPECT_NEAR(lse, std::log(direct), 1e-14);
}

// Neither overflows nor loses the small ones; a constant that is added changes nothing.
TEST(Softmax, LargeLogits) {
  const std::vector<double> x = {1000, 1000 + std::log(3.0), -1000}, one = {7};
  const std::vector<double> p = softmax(std::span<const double>(x));
  EXPECT_NEAR(p[0], 0.25, 1e-13);
  EXPECT_NEAR(p[1], 0.75, 1e-13);
  EXPECT_EQ(p[2], 0);
  EXPECT_NEAR(log_sum_exp(std::span<const double>(x)), 1000 + std::log(4.0), 1e-12);
  EXPECT_EQ(softmax(std::span<const double>(one)), std::vector<double>{1});
}

}  // namespace
}  // namespace glint::model_testing

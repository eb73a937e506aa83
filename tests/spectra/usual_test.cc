#include "glint/spectra/usual_inputs.h"

#include <gtest/gtest.h>

namespace glint {
namespace {

TEST(UsualInputs, TheLimitHoldsNinetyNineOfAHundredAndEmptyClassesHaveNoMean) {
  // Class 0 around (0, 0), class 2 around (10, 0); class 1 has no inputs.
  Matrix<float> train(4, 2);
  const float points[4][2] = {{-1, 0}, {1, 0}, {10, -2}, {10, 2}};
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 2; j++) train(i, j) = points[i][j];
  const std::vector<uint32_t> labels = {0, 0, 2, 2};
  // 99 inputs at distances 0.01 ... 0.99 from the first mean, and one far from both.
  Matrix<float> test(100, 2);
  for (size_t i = 0; i < 99; i++) test(i, 1) = static_cast<float>(i + 1) / 100;
  test(99, 0) = 10, test(99, 1) = 50;
  const UsualInputs usual = usual_inputs(train, labels, 3, test);
  ASSERT_EQ(usual.means.rows(), 2u);
  EXPECT_EQ(usual.means(0, 0), 0);
  EXPECT_EQ(usual.means(1, 0), 10);
  EXPECT_NEAR(usual.limit, 0.99, 1e-6);
  EXPECT_DOUBLE_EQ(nearest_mean(usual.means, test.view().row(99)), 50);
  const std::vector<float> between = {7, 4};
  EXPECT_DOUBLE_EQ(nearest_mean(usual.means, between), 5);
}

TEST(UsualInputs, OneTestInputIsItsOwnLimit) {
  Matrix<float> train(1, 1), test(1, 1);
  test(0, 0) = 3;
  EXPECT_EQ(usual_inputs(train, std::vector<uint32_t>{0}, 1, test).limit, 3);
}

}  // namespace
}  // namespace glint

#include "glint/paper/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace glint {
namespace {

// Closed forms: 1 degree of freedom is Cauchy's distribution, 2 have t = (2p - 1) sqrt(2 / (4 p (1 - p))).
TEST(StudentT, QuantilesWithAFormula) {
  for (const double p : {0.6, 0.75, 0.9, 0.975, 0.995, 0.9999}) {
    const double cauchy = std::tan(M_PI * (p - 0.5)), two = (2 * p - 1) * std::sqrt(1 / (2 * p * (1 - p)));
    EXPECT_NEAR(student_t_quantile(p, 1) / cauchy, 1, 1e-9) << p;
    EXPECT_NEAR(student_t_quantile(p, 2) / two, 1, 1e-9) << p;
    EXPECT_NEAR(student_t_quantile(1 - p, 2) / -two, 1, 1e-9) << p;
  }
  EXPECT_EQ(student_t_quantile(0.5, 3), 0);
}

// Printed tables have three decimals.
TEST(StudentT, QuantilesOfPrintedTables) {
  const std::vector<std::pair<double, double>> table = {{3, 3.182}, {4, 2.776}, {9, 2.262}, {30, 2.042}, {120, 1.980}};
  for (const auto& [dof, t] : table) EXPECT_NEAR(student_t_quantile(0.975, dof), t, 5e-4) << dof;
}

TEST(StudentT, QuantileInvertsTheDistribution) {
  for (const double dof : {1.0, 2.0, 4.0, 17.0, 300.0})
    for (const double t : {-8.0, -1.0, 0.3, 2.5, 6.0})
      EXPECT_NEAR(student_t_quantile(student_t_cdf(t, dof), dof), t, 1e-6 * std::fabs(t)) << dof << " " << t;
}

// d = 1, 2, 3: mean 2, sd 1, half = t(0.975, 2) / sqrt(3).
TEST(PairedDifference, IntervalOfThreePairs) {
  const std::vector<double> a = {2, 4, 6}, b = {1, 2, 3};
  const PairedDifference d = paired_difference(a, b);
  const double half = 4.302652729911275 / std::sqrt(3.0);
  EXPECT_EQ(d.n, 3u);
  EXPECT_DOUBLE_EQ(d.mean, 2);
  EXPECT_NEAR(d.sd, 1, 1e-14);
  EXPECT_NEAR(d.low, 2 - half, 1e-9);
  EXPECT_NEAR(d.high, 2 + half, 1e-9);
  EXPECT_FALSE(d.above());  // 2 - 2.48 < 0
  EXPECT_FALSE(d.below());
}

TEST(PairedDifference, ClearWhereTheIntervalLeavesOutZero) {
  const std::vector<double> a = {1.0, 1.1, 0.9}, b = {5.0, 5.2, 4.9};
  EXPECT_TRUE(paired_difference(a, b).below());
  EXPECT_TRUE(paired_difference(b, a).above());
}

TEST(PairedDifference, OnePairSaysNothing) {
  const std::vector<double> a = {1}, b = {100};
  const PairedDifference d = paired_difference(a, b);
  EXPECT_EQ(d.mean, -99);
  EXPECT_FALSE(d.below());
  EXPECT_TRUE(std::isinf(d.low) && std::isinf(d.high));
  EXPECT_EQ(paired_difference({}, {}).n, 0u);
}

}  // namespace
}  // namespace glint

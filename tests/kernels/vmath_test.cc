// The elementary functions against the C library, over the ranges that their comments promise.
#include "glint/kernels/vmath.h"

#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

// The bounds are those of the header, measured against double (for exp_parts) and long double (for the
// others).

TEST(Vmath, ExpPartsWithinOneUlp) {
  const Rng rng(2, Stream::test, 1);
  double worst = 0;
  for (uint64_t i = 0; i < 1'000'000; i++) {
    const float x = static_cast<float>((rng.uniform(i) - 0.5) * 300);
    const vmath::ExpParts e = vmath::exp_parts(x);
    ASSERT_GE(e.mantissa, 0.7f) << x;
    ASSERT_LE(e.mantissa, 1.42f) << x;
    const double want = std::ldexp(std::exp(static_cast<double>(x)), -e.exponent);
    worst = std::max(worst, ulps(e.mantissa, want));
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LT(worst, 1.0);
}

TEST(Vmath, ExpOfFloats) {
  for (float x = -87; x <= 88; x += 0.00731f)
    ASSERT_LT(ulps(vmath::exp(x), std::exp(static_cast<double>(x))), 1.0) << x;
  EXPECT_EQ(vmath::exp(0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(vmath::exp(std::nanf(""))));
}

TEST(Vmath, ExpOfDoubles) {
  const Rng rng(2, Stream::test, 2);
  long double worst = 0;
  for (uint64_t i = 0; i < 200'000; i++) {
    const double x = (rng.uniform(i) - 0.5) * 1400;
    const long double want = std::exp(static_cast<long double>(x));
    worst = std::max(worst, std::fabs(vmath::exp(x) - want) / want);
  }
  RecordProperty("worst_relative", std::to_string(static_cast<double>(worst / 0x1p-53L)) + " half ulps");
  EXPECT_LT(worst, 1e-15L);
  EXPECT_EQ(vmath::exp(0.0), 1.0);
}

TEST(Vmath, LogOfDoubles) {
  const Rng rng(2, Stream::test, 3);
  long double worst = 0;
  const auto check = [&](double x) {
    const long double want = std::log(static_cast<long double>(x));
    const long double error = std::fabs(vmath::log(x) - want);
    worst = std::max(worst, error / std::max(1e-300L, std::fabs(want)));
  };
  for (uint64_t i = 0; i < 200'000; i++) {
    check(std::exp((rng.uniform(3 * i) - 0.5) * 1400));
    check(0.5 + rng.uniform(3 * i + 1));  // around 1, where the logarithm is small
    check(1 + (rng.uniform(3 * i + 2) - 0.5) * 0x1p-20);
  }
  RecordProperty("worst_relative", std::to_string(static_cast<double>(worst / 0x1p-53L)) + " half ulps");
  EXPECT_LT(worst, 1e-15L);
  EXPECT_EQ(vmath::log(1.0), 0.0);
}

}  // namespace
}  // namespace glint::model_testing

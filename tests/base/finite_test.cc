#include "glint/base/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace glint {
namespace {

template <class T>
void expect_found_everywhere() {
  constexpr T kInf = std::numeric_limits<T>::infinity(), kNan = std::numeric_limits<T>::quiet_NaN();
  for (const size_t n : {0u, 1u, 3u, 16u, 37u}) {
    std::vector<T> x(n, std::numeric_limits<T>::max());
    for (size_t i = 0; i < n; i++) x[i] = i % 3 == 0 ? -x[i] : i % 3 == 1 ? T{0} : std::numeric_limits<T>::denorm_min();
    EXPECT_TRUE(all_finite(std::span<const T>(x)));
    for (size_t i = 0; i < n; i++)
      for (const T bad : {kInf, -kInf, kNan, -kNan}) {
        const T good = x[i];
        x[i] = bad;
        EXPECT_FALSE(all_finite(std::span<const T>(x))) << n << ", " << i;
        x[i] = good;
      }
  }
  Matrix<T> m(3, 5);
  const ConstMatrixView<T> left = m.view().col_range(0, 4);
  m(1, 4) = kInf;  // outside
  EXPECT_TRUE(all_finite(left));
  m(2, 3) = kNan;
  EXPECT_FALSE(all_finite(left));
  EXPECT_TRUE(all_finite(ConstMatrixView<T>()));
}

TEST(Finite, IsFoundAtEveryPlace) {
  expect_found_everywhere<float>();
  expect_found_everywhere<double>();
}

TEST(Finite, OverflowIsAnErrorOfNumbers) {
  try {
    throw_overflow("layer 2");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::numeric);
    EXPECT_EQ(e.parts().where, "layer 2");
  }
}

}  // namespace
}  // namespace glint

#include "glint/base/range.h"

#include <gtest/gtest.h>

#include "glint/base/error.h"

namespace glint {
namespace {

constexpr double kLowest = std::numeric_limits<double>::lowest(), kMost = std::numeric_limits<double>::max();

TEST(Range, IsSaidInWords) {
  EXPECT_EQ(range_text(0, 1), "a number from 0 to 1");
  EXPECT_EQ(range_text(kAboveZero, 1000), "a number above 0, at most 1000");
  EXPECT_EQ(range_text(kAboveZero, kMost), "a number above 0");
  EXPECT_EQ(range_text(1, kMost), "a number from 1 on");
  EXPECT_EQ(range_text(kLowest, 0.5), "a number up to 0.5");
  EXPECT_EQ(range_text(kLowest, kMost), "a finite number");
  EXPECT_EQ(range_text(0, 0.999999), "a number from 0 to 0.999999");
}

TEST(Range, WholeLimitsHaveNoExponent) {
  EXPECT_EQ(range_text(1, 1e9, "a whole number"), "a whole number from 1 to 1000000000");
  EXPECT_EQ(range_text(-1e6, 1e6), "a number from -1000000 to 1000000");
}

TEST(Range, TheErrorNamesTheParameter) {
  check_range("d_model", 1, 1, 16384);
  check_range("d_model", 16384, 1, 16384);
  for (const size_t value : {size_t{0}, size_t{16385}}) {
    try {
      check_range("d_model", value, 1, 16384);
      FAIL() << value;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_EQ(e.parts().where, "d_model");
      EXPECT_EQ(e.parts().expected, "a whole number from 1 to 16384");
    }
  }
}

}  // namespace
}  // namespace glint

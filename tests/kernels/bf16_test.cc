// Rounding to bf16, against a definition of its own: the nearest of the two neighbours, the even one at a
// tie.
#include "glint/kernels/bf16.h"

#include <limits>

#include "glint/base/error.h"
#include "glint/kernels/gemm.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

// By comparing distances in double. Beyond the largest bf16 the upper neighbour is 2^128, which is infinity.
uint16_t nearest_bf16(float f) {
  const uint32_t bits = static_cast<uint32_t>(vmath::float_to_bits(f));
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u), low = static_cast<uint16_t>(bits >> 16 & 0x7fffu);
  if (std::isinf(f)) return static_cast<uint16_t>(sign | 0x7f80u);
  const auto magnitude = [](uint32_t b) {
    return b == 0x7f80u ? 0x1p128 : static_cast<double>(from_bf16(static_cast<uint16_t>(b)));
  };
  const double a = std::fabs(static_cast<double>(f));
  const double below = a - magnitude(low), above = magnitude(low + 1u) - a;
  const bool up = above < below || (above == below && low % 2 == 1);
  return static_cast<uint16_t>(sign | (up ? low + 1u : low));
}

void expect_rounded(float f) {
  if (std::isnan(f)) {
    ASSERT_TRUE(std::isnan(from_bf16(to_bf16(f))));
    ASSERT_EQ(std::signbit(from_bf16(to_bf16(f))), std::signbit(f));
  } else {
    ASSERT_EQ(to_bf16(f), nearest_bf16(f)) << f;
  }
}

TEST(Bf16, RoundsToNearestEven) {
  const Rng rng(3, Stream::test);
  for (uint64_t i = 0; i < 2'000'000; i++) expect_rounded(vmath::bits_to_float(static_cast<int32_t>(rng.bits(i))));
}

TEST(Bf16, TiesAndNeighboursOfEveryValue) {
  for (uint32_t b = 0; b < 0x10000u; b++) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      expect_rounded(vmath::bits_to_float(static_cast<int32_t>(b << 16 | low)));
    const float exact = from_bf16(static_cast<uint16_t>(b));
    if (!std::isnan(exact)) {
      ASSERT_EQ(to_bf16(exact), b);
    }
  }
}

TEST(Bf16, SpecialValues) {
  EXPECT_EQ(to_bf16(0.0f), 0x0000);
  EXPECT_EQ(to_bf16(-0.0f), 0x8000);
  EXPECT_EQ(to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);  // nearer to 2^128 than to the largest bf16
  EXPECT_EQ(to_bf16(1.00390625f), 0x3f80);                        // 1 + 2^-8: a tie, down to even
  EXPECT_EQ(to_bf16(1.01171875f), 0x3f82);                        // 1 + 3 2^-8: a tie, up to even
  // A signalling NaN whose payload lies in the lost bits must not become infinity.
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(vmath::bits_to_float(0x7f800001)))));
}

TEST(Bf16, NoUnitIsAnErrorThatSaysWhatToDo) {
  try {
    const Products products(kernels(Isa::baseline), Bf16Unit::none);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().hint.find("f32"), std::string::npos);
  }
}

TEST(Precision, Names) {
  EXPECT_EQ(parse_precision("f32"), Precision::f32);
  EXPECT_EQ(parse_precision("bf16"), Precision::bf16);
  EXPECT_EQ(name(Precision::f32), "f32");
  EXPECT_EQ(name(Precision::bf16), "bf16");
  EXPECT_THROW(parse_precision("fp16"), Error);
}

}  // namespace
}  // namespace glint::model_testing

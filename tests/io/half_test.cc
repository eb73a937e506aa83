#include "glint/io/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace glint {
namespace {

TEST(Half, EveryOneReadsBackTheSame) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const uint16_t h = static_cast<uint16_t>(bits);
    if ((h >> 10 & 31) == 31 && (h & 1023)) {
      EXPECT_TRUE(std::isnan(from_half(h)));
      continue;
    }
    ASSERT_EQ(to_half(from_half(h)), h) << bits;
  }
}

TEST(Half, RoundsToNearestTiesToEven) {
  for (uint32_t bits = 0; bits + 1 < 0x7c00; bits++) {
    const uint16_t low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
    const float middle = 0.5f * (from_half(low) + from_half(high));  // exact: halves have 11 bits
    ASSERT_EQ(to_half(middle), bits % 2 ? high : low) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)), low) << bits;
    ASSERT_EQ(to_half(std::nextafter(middle, INFINITY)), high) << bits;
    ASSERT_EQ(to_half(-middle), (bits % 2 ? high : low) | 0x8000) << bits;
  }
  EXPECT_EQ(to_half(65519.0f), 0x7bff);
  EXPECT_EQ(to_half(65520.0f), 0x7c00);
  EXPECT_EQ(to_half(1e-9f), 0);
}

}  // namespace
}  // namespace glint

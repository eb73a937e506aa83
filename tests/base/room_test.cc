#include "glint/base/memory_room.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "tests/base/memory_limit.h"

namespace glint {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(Room, NothingIsTaken) {
  for (int i = 0; i < 1000; i++) EXPECT_TRUE(room_for(kMegabyte, 4));
  EXPECT_FALSE(room_for(SIZE_MAX / 4)) << "no processor has that many addresses";
}

TEST(RoomDeathTest, ALimitOfTheProcessCounts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [] {
    limit_memory(64 * kMegabyte);
    // Twice, because a question must not take what it asks for.
    for (int i = 0; i < 2; i++)
      if (!room_for(48 * kMegabyte) || !room_for(16 * kMegabyte, 3) || room_for(96 * kMegabyte) ||
          room_for(16 * kMegabyte, 6))
        std::_Exit(1);
    std::_Exit(0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
#endif
}

}  // namespace
}  // namespace glint

#include "glint/base/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace glint {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

TEST(Arena, PiecesAreAlignedAndDoNotOverlap) {
  Arena arena(1 << 16);
  const auto a = arena.alloc<char>(1);
  const auto b = arena.alloc<float>(17);
  const auto c = arena.alloc<double>(3);
  for (const void* p : {static_cast<void*>(a.data()), static_cast<void*>(b.data()), static_cast<void*>(c.data())})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kAlignment, 0u);
  EXPECT_GE(reinterpret_cast<char*>(b.data()), a.data() + 1);
  EXPECT_GE(reinterpret_cast<char*>(c.data()), reinterpret_cast<char*>(b.data() + 17));
  EXPECT_EQ(arena.used(), Arena::bytes_for<char>(1) + Arena::bytes_for<float>(17) + Arena::bytes_for<double>(3));
}

TEST(Arena, StartsZeroed) {
  Arena arena(kHugePage);
  const auto all = arena.alloc<uint64_t>(kHugePage / 8);
  EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](uint64_t v) { return v == 0; }));
}

TEST(Arena, BytesForIsWhatAllocTakes) {
  EXPECT_EQ(Arena::bytes_for<float>(0), 0u);
  EXPECT_EQ(Arena::bytes_for<float>(1), 64u);
  EXPECT_EQ(Arena::bytes_for<float>(16), 64u);
  EXPECT_EQ(Arena::bytes_for<float>(17), 128u);
  for (size_t n : {0, 1, 16, 17, 1000}) {
    Arena arena(1 << 16);
    arena.alloc<float>(n);
    EXPECT_EQ(arena.used(), Arena::bytes_for<float>(n)) << n;
  }
}

TEST(Arena, HoldsExactlyItsCapacity) {
  Arena arena(3 * kHugePage - 1);
  EXPECT_EQ(arena.capacity(), 3 * kHugePage);
  arena.alloc<char>(arena.capacity() - 64);
  arena.alloc<char>(64);
  try {
    arena.alloc<char>(1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.parts().what.find("is full"), std::string::npos) << e.what();
  }
  EXPECT_EQ(arena.used(), arena.capacity()) << "a refused piece takes nothing";
  EXPECT_EQ(arena.alloc<char>(0).size(), 0u);
}

TEST(Arena, ResetHandsOutTheSameMemoryAgain) {
  Arena arena(1 << 12);
  const float* first = arena.matrix<float>(8, 8).data();
  arena.reset();
  EXPECT_EQ(arena.used(), 0u);
  const MatrixView<float> again = arena.matrix<float>(8, 8);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(again.stride(), 8u);
}

TEST(Arena, OverflowsAreErrors) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  Arena arena(1 << 12);
  EXPECT_THROW(arena.alloc<double>(kMax), Error);
  EXPECT_THROW(arena.alloc<double>(kMax / 8 + 2), Error);  // 8 bytes when wrapped
  EXPECT_THROW(arena.matrix<float>(size_t{1} << 32, size_t{1} << 32), Error);
  EXPECT_THROW(Arena::bytes_for<double>(kMax / 8 + 2), Error);
  EXPECT_THROW((Arena{kMax}), Error);
  EXPECT_THROW((Arena{kMax - 5}), Error);
  EXPECT_EQ(arena.used(), 0u);
}

TEST(Arena, EmptyGivesNothing) {
  Arena arena;
  EXPECT_EQ(arena.capacity(), 0u);
  EXPECT_EQ(arena.alloc<float>(0).size(), 0u);
  EXPECT_THROW(arena.alloc<float>(1), Error);
}

TEST(Arena, Moves) {
  Arena a(1 << 12);
  const auto piece = a.alloc<int>(4);
  piece[3] = 42;
  Arena b = std::move(a);
  EXPECT_EQ(b.used(), 64u);
  EXPECT_EQ(piece[3], 42);
  EXPECT_EQ(a.capacity(), 0u);
  a = std::move(b);
  EXPECT_EQ(a.used(), 64u);
  EXPECT_EQ(piece[3], 42);
}

}  // namespace
}  // namespace glint

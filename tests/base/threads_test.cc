#include "glint/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "glint/base/error.h"
#include "tests/base/memory_limit.h"

namespace glint {
namespace {

class Pool : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 7));

TEST_P(Pool, RunsEveryTileOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (size_t tiles : {0, 1, 2, 6, 7, 8, 1000}) {
    std::vector<std::atomic<int>> runs(tiles);
    std::atomic<bool> worker_ok{true};
    pool.for_tiles(tiles, [&](size_t tile, size_t worker) {
      runs[tile]++;
      if (worker >= pool.size()) worker_ok = false;
    });
    for (size_t i = 0; i < tiles; i++) EXPECT_EQ(runs[i], 1) << "tile " << i << " of " << tiles;
    EXPECT_TRUE(worker_ok);
  }
}

TEST_P(Pool, AWorkerRunsOneTileAtATime) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> inside(pool.size());
  std::atomic<bool> shared{false};
  pool.for_tiles(200, [&](size_t, size_t worker) {
    if (inside[worker]++ != 0) shared = true;
    std::this_thread::yield();
    inside[worker]--;
  });
  EXPECT_FALSE(shared) << "scratch memory indexed by worker must be private";
}

TEST_P(Pool, WhatTilesWroteIsSeenAfterTheLoop) {
  ThreadPool pool(GetParam());
  std::vector<int> values(512);
  for (int round = 1; round <= 50; round++) {
    pool.for_tiles(values.size(), [&](size_t tile, size_t) { values[tile] += round; });  // not atomic
    for (int v : values) ASSERT_EQ(v, round * (round + 1) / 2);
  }
}

TEST_P(Pool, RethrowsTheExceptionOfTheLowestTile) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 200; round++) {
    std::atomic<size_t> runs{0};
    try {
      pool.for_tiles(64, [&](size_t tile, size_t) {
        runs++;
        if (tile >= 5 && tile % 2 == 1) {
          if (tile == 5) std::this_thread::yield();  // give the higher ones a chance to be first
          throw std::runtime_error(std::to_string(tile));
        }
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "5");
    }
    EXPECT_LE(runs, 64u);
    EXPECT_GE(runs, 6u) << "tiles before the failing one are finished";
  }
}

TEST_P(Pool, StopsHandingOutTilesAfterAnException) {
  ThreadPool pool(GetParam());
  std::atomic<size_t> runs{0};
  EXPECT_THROW(pool.for_tiles(100000,
                              [&](size_t tile, size_t) {
                                runs++;
                                if (tile == 0) throw std::runtime_error("stop");
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              }),
               std::runtime_error);
  EXPECT_LT(runs, 50000u);
}

TEST_P(Pool, IsUsableAfterAnException) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 20; round++) {
    EXPECT_THROW(pool.for_tiles(9, [](size_t, size_t) { throw std::logic_error("no"); }), std::logic_error);
    std::atomic<size_t> sum{0};
    pool.for_tiles(100, [&](size_t tile, size_t) { sum += tile; });
    ASSERT_EQ(sum, 4950u);
  }
}

TEST_P(Pool, ALoopInAStopScopeEndsWhenAsked) {
  ThreadPool pool(GetParam());
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<size_t> runs{0};
  size_t asked = 0;
  const auto tile = [&](size_t, size_t) {
    runs++;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  {
    const StopScope scope(pool, [&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return ++asked > 3;
    });
    try {
      pool.for_tiles(100000, tile);
      ADD_FAILURE() << "it was not stopped";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::interrupted);
    }
    EXPECT_EQ(asked, 4u);
    EXPECT_LT(runs, 50000u);
    EXPECT_THROW(pool.for_tiles(1, tile), Error) << "also a loop of one tile";
  }
  runs = 0;
  pool.for_tiles(50, tile);
  EXPECT_EQ(runs, 50u);
}

TEST_P(Pool, StopScopesNest) {
  ThreadPool pool(GetParam());
  size_t outer_asked = 0;
  const StopScope outer(pool, [&] { return ++outer_asked > 0; });
  {
    const StopScope inner(pool, {});
    pool.for_tiles(20, [](size_t, size_t) {});
    EXPECT_EQ(outer_asked, 0u);
  }
  EXPECT_THROW(pool.for_tiles(1, [](size_t, size_t) {}), Error);
  EXPECT_EQ(outer_asked, 1u);
}

TEST_P(Pool, WhatTheQuestionThrowsComesOut) {
  ThreadPool pool(GetParam());
  const StopScope scope(pool, []() -> bool { throw std::logic_error("asked"); });
  EXPECT_THROW(pool.for_tiles(10, [](size_t, size_t) {}), std::logic_error);
}

TEST_P(Pool, DoesManyShortLoops) {
  ThreadPool pool(GetParam());
  std::atomic<size_t> sum{0};
  for (int i = 0; i < 3000; i++) pool.for_tiles(5, [&](size_t tile, size_t) { sum += tile; });
  EXPECT_EQ(sum, 30000u);
}

TEST_P(Pool, WakesUpFromSleep) {
  ThreadPool pool(GetParam());
  for (int i = 0; i < 5; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the workers have stopped spinning
    std::atomic<size_t> runs{0};
    pool.for_tiles(10, [&](size_t, size_t) { runs++; });
    ASSERT_EQ(runs, 10u);
  }
}

TEST(ThreadPool, TheCallerWorksTooAndIsWorkerZero) {
  ThreadPool pool(3);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> wrong{0};
  pool.for_tiles(300, [&](size_t, size_t worker) {
    if ((worker == 0) != (std::this_thread::get_id() == caller)) wrong++;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, TakesConstAndTemporaryBodies) {
  ThreadPool pool(2);
  std::atomic<int> runs{0};
  const auto body = [&runs](size_t, size_t) { runs++; };
  pool.for_tiles(4, body);
  pool.for_tiles(4, [&runs](size_t, size_t) { runs++; });
  EXPECT_EQ(runs, 8);
}

TEST(ThreadPool, WorksWhenOversubscribed) {
  ThreadPool pool(8 * available_threads() + 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> neighbours;  // compete for the cores
  for (int i = 0; i < 3; i++)
    neighbours.emplace_back([&] {
      while (!stop) std::this_thread::yield();
    });
  std::atomic<size_t> sum{0};
  for (int i = 0; i < 100; i++) pool.for_tiles(50, [&](size_t tile, size_t) { sum += tile; });
  stop = true;
  for (std::thread& t : neighbours) t.join();
  EXPECT_EQ(sum, 100u * 1225);
}

TEST(ThreadPool, ManyPoolsComeAndGo) {
  for (int i = 0; i < 200; i++) {
    ThreadPool pool(1 + i % 4);
    std::atomic<int> runs{0};
    if (i % 3 == 0) pool.for_tiles(3, [&](size_t, size_t) { runs++; });
    EXPECT_EQ(runs, i % 3 == 0 ? 3 : 0);
  }
}

TEST(ThreadPool, TwoPoolsNest) {
  ThreadPool outer(2);
  std::atomic<size_t> runs{0};
  outer.for_tiles(4, [&](size_t, size_t) {
    ThreadPool inner(2);
    inner.for_tiles(5, [&](size_t, size_t) { runs++; });
  });
  EXPECT_EQ(runs, 20u);
}

TEST(ThreadPool, TooManyThreadsIsAnErrorAndNotTheEnd) {
  try {
    ThreadPool pool(1000000);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    EXPECT_NE(e.parts().what.find("1000000"), std::string::npos);
  }
}

// Each thread wants megabytes of stack: with little address space left some start and the next one cannot.
TEST(ThreadPoolDeathTest, AThreadThatCannotStartIsAnErrorToo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [] {
    const rlimit limit = {size_t{256} << 20, size_t{256} << 20};
    setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(1000);
    } catch (const Error& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::_Exit(e.exit_code());
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(1), "cannot start 1000 threads");
#endif
}

// At every size some allocation is the one that fails: none may end the process.
TEST(ThreadPoolDeathTest, WithoutMemoryItIsAnErrorAtAnySize) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need the address space";
#else
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [] {
    // Small allocations succeed from what malloc has, so the heap is used up first.
    limit_memory(size_t{40} << 20);
    std::vector<char*> taken;
    taken.reserve(1 << 20);
    for (size_t size = size_t{1} << 16; size >= 16; size /= 2)
      while (char* block = static_cast<char*>(std::malloc(size))) taken.push_back(block);
    for (size_t freed = 0; freed < taken.size(); freed += 64) {
      try {
        ThreadPool pool(8);
      } catch (const Error&) {
      } catch (const std::bad_alloc&) {
      }
      for (size_t i = 0; i < 64 && !taken.empty(); i++) std::free(taken.back()), taken.pop_back();
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
#endif
}

TEST(ThreadPool, ZeroMeansAllThatTheProcessMayUse) {
  EXPECT_EQ(ThreadPool(0).size(), available_threads());
  EXPECT_GE(available_threads(), 1u);
}

TEST(AvailableThreads, RespectsAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_threads(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace glint

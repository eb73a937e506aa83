// Leases: one holder at a time, and a dead one is followed by exactly one other.
#include "glint/lab/work/leases.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "glint/base/file.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using model_testing::Folder;
using std::chrono::milliseconds;

// As another host would have written it: nobody can ask whether its process lives.
void foreign_lease(const std::string& file, int number) {
  std::ofstream(file) << R"({"host":"elsewhere","pid":1,"started":"1","token":"t","time":0,"number":)" << number
                      << "}\n";
}

TEST(Leases, OneHolderAtATime) {
  const Folder folder;
  const std::string file = folder / "run.lease";
  Leases a, b;
  EXPECT_EQ(Leases::holder(file), "");
  EXPECT_TRUE(a.claim(file));
  EXPECT_FALSE(b.claim(file));
  EXPECT_NE(Leases::holder(file).find("process " + std::to_string(::getpid())), std::string::npos);
  a.release(file);
  EXPECT_FALSE(exists(file));
  EXPECT_TRUE(b.claim(file));
  EXPECT_FALSE(a.claim(file));
}

TEST(Leases, AreGivenBackAtTheEnd) {
  const Folder folder;
  { EXPECT_TRUE(Leases().claim(folder / "run.lease")); }
  EXPECT_FALSE(exists(folder / "run.lease"));
}

TEST(Leases, OfManyThatTryOneGetsIt) {
  const Folder folder;
  for (int round = 0; round < 50; round++) {
    const std::string file = folder / ("run-" + std::to_string(round) + ".lease");
    if (round % 2) foreign_lease(file, 0);  // stale at once, as times.stale is 0
    std::atomic<int> holders = 0, ready = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
      threads.emplace_back([&] {
        Leases own({.renew = milliseconds(100000), .stale = milliseconds(round % 2 ? 0 : 100000)});
        ready++;
        while (ready < 4) std::this_thread::yield();
        holders += own.claim(file);
        ready++;
        while (ready < 8) std::this_thread::yield();
      });
    for (std::thread& t : threads) t.join();
    if (round % 2 == 0) {
      EXPECT_EQ(holders, 1) << round;
    } else {
      EXPECT_GE(holders, 1) << round;  // the lease of a new holder is stale at once too: others may follow
    }
  }
}

// The process of this host is gone: nobody waits.
TEST(Leases, OfADeadProcessIsTakenOverAtOnce) {
  const Folder folder;
  const std::string file = folder / "run.lease";
  const pid_t child = ::fork();
  if (child == 0) {
    Leases own;
    ::_exit(own.claim(file) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(exists(file));
  Leases own({.renew = milliseconds(100000), .stale = milliseconds(100000)});
  EXPECT_TRUE(own.claim(file));
}

// Of another host: when its number has not moved for the time that it may take, by our own clock.
TEST(Leases, OfAnotherHostIsTakenOverWhenItIsStale) {
  const Folder folder;
  const std::string file = folder / "run.lease";
  foreign_lease(file, 1);
  Leases own({.renew = milliseconds(100000), .stale = milliseconds(300)});
  EXPECT_FALSE(own.claim(file));
  foreign_lease(file, 2);
  std::this_thread::sleep_for(milliseconds(310));
  EXPECT_FALSE(own.claim(file)) << "it was renewed";
  std::this_thread::sleep_for(milliseconds(310));
  EXPECT_TRUE(own.claim(file));
}

TEST(Leases, AreRenewedAndAThiefIsNoticed) {
  const Folder folder;
  const std::string file = folder / "run.lease";
  Leases own({.renew = milliseconds(20), .stale = milliseconds(100000)});
  ASSERT_TRUE(own.claim(file));
  const std::string first = read_file(file);
  while (read_file(file) == first) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_FALSE(own.lost(file));
  foreign_lease(file + ".new", 0);
  ASSERT_EQ(std::rename((file + ".new").c_str(), file.c_str()), 0);
  // A renewal that had looked before may still come; the thief looks as a thief would.
  while (!own.lost(file)) {
    std::this_thread::sleep_for(milliseconds(5));
    if (read_file(file).find("elsewhere") == std::string::npos) {
      foreign_lease(file + ".new", 0);
      std::rename((file + ".new").c_str(), file.c_str());
    }
  }
  own.release(file);
  EXPECT_TRUE(exists(file)) << "the lease of another was removed";
}

}  // namespace
}  // namespace glint

// What ranks tell each other at the start: differences are errors or notes that name the rank and the value.
// Ranks are threads here; another version is what a rank of another version would send.
#include "glint/lab/work/engine.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/io/json.h"
#include "glint/train/local_ranks.h"

namespace glint {
namespace {

struct Agreed {
  std::vector<InstructionLevel> levels;  // by rank
  std::vector<std::string> notes;        // of rank 0
  std::string error;                     // of rank 0
};

// own[r] at rank r; what `facts` has for a rank is sent in place of its own.
Agreed agree_all(const std::vector<InstructionLevel>& own, const std::map<size_t, Json>& facts = {}) {
  std::vector<std::unique_ptr<Transport>> transports = local_ranks(own.size());
  Agreed all;
  all.levels.resize(own.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < own.size(); r++)
    threads.emplace_back([&, r] {
      Group group(std::move(transports[r]));
      try {
        if (const auto other = facts.find(r); other != facts.end()) {
          group.gather(other->second.dump());
          group.broadcast(std::as_writable_bytes(std::span(&all.levels[r], 1)));
        } else {
          all.levels[r] = agree(group, own[r], [&](const std::string& text) {
            if (r == 0) all.notes.push_back(text);
          });
        }
      } catch (const Error& e) {
        if (r == 0) all.error = e.parts().what;
        group.report(e);
        group.abort(e.exit_code());
      }
    });
  for (std::thread& t : threads) t.join();
  return all;
}

TEST(Agreement, EqualRanksSayNothing) {
  const Agreed all = agree_all(std::vector<InstructionLevel>(3, {Isa::v3, Bf16Unit::none}));
  EXPECT_TRUE(all.notes.empty() && all.error.empty());
  for (const InstructionLevel& level : all.levels) EXPECT_EQ(level.isa, Isa::v3);
}

TEST(Agreement, TheLowestInstructionSetIsTakenAndItsRankNamed) {
  for (const size_t low : {0, 1, 2}) {
    std::vector<InstructionLevel> own(3, {Isa::v4, Bf16Unit::none});
    own[low].isa = Isa::baseline;
    const Agreed all = agree_all(own);
    EXPECT_EQ(all.error, "");
    for (const InstructionLevel& level : all.levels) EXPECT_EQ(level.isa, Isa::baseline) << low;
    ASSERT_EQ(all.notes.size(), 1u);
    const std::string expected = low == 0 ? "rank 0 has baseline" : "rank " + std::to_string(low) + " of 3 (on ";
    EXPECT_NE(all.notes[0].find(expected), std::string::npos) << all.notes[0];
    EXPECT_NE(all.notes[0].find("all compute with baseline"), std::string::npos) << all.notes[0];
  }
}

TEST(Agreement, AnotherVersionIsAnErrorThatNamesRankAndVersion) {
  const Json old = {{"version", "0.0.7"},
                    {"isa", static_cast<int>(Isa::v3)},
                    {"unit", static_cast<int>(Bf16Unit::none)},
                    {"host", "node7"}};
  const Agreed all = agree_all(std::vector<InstructionLevel>(3, {Isa::v3, Bf16Unit::none}), {{2, old}});
  EXPECT_EQ(all.error, "rank 2 of 3 (on node7) is glint 0.0.7, rank 0 is glint " + std::string(kVersion));
}

TEST(Agreement, EmulatedAndRealBf16DoNotMix) {
  const Agreed all = agree_all({{Isa::v4, Bf16Unit::avx512}, {Isa::v4, Bf16Unit::emulated}});
  EXPECT_NE(all.error.find("rank 1 of 2"), std::string::npos) << all.error;
  EXPECT_NE(all.error.find("emulates bf16"), std::string::npos) << all.error;
}

}  // namespace
}  // namespace glint

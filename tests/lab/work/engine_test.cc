#include "glint/lab/work/engine.h"

#include <gtest/gtest.h>

#include "glint/base/threads.h"

namespace glint {
namespace {

std::vector<std::string> notes_with(size_t threads) {
  std::vector<std::string> notes;
  const Engine engine(
      {.threads = threads},
      {.note = [&](const std::string& text) { notes.push_back(text); }, .progress = {}, .should_stop = {}});
  return notes;
}

TEST(Engine, MoreThreadsThanCoresAreNoted) {
  const size_t cores = available_threads();
  EXPECT_TRUE(notes_with(0).empty());
  EXPECT_TRUE(notes_with(cores).empty());
  const std::vector<std::string> notes = notes_with(cores + 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with(std::to_string(cores + 1) + " threads on " + std::to_string(cores) + " core"))
      << notes[0];
}

}  // namespace
}  // namespace glint

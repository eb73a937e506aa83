// Pieces of work on disk: whole ones are used again, and what a killed process left behind goes away.
#include "glint/lab/work/shares.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "glint/base/error.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

TEST(Pieces, TheNextProcessRemovesWhatAKilledOneLeft) {
  const model_testing::Folder folder;
  const Engine engine({.threads = 1});
  size_t computed = 0;
  const Pieces pieces{.count = 2,
                      .folder = folder / "layers",
                      .key = "k",
                      .label = "read",
                      .unit = "layers",
                      .compute = [&](size_t i) -> std::string {
                        if (++computed == 2) throw Error({.what = "stopped"});
                        return std::to_string(i);
                      }};
  const PieceSharing joined{.join = true};
  EXPECT_THROW(compute_pieces(engine, pieces, joined), Error);
  std::string kept;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) kept = entry.path().string();
  const std::string leftover = temporary_name(kept + "/piece-0"), other = temporary_name(kept + "/notes");
  write_atomic(real_files(), leftover, "half");
  write_atomic(real_files(), other, "the user's");
  EXPECT_EQ(compute_pieces(engine, pieces, joined).all, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(computed, 3u) << "the first piece was there";
  EXPECT_FALSE(exists(leftover));
  EXPECT_TRUE(exists(other));
}

}  // namespace
}  // namespace glint

#include "glint/cli/output.h"

#include <gtest/gtest.h>

namespace glint::cli {
namespace {

TEST(Prose, BreaksWideLinesAloneAndIndentsBehindALabel) {
  EXPECT_EQ(prose("one two three\nfour\n", 20), "one two three\nfour\n");
  EXPECT_EQ(prose("one two three\nfour\n", 9), "one two\nthree\nfour\n");
  EXPECT_EQ(prose("data:  one two three", 15), "data:  one two\n       three");
  EXPECT_EQ(prose("a word: two three", 12), "a word: two\nthree");
  EXPECT_EQ(prose("one \x1b[1mtwo three", 9), "one \x1b[1mtwo three");
  EXPECT_EQ(prose("", 9), "");
}

}  // namespace
}  // namespace glint::cli

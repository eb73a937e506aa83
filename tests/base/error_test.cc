#include "glint/base/error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glint {
namespace {

TEST(Error, RendersEveryPartOnItsOwnLine) {
  const Error e({.code = ErrorCode::bad_file,
                 .what = "a label is 12",
                 .where = "labels.idx, byte 9",
                 .expected = "0 to 9",
                 .hint = "fetch the file again"});
  EXPECT_STREQ(e.what(),
               "a label is 12\n  where:    labels.idx, byte 9\n  expected: 0 to 9\n"
               "  try:      fetch the file again");
  EXPECT_EQ(e.parts().where, "labels.idx, byte 9");
}

TEST(Error, LeavesOutEmptyParts) {
  EXPECT_STREQ(Error({.what = "no"}).what(), "no");
  EXPECT_STREQ(Error({.what = "no", .expected = "yes"}).what(), "no\n  expected: yes");
}

TEST(Error, CodesAreTheExitCodesOfTheProgram) {
  EXPECT_EQ(Error({.what = "x"}).exit_code(), 1);
  EXPECT_EQ(Error({.code = ErrorCode::usage}).exit_code(), 2);
  EXPECT_EQ(Error({.code = ErrorCode::bad_file}).exit_code(), 3);
  EXPECT_EQ(Error({.code = ErrorCode::numeric}).exit_code(), 4);
  EXPECT_EQ(Error({.code = ErrorCode::interrupted}).exit_code(), 130);
  EXPECT_EQ(Error({.code = ErrorCode::numeric}).code(), ErrorCode::numeric);
}

TEST(Error, CanBeCopiedAndCaughtAsRuntimeError) {
  try {
    const Error first({.what = "one"});
    throw Error(first);
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "one");
  }
}

const std::vector<std::string> kGates = {"sqs", "identity", "relu", "gelu", "silu", "quadratic-shrink"};

TEST(Nearest, FindsSlips) {
  EXPECT_EQ(nearest("sqz", kGates), "sqs");           // substitution
  EXPECT_EQ(nearest("sqqs", kGates), "sqs");          // insertion
  EXPECT_EQ(nearest("identiy", kGates), "identity");  // deletion
  EXPECT_EQ(nearest("rleu", kGates), "relu");         // neighbours swapped: one slip
  EXPECT_EQ(nearest("GELU", kGates), "gelu");         // case
}

TEST(Nearest, TakesABeginningForTheWord) {
  EXPECT_EQ(nearest("quad", kGates), "quadratic-shrink");
  EXPECT_EQ(nearest("Quad", kGates), "quadratic-shrink");
  EXPECT_EQ(nearest("qu", kGates), "") << "two letters are too few to tell";
}

TEST(Nearest, PrefersTheNearerAndThenTheFirst) {
  EXPECT_EQ(nearest("gelo", {"gala", "gelu"}), "gelu");
  EXPECT_EQ(nearest("xelu", {"relu", "gelu"}), "relu");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("transformer", kGates), "");
  EXPECT_EQ(nearest("", kGates), "");
  EXPECT_EQ(nearest("x", {"y"}), "") << "no letter in common is no slip";
  EXPECT_EQ(nearest("relu", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'r'), kGates), "");
  EXPECT_EQ(nearest("relu", {std::string(100000, 'r')}), "");
}

TEST(Suggest, NamesTheNearestOrLists) {
  EXPECT_EQ(suggest("sqz", kGates), "did you mean sqs?");
  EXPECT_EQ(suggest("zzz", {"relu", "gelu"}), "one of relu, gelu");
  EXPECT_EQ(suggest("zzz", {}), "");
}

}  // namespace
}  // namespace glint

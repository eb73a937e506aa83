#include "glint/cli/parameters.h"

#include <gtest/gtest.h>

namespace glint::cli {
namespace {

const CommandWords kWords{.parameters = {"d_model", "out", "force", "byte_fallback", "data", "gates"},
                          .verbs = {"tokenize", "train", "gates", "data"}};

std::string typed(const std::string& text) { return as_typed(text, kWords); }

TEST(Parameters, AreShownAsOptions) {
  EXPECT_EQ(typed("a smaller `d_model`"), "a smaller --d-model");
  EXPECT_EQ(typed("`out=my tales`, or `force`"), "--out my tales, or --force");
  EXPECT_EQ(typed("`force=true` `byte_fallback=false`"), "--force --no-byte-fallback");
}

TEST(Parameters, CallsAreShownAsCommands) {
  EXPECT_EQ(typed("`gates()` lists them"), "glint gates lists them");
  EXPECT_EQ(typed("`tokenize(a.txt, out=DIR, force=true)`, then `data=DIR`"),
            "glint tokenize a.txt --out DIR --force, then --data DIR");
  // Commas inside quotes belong to a name.
  EXPECT_EQ(typed("`train(data='a, b', out=c)`"), "glint train --data 'a, b' --out c");
}

TEST(Parameters, AnythingElseStaysAsItIs) {
  for (const char* text : {"", "plain", "`", "a ` b", "`unknown`", "`no(thing)`", "``", "--out d_model", "`d_model"})
    EXPECT_EQ(typed(text), text);
  EXPECT_EQ(typed("`x`d_model`"), "`x--d-model");  // the second mark begins a pair as well as it ends one
}

TEST(Parameters, AnErrorNamesTheOptionEverywhere) {
  const ErrorParts e = as_typed({.code = ErrorCode::usage,
                                 .what = "`d_model` = 0 is out of range",
                                 .where = "d_model",
                                 .expected = "`d_model` above 0",
                                 .hint = "`train(quick, d_model=8)`"},
                                kWords);
  EXPECT_EQ(e.code, ErrorCode::usage);
  EXPECT_EQ(e.what, "--d-model = 0 is out of range");
  EXPECT_EQ(e.where, "--d-model");
  EXPECT_EQ(e.expected, "--d-model above 0");
  EXPECT_EQ(e.hint, "glint train quick --d-model 8");
  EXPECT_EQ(as_typed(ErrorParts{.where = "runs/d_model"}, kWords).where, "runs/d_model");
}

TEST(Parameters, APathMayHaveTheNameOfOne) {
  ErrorParts e{.code = ErrorCode::bad_file, .where = "data"};
  EXPECT_EQ(as_typed(e, kWords).where, "data");
  e.code = ErrorCode::usage;
  EXPECT_EQ(as_typed(e, kWords).where, "--data");
  CommandWords words = kWords;
  words.given = {"model", "data"};
  EXPECT_EQ(as_typed(e, words).where, "data");
}

}  // namespace
}  // namespace glint::cli

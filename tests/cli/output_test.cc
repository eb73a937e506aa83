#include "glint/cli/output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "glint/base/text.h"

namespace glint::cli {
namespace {

TEST(Output, SignsBecomeAsciiOfTheSameWidth) {
  EXPECT_EQ(to_ascii("0.1302 ± 0.0014", true), "0.1302 +-0.0014");
  EXPECT_EQ(to_ascii("R² −1.5 ·happy", true), "R2 -1.5 _happy");
  for (const std::string text : {"1 ± 2", "−3", "█▓▒░", "▛▜▞▚▀▄▌▐", "·a …", "a × b"}) {
    const std::string plain = to_ascii(text, true);
    EXPECT_EQ(plain.size(), display_width(text)) << text;
    EXPECT_EQ(plain.find('?'), plain.npos) << text;
  }
}

TEST(Output, WhatHasNoAsciiFormIsMarkedOrKept) {
  EXPECT_EQ(to_ascii("日本 é", true), "?? ?");
  EXPECT_EQ(to_ascii("日本 é", false), "日本 é");
  EXPECT_EQ(to_ascii("\xff\xe2\x96", true), "??");
}

TEST(Output, TheBufferPassesEverythingOn) {
  std::ostringstream target;
  AsciiBuffer buffer(*target.rdbuf(), true);
  std::ostream stream(&buffer);
  stream << "a ± b" << 'c' << 12 << std::flush;
  EXPECT_EQ(target.str(), "a +-bc12");
}

// What the test changes in the environment is put back.
class Environment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      before_.emplace_back(value ? value : "");
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kNames); i++)
      before_[i].empty() ? ::unsetenv(kNames[i]) : ::setenv(kNames[i], before_[i].c_str(), 1);
  }
  static constexpr const char* kNames[] = {"LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"};
  std::vector<std::string> before_;
};

TEST_F(Environment, TheLocaleDecides) {
  EXPECT_TRUE(wants_ascii(true));
  EXPECT_FALSE(wants_ascii(false));
  ::setenv("LANG", "en_GB.UTF-8", 1);
  EXPECT_FALSE(wants_ascii(true));
  ::setenv("LC_ALL", "C", 1);  // goes before LANG
  EXPECT_TRUE(wants_ascii(false));
  ::setenv("LC_ALL", "C.utf8", 1);
  EXPECT_FALSE(wants_ascii(true));
}

TEST_F(Environment, ColumnsMayBeSet) {
  ::setenv("COLUMNS", "132", 1);
  EXPECT_EQ(result_columns(), 132u);
  ::setenv("COLUMNS", "wide", 1);
  EXPECT_GT(result_columns(), 0u);
}

TEST(TypedNumber, HasTheMinusThatProgramsRead) {
  EXPECT_EQ(typed_number(-0.0692), "-0.0692");
  EXPECT_EQ(typed_number(0.118), "+0.118");
}

}  // namespace
}  // namespace glint::cli

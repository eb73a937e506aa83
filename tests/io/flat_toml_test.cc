// The language of recipes: what TOML means by each value, and that nothing else is taken.
#include "glint/io/flat_toml.h"

#include <gtest/gtest.h>

#include <cmath>

#include "glint/base/error.h"

namespace glint {
namespace {

TomlLine one(const std::string& text) {
  const std::vector<TomlLine> all = parse_flat_toml(text, "r.toml");
  EXPECT_EQ(all.size(), 1u) << text;
  return all.empty() ? TomlLine{} : all[0];
}
template <class T>
T value(const std::string& text) {
  const TomlLine l = one("k = " + text + " # why\r\n");
  EXPECT_EQ(l.key, "k");
  EXPECT_TRUE(std::holds_alternative<T>(l.value)) << text;
  return std::holds_alternative<T>(l.value) ? std::get<T>(l.value) : T{};
}

TEST(FlatToml, Values) {
  EXPECT_EQ(value<std::string>("\"\""), "");
  EXPECT_EQ(value<std::string>("\"a # b\\t\\\"\\\\\\u00e9\\U0001F600\""), "a # b\t\"\\\u00e9\U0001F600");
  EXPECT_EQ(value<std::string>("'a\\n\"'"), "a\\n\"");
  EXPECT_EQ(value<int64_t>("-1_000"), -1000);
  EXPECT_EQ(value<int64_t>("+0"), 0);
  EXPECT_EQ(value<int64_t>("0xFf_0"), 0xff0);
  EXPECT_EQ(value<int64_t>("0o17"), 15);
  EXPECT_EQ(value<int64_t>("0b101"), 5);
  EXPECT_EQ(value<int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(value<int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(value<double>("1e-3"), 1e-3);
  EXPECT_EQ(value<double>("-1_0.2_5E+1"), -102.5);
  EXPECT_EQ(value<double>("0.0"), 0.0);
  EXPECT_EQ(value<double>("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(value<double>("+nan")));
  EXPECT_TRUE(value<bool>("true"));
  EXPECT_FALSE(value<bool>("false"));
}

TEST(FlatToml, LinesKeysAndComments) {
  const auto all = parse_flat_toml("\xEF\xBB\xBF# one\r\n\n \t a-1_B=1\n'two words' = 2\n\"\\u0061\"\t=\t3", "x");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].key, "a-1_B");
  EXPECT_EQ(all[0].line, 3u);
  EXPECT_EQ(all[1].key, "two words");
  EXPECT_EQ(all[2].key, "a");
  EXPECT_EQ(all[2].line, 5u);
  EXPECT_TRUE(parse_flat_toml("", "x").empty());
}

TEST(FlatToml, EverythingElseIsRefusedWithItsLine) {
  for (const char* text : {"a",
                           "a =",
                           "= 1",
                           "a 1",
                           "a = 1 2",
                           "a = 1, b = 2",
                           "a = 01",
                           "a = 1_",
                           "a = _1",
                           "a = 1__0",
                           "a = 1.",
                           "a = .5",
                           "a = 1e",
                           "a = 1e+",
                           "a = +0x1",
                           "a = 0x",
                           "a = 0xg",
                           "a = 0b2",
                           "a = tru",
                           "a = True",
                           "a = +true",
                           "a = infs",
                           "a = 1e400",
                           "a = 1-2",
                           "a = 12:30",
                           "a = 1979-05-27",
                           "a = [1]",
                           "a = {b = 1}",
                           "[a]",
                           "[[a]]",
                           "a.b = 1",
                           "a . b = 1",
                           "'a'.b = 1",
                           "a = \"x",
                           "a = 'x",
                           "a = \"x\\",
                           "a = \"\\q\"",
                           "a = \"\\u12\"",
                           "a = \"\\ud800\"",
                           "a = \"\\U00110000\"",
                           "a = \"\\u-001\"",
                           "a = \"\"\"x\"\"\"",
                           "a = '''x'''",
                           "a = \"x\" y",
                           "a = \x01",
                           "# \x7f",
                           "a = \"\xff\"",
                           "# \xc0\x80",
                           "a\rb = 1",
                           "\xc3\xa9 = 1",
                           "a = 9223372036854775808",
                           "a = -"}) {
    try {
      parse_flat_toml(std::string("b = 1\n") + text + "\nc = 1\n", "r.toml");
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_file) << text;
      EXPECT_EQ(e.parts().where, "r.toml, line 2") << text;
      EXPECT_FALSE(e.parts().expected.empty()) << text;
    }
  }
  EXPECT_THROW(parse_flat_toml("a = 1\n'a' = 2\n", "r.toml"), Error);
  EXPECT_THROW(parse_flat_toml(std::string("a = 1\0", 6), "r.toml"), Error);
}

}  // namespace
}  // namespace glint

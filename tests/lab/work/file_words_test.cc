// File names from whatever a class or a token is called.
#include "glint/lab/work/file_words.h"

#include <gtest/gtest.h>

#include <set>

namespace glint {
namespace {

TEST(FileWords, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(file_word("3"), "3");
  EXPECT_EQ(file_word("\u00b7happy"), "_happy");
  EXPECT_EQ(file_word("3 - 5"), "3-minus-5");
  EXPECT_EQ(file_word("\u00b7happy - \u00b7sad"), "_happy-minus-_sad");
  EXPECT_EQ(file_word("- a + b"), "minus-a-plus-b");
  EXPECT_EQ(file_word("all via v2 v1"), "all-via-v2-v1");
}

TEST(FileWords, AnythingElseIsSafeAndItsOwn) {
  const std::string texts[] = {"",
                               " ",
                               "  ",
                               ".",
                               "..",
                               "../a",
                               "a/b",
                               "a\\b",
                               "a-b",
                               "a b",
                               "a  b",
                               "A b",
                               "a B",
                               "a_b",
                               "\u00b7"
                               "a",
                               "_a",
                               "a",
                               "A",
                               "\u00e4",
                               "\u00c4",
                               "\u4e2d",
                               "\xff",
                               "a\n",
                               "a\tb",
                               "a:b",
                               "a*b",
                               "con",
                               "-",
                               "+",
                               "minus",
                               "plus",
                               "a minus b",
                               "a - b",
                               "a-minus-b",
                               "3, 5",
                               "3 5",
                               "#12",
                               "~",
                               "$HOME",
                               std::string(300, 'x'),
                               std::string(301, 'x'),
                               std::string(300, 'X'),
                               std::string("a\0b", 3)};
  std::set<std::string> words;
  for (const std::string& text : texts) {
    const std::string word = file_word(text);
    EXPECT_FALSE(word.empty()) << text;
    EXPECT_LE(word.size(), 60u) << text;
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_"), std::string::npos) << word;
    EXPECT_TRUE(words.insert(word).second) << text << " shares " << word;
  }
}

}  // namespace
}  // namespace glint

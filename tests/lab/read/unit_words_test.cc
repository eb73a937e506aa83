#include "glint/lab/read/direction.h"

#include <gtest/gtest.h>

#include "glint/base/error.h"

namespace glint {
namespace {

const std::vector<std::string> kDigits = {"0", "1", "2", "3", "4"};
const std::vector<std::string> kClothes = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Shirt"};

using Words = std::vector<UnitWord>;

TEST(UnitWords, ClassesRangesDifferencesAndLists) {
  EXPECT_EQ(parse_units("3", kDigits), (Words{{3}}));
  EXPECT_EQ(parse_units("1..3", kDigits), (Words{{1}, {2}, {3}}));
  EXPECT_EQ(parse_units("3-1", kDigits), (Words{{3, 1}}));
  EXPECT_EQ(parse_units("all", kDigits), (Words{{0}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(parse_units("4, 0-1 ,4", kDigits), (Words{{4}, {0, 1}}));  // once each
}

TEST(UnitWords, NamesInAnyCaseAlsoWithAHyphen) {
  EXPECT_EQ(parse_units("trouser,DRESS", kClothes), (Words{{1}, {3}}));
  EXPECT_EQ(parse_units("t-shirt/top", kClothes), (Words{{0}}));
  EXPECT_EQ(parse_units("t-shirt/top-shirt", kClothes), (Words{{0, 4}}));
  EXPECT_EQ(parse_units("2-dress", kClothes), (Words{{2, 3}}));
  EXPECT_EQ(parse_units("trouser..dress", kClothes), (Words{{1}, {2}, {3}}));
  EXPECT_EQ(parse_class("Shirt", kClothes, "class"), 4u);
}

TEST(UnitWords, ANameGoesBeforeANumber) { EXPECT_EQ(parse_units("1", {"1", "2", "3"}), (Words{{0}})); }

TEST(UnitWords, WhatIsNoUnitIsRefusedWithTheNearest) {
  const auto refused = [](const std::string& text, const std::vector<std::string>& names) {
    try {
      parse_units(text, names);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage) << text;
      return e.parts().what + "|" + e.parts().hint;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("trousers", kClothes), "no class 'trousers'|did you mean trouser?");
  EXPECT_EQ(refused("dress-trousr", kClothes), "no class 'trousr'|did you mean trouser?");
  for (const char* text : {"", ",", "1,", "5", "-1", "3..1", "2-2", "1-9", "99999999999999999999", "..", "-"})
    EXPECT_NE(refused(text, kDigits), "accepted") << text;
}

}  // namespace
}  // namespace glint

#include "glint/cli/picture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>

#include "glint/base/text.h"

namespace glint::cli {
namespace {

using Form = Drawing::Form;

Picture make(size_t rows, size_t cols, const std::vector<float>& values, Tone tone = Tone::gray) {
  Picture p{.values = Matrix<float>(rows, cols), .tone = tone};
  std::copy(values.begin(), values.end(), p.values.data());
  return p;
}

std::string draw_one(Picture p, Form form, size_t picture_columns, size_t columns = 80) {
  std::vector<Picture> all;
  all.push_back(std::move(p));
  return draw(all, {.form = form, .columns = columns, .picture_columns = picture_columns});
}

std::string without_escapes(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\x1b')
      while (text[i] != 'm') i++;
    else
      out += text[i];
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(Picture, ACellShowsFourParts) {
  const char* const expected[16] = {"", "▘", "▝", "▀", "▖", "▌", "▞", "▛", "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"};
  for (unsigned bits = 0; bits < 16; bits++) {
    std::vector<float> v;
    for (unsigned k = 0; k < 4; k++) v.push_back(bits >> k & 1 ? 1.0f : 0.0f);
    EXPECT_EQ(draw_one(make(2, 2, v), Form::blocks, 1), expected[bits] + std::string("\n")) << bits;
  }
}

TEST(Picture, AColumnAPixelIsAHalfBlock) {
  EXPECT_EQ(draw_one(make(2, 3, {1, 0, 1, 0, 1, 1}), Form::blocks, 3), "▀▄█\n");
}

TEST(Picture, EvenGraysAreShadesOfTheirBrightness) {
  const std::pair<float, const char*> steps[] = {{0.05f, "\n"},   {0.25f, "░░\n"}, {0.45f, "▒▒\n"},
                                                 {0.55f, "▒▒\n"}, {0.75f, "▓▓\n"}, {0.95f, "██\n"}};
  for (const auto& [v, text] : steps) EXPECT_EQ(draw_one(make(2, 2, {v, v, v, v}), Form::blocks, 2), text) << v;
}

TEST(Picture, SmallerThanItsPixelsShowsMeans) {
  std::vector<float> checkers;
  for (size_t i = 0; i < 64; i++) checkers.push_back((i / 8 + i) % 2 ? 1.0f : 0.0f);
  EXPECT_EQ(draw_one(make(8, 8, checkers), Form::blocks, 2), "▒▒\n");
  EXPECT_EQ(draw_one(make(8, 8, checkers), Form::rgb, 2), "\x1b[48;2;128;128;128m  \x1b[0m\n");
  // Parts of 1.5 pixels: the middle one counts half on each side.
  EXPECT_EQ(draw_one(make(3, 3, {0, 1, 0, 0, 1, 0, 0, 1, 0}), Form::rgb, 1), "\x1b[48;2;85;85;85m \x1b[0m\n");
}

TEST(Picture, TwoTonesAreTheMeansOfTheBestCut) {
  // 51 and 204 are 0.2 and 0.8 of 255.
  EXPECT_EQ(draw_one(make(2, 2, {0.8f, 0.8f, 0.2f, 0.2f}), Form::rgb, 2),
            "\x1b[38;2;204;204;204;48;2;51;51;51m▀▀\x1b[0m\n");
  // Three near values and one apart: the one apart gets its own tone.
  EXPECT_EQ(draw_one(make(2, 2, {0.0f, 0.0f, 0.0f, 1.0f}), Form::rgb, 1),
            "\x1b[38;2;0;0;0;48;2;255;255;255m▛\x1b[0m\n");
}

TEST(Picture, PaletteHasBlackGraysAndWhite) {
  EXPECT_EQ(draw_one(make(1, 1, {0}), Form::palette, 1), "\x1b[48;5;16m \x1b[0m\n");
  EXPECT_EQ(draw_one(make(1, 1, {1}), Form::palette, 1), "\x1b[48;5;231m \x1b[0m\n");
  EXPECT_EQ(draw_one(make(1, 1, {128.0f / 255}), Form::palette, 1), "\x1b[48;5;244m \x1b[0m\n");
  // Tones that the palette cannot tell apart are one colour.
  EXPECT_EQ(draw_one(make(2, 1, {0.500f, 0.502f}), Form::palette, 1), "\x1b[48;5;244m \x1b[0m\n");
}

TEST(Picture, EveryGrayGetsTheNearestOfThePalette) {
  for (int level = 0; level < 256; level++) {
    const std::string text = draw_one(make(1, 1, {static_cast<float>(level) / 255}), Form::palette, 1);
    const int index = std::stoi(text.substr(text.find("48;5;") + 5));
    const auto value = [](int i) { return i == 16 ? 0 : i == 231 ? 255 : 8 + 10 * (i - 232); };
    int least = 255;
    for (int i = 232; i < 256; i++) least = std::min(least, std::abs(value(i) - level));
    least = std::min({least, level, 255 - level});
    EXPECT_EQ(std::abs(value(index) - level), least) << level << " became " << index;
  }
}

TEST(Picture, AsciiGoesFromNothingToFull) {
  std::set<std::string> seen;
  for (int i = 0; i < 10; i++) {
    const std::string text = draw_one(make(1, 1, {static_cast<float>(i) / 9}), Form::ascii, 1);
    seen.insert(text);
    for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_TRUE(seen.count("\n") && seen.count("@\n"));
}

TEST(Picture, SignsAreToldApartWithAndWithoutColour) {
  const auto one = [](float v, Form form) { return draw_one(make(1, 1, {v}, Tone::signed_value), form, 1); };
  for (const Form form : {Form::ascii, Form::blocks, Form::palette, Form::rgb})
    for (const float v : {0.3f, 0.6f, 1.0f}) {
      EXPECT_NE(one(v, form), one(-v, form)) << v;
      EXPECT_NE(one(v, form), one(0, form)) << v;
      EXPECT_NE(one(-v, form), one(0, form)) << v;
    }
  EXPECT_EQ(one(1, Form::rgb), "\x1b[48;2;230;159;0m \x1b[0m\n");
  EXPECT_EQ(one(-1, Form::rgb), "\x1b[48;2;86;180;233m \x1b[0m\n");
}

TEST(Picture, SignedPicturesAreScaled) {
  Matrix<float> m(1, 3);
  m(0, 0) = -4, m(0, 1) = 2, m(0, 2) = std::numeric_limits<float>::quiet_NaN();
  const Picture own = signed_picture(m);
  EXPECT_EQ(own.values(0, 0), -1);
  EXPECT_EQ(own.values(0, 1), 0.5f);
  EXPECT_EQ(signed_picture(m, {}, 8).values(0, 0), -0.5f);
  m(0, 0) = m(0, 1) = m(0, 2) = 0;
  EXPECT_EQ(signed_picture(m).values(0, 0), 0);
}

TEST(Picture, ValuesThatAreNoNumbersAndOutOfRangeAreDrawn) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const Tone tone : {Tone::gray, Tone::signed_value})
    for (const Form form : {Form::ascii, Form::blocks, Form::palette, Form::rgb})
      for (const float v : {inf, -inf, nan, 1e30f, -1e30f})
        EXPECT_LE(display_width(without_escapes(lines_of(draw_one(make(1, 1, {v}, tone), form, 1))[0])), 1u);
}

std::vector<Picture> captioned(size_t count) {
  std::vector<Picture> all;
  for (size_t i = 0; i < count; i++) {
    const std::vector<uint8_t> pixels(28 * 28, 200);
    all.push_back(gray_picture(pixels, 28, 28, {"#" + std::to_string(i), "true Ankle boot or more"}));
  }
  return all;
}

TEST(Picture, NeverWiderThanTheTerminal) {
  const std::vector<Picture> all = captioned(7);
  for (const Form form : {Form::ascii, Form::blocks, Form::palette})
    for (size_t columns = 1; columns <= 130; columns += 3)
      for (const size_t picture : {size_t{1}, size_t{14}, size_t{28}, size_t{200}})
        for (const std::string& line :
             lines_of(draw(all, {.form = form, .columns = columns, .picture_columns = picture})))
          ASSERT_LE(display_width(without_escapes(line)), columns) << columns << " " << picture;
}

TEST(Picture, AsManySideBySideAsFit) {
  // A caption widens the slot to at most one and a half pictures: 21 columns and a gap of 2.
  for (const auto& [columns, rows] : {std::pair<size_t, size_t>{43, 7}, {44, 4}, {66, 4}, {67, 3}, {89, 3}, {90, 2}}) {
    const std::string text = draw(captioned(7), {.form = Form::blocks, .columns = columns, .picture_columns = 14});
    // 14 columns of a square are 7 lines; two lines of caption; an empty line between rows.
    EXPECT_EQ(lines_of(text).size(), rows * 10 - 1) << columns;
    for (int i = 0; i < 7; i++) EXPECT_NE(text.find("#" + std::to_string(i)), text.npos);
    EXPECT_NE(text.find("true Ankle boot or m…"), text.npos);
  }
}

TEST(Picture, ColoursEndWithTheirLine) {
  for (const std::string& line : lines_of(draw(captioned(3), {.form = Form::palette, .columns = 80}))) {
    const size_t last = line.rfind("\x1b[");
    if (last != line.npos) {
      EXPECT_EQ(line.substr(last, 4), "\x1b[0m");
    }
  }
}

TEST(Picture, NothingWithoutAForm) { EXPECT_EQ(draw(captioned(2), {}), ""); }

TEST(Picture, TheTerminalAndTheLocaleDecide) {
  const auto set = [](const char* key, const char* value) { setenv(key, value, 1); };
  for (const char* key : {"LC_ALL", "LC_CTYPE", "LANG", "COLORTERM"}) unsetenv(key);
  set("TERM", "xterm");
  const Terminal person{.interactive = true, .color = true, .width = [] { return size_t{97}; }};
  const Terminal plain{.interactive = true};
  EXPECT_EQ(detect_drawing(Terminal{}).form, Form::none);
  EXPECT_EQ(detect_drawing(person).form, Form::ascii);
  EXPECT_EQ(detect_drawing(person).columns, 97u);
  set("LANG", "en_GB.UTF-8");
  EXPECT_EQ(detect_drawing(person).form, Form::palette);
  EXPECT_EQ(detect_drawing(plain).form, Form::blocks);
  set("COLORTERM", "truecolor");
  EXPECT_EQ(detect_drawing(person).form, Form::rgb);
  EXPECT_EQ(detect_drawing(person, "none").form, Form::none);
  EXPECT_EQ(detect_drawing(Terminal{}, "blocks").form, Form::blocks);
  EXPECT_EQ(detect_drawing(Terminal{}, "ascii").form, Form::ascii);
  set("LC_ALL", "C");
  EXPECT_EQ(detect_drawing(person).form, Form::ascii);
  set("LC_ALL", "C.utf8");
  set("TERM", "linux");
  EXPECT_EQ(detect_drawing(person).form, Form::ascii);
  EXPECT_EQ(detect_drawing(person, "color").form, Form::rgb);
}

}  // namespace
}  // namespace glint::cli

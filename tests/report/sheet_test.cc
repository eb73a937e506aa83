#include "glint/report/sheet.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "glint/base/error.h"
#include "glint/io/png.h"

namespace glint {
namespace {

TEST(Sheet, ImagesStandInRowsWithLabelsBelow) {
  // 28 x 28 is drawn twice as large; gaps of 6 pixels.
  std::vector<uint8_t> first(28 * 28, 10), second(28 * 28, 20), third(28 * 28, 30);
  first[27 * 28 + 27] = 99;
  Sheet sheet{.height = 28, .width = 28};
  sheet.rows = {{{.pixels = first}, {.pixels = second}}, {{.pixels = third}}};
  const std::string path = testing::TempDir() + "glint_sheet_test.png";
  write_sheet(real_files(), path, sheet);
  Matrix<uint8_t> page = read_png(path);
  ASSERT_EQ(page.rows(), 6 + 2 * 62u);
  ASSERT_EQ(page.cols(), 6 + 2 * 62u);
  EXPECT_EQ(page(5, 6), 255);
  EXPECT_EQ(page(6, 6), 10);
  for (const size_t y : {60, 61})
    for (const size_t x : {60, 61}) EXPECT_EQ(page(y, x), 99);
  EXPECT_EQ(page(59, 60), 10);
  EXPECT_EQ(page(62, 61), 255);
  EXPECT_EQ(page(6, 68), 20);
  EXPECT_EQ(page(68, 6), 30);
  EXPECT_EQ(page(68, 68), 255);  // the second row is shorter

  // A label takes space below every image and only darkens the paper under its own.
  sheet.rows[0][1].label = "7 > 1";
  write_sheet(real_files(), path, sheet);
  page = read_png(path);
  ASSERT_EQ(page.rows(), 6 + 2 * 74u);
  size_t under_first = 0, under_second = 0;
  for (size_t y = 62; y < 80; y++)
    for (size_t x = 0; x < page.cols(); x++) (x < 68 ? under_first : under_second) += page(y, x) != 255;
  EXPECT_EQ(under_first, 0u);
  EXPECT_GT(under_second, 0u);
  std::remove(path.c_str());
}

TEST(Sheet, EveryDigitLooksDifferent) {
  const std::vector<uint8_t> pixel(1, 0);
  const std::string path = testing::TempDir() + "glint_digits_test.png";
  std::set<std::string> seen;
  for (const char c : std::string("0123456789>")) {
    Sheet sheet{.height = 1, .width = 1};
    sheet.rows = {{{.pixels = pixel, .label = std::string(1, c)}}};
    write_sheet(real_files(), path, sheet);
    const Matrix<uint8_t> page = read_png(path);
    seen.emplace(page.span().begin(), page.span().end());
  }
  EXPECT_EQ(seen.size(), 11u);
  std::remove(path.c_str());
}

TEST(Sheet, ASheetBeyondTheLimitIsRefused) {
  const std::vector<uint8_t> large(2000 * 2000);
  Sheet sheet{.height = 2000, .width = 2000};
  sheet.rows.assign(10, std::vector<SheetImage>(10, SheetImage{.pixels = large}));
  try {
    write_sheet(real_files(), testing::TempDir() + "glint_never.png", sheet);
    FAIL() << "400 million pixels were written";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
  }
}

}  // namespace
}  // namespace glint

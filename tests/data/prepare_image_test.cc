#include "glint/data/prepare_image.h"

#include <gtest/gtest.h>

#include <numeric>

#include "glint/base/error.h"

namespace glint {
namespace {

// A bright block on a dark frame.
Matrix<uint8_t> block(size_t height, size_t width, size_t top, size_t left, size_t h, size_t w) {
  Matrix<uint8_t> m(height, width);
  for (size_t i = 0; i < h; i++)
    for (size_t j = 0; j < w; j++) m(top + i, left + j) = 250;
  return m;
}

double mean(const Matrix<uint8_t>& m) {
  return std::accumulate(m.span().begin(), m.span().end(), 0.0) / static_cast<double>(m.size());
}

ImageSet set_of(const Matrix<uint8_t>& image) {
  ImageSet set{.pixels = Matrix<uint8_t>(1, image.size()),
               .labels = {0},
               .height = image.rows(),
               .width = image.cols(),
               .classes = 1};
  std::copy_n(image.data(), image.size(), set.pixels.data());
  return set;
}

TEST(Resized, KeepsTheMeanAndTheSamePicture) {
  Matrix<uint8_t> m(30, 45);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = static_cast<uint8_t>(i * 37 % 256);
  EXPECT_NEAR(mean(resized(m, 7, 11)), mean(m), 0.5);  // the rounding of a pixel
  EXPECT_NEAR(mean(resized(m, 64, 64)), mean(m), 0.5);
  const Matrix<uint8_t> same = resized(m, 30, 45);
  EXPECT_TRUE(std::equal(m.data(), m.data() + m.size(), same.data()));
  EXPECT_EQ(resized(block(4, 4, 0, 0, 2, 2), 2, 2)(0, 0), 250);
}

TEST(PrepareImage, BringsABlockToTheSizeAndPlaceOfTheStyle) {
  const ImageStyle style{.height = 28, .width = 28, .longer_side = 20, .by_mass = true};
  for (const bool bright : {false, true}) {
    Matrix<uint8_t> m = block(200, 300, 10, 200, 100, 50);
    if (bright)
      for (uint8_t& v : m.span()) v = static_cast<uint8_t>(255 - v);
    const PreparedImage p = prepare_image(m, style, "m");
    ASSERT_EQ(p.pixels.rows(), 28u);
    EXPECT_NEAR(mean(p.pixels) * 784, 255.0 * 20 * 10, 1);  // 20 high, 10 wide, full brightness
    EXPECT_EQ(p.pixels(4, 14), 255);
    EXPECT_EQ(p.pixels(23, 14), 255);
    EXPECT_EQ(p.pixels(3, 14), 0);
    EXPECT_EQ(p.pixels(24, 14), 0);
    EXPECT_EQ(p.pixels(14, 9), 255);
    EXPECT_EQ(p.pixels(14, 8), 0);
    EXPECT_EQ(p.done.find("inverted") != std::string::npos, bright);
  }
}

TEST(PrepareImage, TakesAnImageOfTheRightKindAsItIs) {
  const Matrix<uint8_t> m = block(28, 28, 2, 3, 9, 4);
  const PreparedImage p = prepare_image(m, {}, "m");
  EXPECT_TRUE(std::equal(m.data(), m.data() + m.size(), p.pixels.data()));
}

TEST(PrepareImage, AnEmptyPictureIsABadFile) {
  try {
    prepare_image(Matrix<uint8_t>(50, 50), {}, "empty.png");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file);
    EXPECT_EQ(e.parts().where, "empty.png");
  }
}

TEST(MeasureStyle, FindsSizeAndCentring) {
  // A block whose box is centred, and whose mass is: both at once, then mass alone.
  EXPECT_EQ(measure_style(set_of(block(28, 28, 4, 9, 20, 10))).longer_side, 20);
  Matrix<uint8_t> heavy = block(28, 28, 2, 2, 24, 24);  // box centred, mass pulled to one side
  for (size_t i = 2; i < 26; i++)
    for (size_t j = 2; j < 14; j++) heavy(i, j) = 40;
  EXPECT_FALSE(measure_style(set_of(heavy)).by_mass);
  Matrix<uint8_t> tail = block(28, 28, 10, 10, 8, 8);  // mass centred, box pulled by faint ink
  tail(1, 13) = 40;
  EXPECT_TRUE(measure_style(set_of(tail)).by_mass);
  EXPECT_EQ(measure_style(set_of(Matrix<uint8_t>(28, 28))).longer_side, 20);
}

}  // namespace
}  // namespace glint

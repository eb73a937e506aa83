#include "glint/io/svg_png.h"

#include <gtest/gtest.h>

#include "glint/base/file.h"
#include "glint/io/png.h"

namespace glint {
namespace {

// Opens with "librsvg-2.so.2" when that is what is missing: then there is nothing to test here.
bool missing(const SvgPng& picture) { return picture.problem.starts_with("librsvg"); }

constexpr const char* kHead = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"4\">";

TEST(SvgPng, DrawsWhatTheSvgSays) {
  const SvgPng picture =
      svg_to_png(std::string(kHead) + "<rect x=\"4\" width=\"4\" height=\"4\" fill=\"#336699\"/></svg>", 2);
  if (missing(picture)) GTEST_SKIP() << picture.problem;
  ASSERT_EQ(picture.problem, "");
  const Matrix<uint8_t> gray = decode_png(as_bytes(picture.png), "picture");
  ASSERT_EQ(gray.rows(), 8u);
  ASSERT_EQ(gray.cols(), 16u);
  EXPECT_EQ(gray(4, 2), 255);  // paper
  // 0.299 * 0x33 + 0.587 * 0x66 + 0.114 * 0x99 = 92.6: the channels are in their order
  EXPECT_NEAR(gray(4, 12), 92.6, 1);
}

TEST(SvgPng, DrawsEmbeddedPictures) {
  // A gray PNG of one black pixel, as the figures embed theirs.
  const SvgPng picture =
      svg_to_png(std::string(kHead) +
                 "<image width=\"8\" height=\"4\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                 "href=\"data:image/png;base64,"
                 "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==\"/>"
                 "</svg>");
  if (missing(picture)) GTEST_SKIP() << picture.problem;
  ASSERT_EQ(picture.problem, "");
  EXPECT_EQ(decode_png(as_bytes(picture.png), "picture")(4, 8), 0);
}

TEST(SvgPng, SaysWhatIsWrong) {
  const SvgPng none = svg_to_png("no picture");
  if (missing(none)) GTEST_SKIP() << none.problem;
  EXPECT_EQ(none.png, "");
  EXPECT_NE(none.problem.find("cannot be read"), std::string::npos) << none.problem;
  EXPECT_NE(svg_to_png("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90000\" height=\"4\"/>").problem, "");
  EXPECT_NE(svg_to_png("<svg xmlns=\"http://www.w3.org/2000/svg\"/>").problem, "");
}

}  // namespace
}  // namespace glint

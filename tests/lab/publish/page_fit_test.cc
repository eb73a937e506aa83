#include <gtest/gtest.h>

#include "glint/lab/publish/page_run.h"

namespace glint {
namespace {

// One run of two classes: every number says which row it is in.
PageData small_page(size_t images, size_t strongest, size_t pixels) {
  PageData data;
  data.images.data = "glyphs", data.images.total = 1000;
  data.images.pixels = Matrix<uint8_t>(images, pixels);
  data.images.labels.resize(images);
  PageRun run;
  run.strongest = strongest;
  run.logits = Matrix<float>(images, 2);
  for (size_t i = 0; i < images; i++) data.images.labels[i] = static_cast<uint32_t>(i), run.logits(i, 0) = i;
  PageForm form;
  form.vectors = Matrix<float>(2 * 2 * strongest, 64);
  for (size_t k = 0; k < form.vectors.rows(); k++) form.vectors(k, 0) = static_cast<float>(k);
  run.forms.push_back(std::move(form));
  data.runs.push_back(std::move(run));
  return data;
}

TEST(PageFit, KeepsTheFirstImages) {
  PageData data = small_page(400, 8, 10);
  keep_images(data, 150);
  EXPECT_EQ(data.images.what, "The first 150 test images of glyphs");
  EXPECT_EQ(data.images.pixels.rows(), 150u);
  EXPECT_EQ(data.images.labels.back(), 149u);
  ASSERT_EQ(data.runs[0].logits.rows(), 150u);
  EXPECT_EQ(data.runs[0].logits(149, 0), 149);
}

// A class has its 8 largest eigenvalues first and its 8 smallest last: the outermost of both stay.
TEST(PageFit, KeepsTheStrongestVectorsOfEitherSign) {
  PageData data = small_page(100, 8, 10);
  keep_vectors(data, 2);
  EXPECT_EQ(data.runs[0].strongest, 2u);
  const Matrix<float>& v = data.runs[0].forms[0].vectors;
  std::vector<float> rows;
  for (size_t k = 0; k < v.rows(); k++) rows.push_back(v(k, 0));
  EXPECT_EQ(rows, (std::vector<float>{0, 1, 14, 15, 16, 17, 30, 31}));
}

TEST(PageFit, HalvesWhatTakesMoreRoomAsFarAsItMay) {
  PageData many = small_page(1000, 8, 784);
  ASSERT_TRUE(shrink_page(many, true, true));
  EXPECT_EQ(many.images.labels.size(), 500u);
  EXPECT_EQ(many.runs[0].strongest, 8u);
  PageData wide = small_page(200, 8, 1);
  ASSERT_TRUE(shrink_page(wide, true, true));
  EXPECT_EQ(wide.images.labels.size(), 200u);
  EXPECT_EQ(wide.runs[0].strongest, 4u);
  while (shrink_page(many, true, false)) EXPECT_EQ(many.runs[0].strongest, 8u);
  EXPECT_EQ(many.images.labels.size(), kFewestImages);
  while (shrink_page(many, true, true)) {
  }
  EXPECT_EQ(many.runs[0].strongest, kFewestVectors);
  EXPECT_FALSE(shrink_page(wide, false, false));
}

}  // namespace
}  // namespace glint

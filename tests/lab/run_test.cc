// Opening a trained model: what it says of itself, its data, and the kinds it refuses to be.
#include "glint/lab/run.h"

#include <gtest/gtest.h>

#include "glint/base/error.h"
#include "glint/lab/run.h"
#include "saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;

TEST(Run, OpensWeightsWithAConfigAndSaysWhatTheyAre) {
  const SavedModel saved(2);
  glint::Run run(saved.engine, {.run = saved.folder.path() + "/"});
  EXPECT_EQ(run.kind(), ModelKind::image);
  EXPECT_EQ(run.directory(), saved.folder.path());
  EXPECT_EQ(run.info().precision, "f32");
  EXPECT_EQ(run.trained_on(), "glyphs");
  EXPECT_EQ(run.text(), model_text(run.image().model));
  EXPECT_EQ(run.config()["layers"], 2);
  EXPECT_EQ(run.reading().layers(), 2u);
  EXPECT_EQ(run.data_name(), "glyphs");
  EXPECT_EQ(run.class_text(3), "3");
  EXPECT_EQ(run.lines("weights").size(), 2u);
  EXPECT_EQ(run.measured(1).inputs.rows(), run.images().test.count());
}

TEST(Run, AnotherKindOfModelIsAnError) {
  const SavedModel saved;
  glint::Run run(saved.engine, {.run = saved.folder.path()});
  EXPECT_THROW(run.language(), Error);
  EXPECT_THROW(run.stories(), Error);
  EXPECT_THROW(run.piece(0), Error);
  EXPECT_THROW(glint::Run(saved.engine, {.run = saved.folder.path()}).language(), Error);
  EXPECT_THROW(glint::Run(saved.engine, {.run = saved.folder.path("nothing")}), Error);
}

// The lines are measured once and stored beside the weights; those of other weights are not used.
TEST(Run, KeepsItsCalibration) {
  const SavedModel saved;
  glint::Run first(saved.engine, {.run = saved.folder.path()});
  const std::vector<GateLine> lines = first.lines("calibrated");
  ASSERT_TRUE(exists(saved.folder.path("calibration.safetensors")));
  glint::Run second(saved.engine, {.run = saved.folder.path()}, first.share_images());
  EXPECT_EQ(&second.images(), &first.images());
  EXPECT_EQ(second.lines("calibrated")[0].gain, lines[0].gain);
}

}  // namespace
}  // namespace glint

// Opening a trained model: what it says of itself, its data, and the kinds it refuses to be.
#include "glint/lab/run.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// A control: the same configuration and data, other weights, and nothing of it is stored.
TEST(Run, HasAnUntrainedTwin) {
  const SavedModel saved(2, true);
  glint::Run run(saved.engine, {.run = saved.folder.path()});
  glint::Run& twin = run.untrained();
  EXPECT_EQ(&twin, &run.untrained());
  EXPECT_EQ(twin.config(), run.config());
  EXPECT_EQ(&twin.images(), &run.images());
  EXPECT_NE(twin.reading().weights_hash(), run.reading().weights_hash());
  ImageModel fresh = run.image().model;
  classifier_params(fresh.config).table.initialise(fresh.weights.span(), 0);
  EXPECT_TRUE(std::ranges::equal(twin.image().model.weights.span(), fresh.weights.span()));
  EXPECT_EQ(twin.lines("calibrated").size(), 2u);
  EXPECT_EQ(twin.calibration().inputs, glint::Run::kTwinSamples);
  EXPECT_FALSE(exists(saved.folder.path("calibration.safetensors")));
}

// Training images, none of which a reading is measured on.
TEST(Run, FitsControlsOnTrainingImages) {
  const SavedModel saved;
  glint::Run run(saved.engine, {.run = saved.folder.path()});
  const ImageSet& train = run.images().train;
  const Activations a = run.fitted(0);
  ASSERT_EQ(a.inputs.rows(), std::min(train.count(), glint::Run::kFitted));
  const uint32_t row[] = {evenly_spaced(train.count(), glint::Run::kFitted)[7]};
  const Activations one = run.image_reading().run(train, 0, row);
  EXPECT_TRUE(std::ranges::equal(one.logits.view().row(0), a.logits.view().row(7)));
}

}  // namespace
}  // namespace glint

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

// What a stored calibration lacks is measured and the file written again, the rest as it was.
TEST(Run, CompletesACalibration) {
  const SavedModel saved(2);
  const std::string path = saved.folder.path("calibration.safetensors");
  const size_t hidden[] = {12, 12};
  glint::Run first(saved.engine, {.run = saved.folder.path()});
  const std::vector<GateLine> lines = first.lines("scaled");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[1].slope.empty());
  StoredCalibration old = load_calibration(path, hidden);
  old.scaled.clear();
  old.lines[0].gain[0] = 0.125;  // to know it again
  save_calibration(real_files(), path, old);
  glint::Run second(saved.engine, {.run = saved.folder.path()}, first.share_images());
  const std::vector<GateLine> again = second.lines("scaled");
  for (size_t i = 0; i < 2; i++) EXPECT_EQ(again[i].slope, lines[i].slope);
  const StoredCalibration completed = load_calibration(path, hidden);
  ASSERT_EQ(completed.scaled.size(), 2u);
  EXPECT_EQ(completed.scaled[1].gain, lines[1].gain);
  EXPECT_EQ(completed.lines[0].gain[0], 0.125);
}

TEST(Run, TheFormThatAutoMeansDependsOnTheGate) {
  const SavedModel sqs, silu(1, false, 12, 0, GateKind::Silu), identity(1, false, 12, 0, GateKind::Identity);
  glint::Run odd(sqs.engine, {.run = sqs.folder.path()});
  EXPECT_EQ(odd.form("auto"), "scaled");
  EXPECT_EQ(odd.form("weights"), "weights");
  EXPECT_EQ(odd.forms(), (std::vector<std::string>{"weights", "scaled", "calibrated"}));
  glint::Run other(silu.engine, {.run = silu.folder.path()});
  EXPECT_EQ(other.form("auto"), "calibrated");
  EXPECT_EQ(other.forms(), (std::vector<std::string>{"weights", "calibrated"}));
  EXPECT_THROW(other.form("scaled"), Error);
  EXPECT_THROW(other.lines("scaled"), Error);
  EXPECT_THROW(other.lines("best"), Error);
  glint::Run bilinear(identity.engine, {.run = identity.folder.path()});
  EXPECT_EQ(bilinear.form("auto"), "scaled");
  EXPECT_EQ(bilinear.lines("scaled")[0].gain, bilinear.lines("weights")[0].gain);
}

}  // namespace
}  // namespace glint

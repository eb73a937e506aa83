// Opening a trained model: what it says of itself, its data, and the kinds it refuses to be.
#include "glint/lab/models/run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "glint/base/error.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;

TEST(Run, OpensWeightsWithAConfigAndSaysWhatTheyAre) {
  const SavedModel saved(2);
  const auto opened_run = glint::open_run(saved.engine, {.run = saved.folder.path() + "/"});
  glint::Run& run = *opened_run;
  EXPECT_EQ(run.kind(), ModelKind::image);
  EXPECT_EQ(run.directory(), saved.folder.path());
  EXPECT_EQ(run.info().precision, "f32");
  EXPECT_EQ(run.trained_on(), "glyphs");
  EXPECT_TRUE(run.text().starts_with("sqs, 2 layers, width 12")) << run.text();
  EXPECT_EQ(run.config()["layers"], 2);
  EXPECT_EQ(run.reading().layers(), 2u);
  EXPECT_EQ(run.data_name(), "glyphs");
  EXPECT_EQ(run.image().class_text(3), "3");
  EXPECT_EQ(run.lines(Form::weights).size(), 2u);
  EXPECT_EQ(run.measured(1).inputs.rows(), run.image().images().test.count());
}

TEST(Run, AnotherKindOfModelIsAnError) {
  const SavedModel saved;
  const auto opened_run = glint::open_run(saved.engine, {.run = saved.folder.path()});
  glint::Run& run = *opened_run;
  EXPECT_THROW(run.language(), Error);
  EXPECT_THROW(run.language().stories(), Error);
  EXPECT_THROW(run.language().piece(0), Error);
  EXPECT_THROW(glint::open_language_run(saved.engine, {.run = saved.folder.path()}), Error);
  EXPECT_THROW(glint::open_run(saved.engine, {.run = saved.folder.path("nothing")}), Error);
}

// The lines are measured once and stored beside the weights; those of other weights are not used.
TEST(Run, KeepsItsCalibration) {
  const SavedModel saved;
  const auto opened_first = glint::open_run(saved.engine, {.run = saved.folder.path()});
  glint::Run& first = *opened_first;
  const std::vector<GateTerms> lines = first.lines(Form::calibrated);
  ASSERT_TRUE(exists(saved.folder.path("calibration.safetensors")));
  const auto opened_second = glint::open_run(saved.engine, {.run = saved.folder.path()}, first.image().share_images());
  glint::Run& second = *opened_second;
  EXPECT_EQ(&second.image().images(), &first.image().images());
  EXPECT_EQ(second.lines(Form::calibrated)[0].gain, lines[0].gain);
}

// A control: the same configuration and data, other weights, and nothing of it is stored.
TEST(Run, HasAnUntrainedTwin) {
  const SavedModel saved(2, true);
  const auto opened_run = glint::open_run(saved.engine, {.run = saved.folder.path()});
  glint::Run& run = *opened_run;
  glint::Run& twin = run.untrained();
  EXPECT_EQ(&twin, &run.untrained());
  EXPECT_EQ(twin.config(), run.config());
  EXPECT_EQ(&twin.image().images(), &run.image().images());
  EXPECT_NE(twin.reading().weights_hash(), run.reading().weights_hash());
  ImageModel fresh = run.image().model();
  classifier_params(fresh.config).table.initialise(fresh.weights.span(), 0);
  EXPECT_TRUE(std::ranges::equal(twin.image().model().weights.span(), fresh.weights.span()));
  EXPECT_EQ(twin.lines(Form::calibrated).size(), 2u);
  EXPECT_EQ(twin.calibration().inputs, glint::Run::kTwinSamples);
  EXPECT_FALSE(exists(saved.folder.path("calibration.safetensors")));
}

// Training images, none of which a reading is measured on.
TEST(Run, FitsControlsOnTrainingImages) {
  const SavedModel saved;
  const auto opened_run = glint::open_run(saved.engine, {.run = saved.folder.path()});
  glint::Run& run = *opened_run;
  const ImageSet& train = run.image().images().train;
  const Activations a = run.fitted(0);
  ASSERT_EQ(a.inputs.rows(), std::min(train.count(), glint::Run::kFitted));
  const uint32_t row[] = {evenly_spaced(train.count(), glint::Run::kFitted)[7]};
  const Activations one = run.image().reading().run(train, 0, row);
  EXPECT_TRUE(std::ranges::equal(one.logits.view().row(0), a.logits.view().row(7)));
}

TEST(Run, TheFormThatAutoMeansDependsOnTheGate) {
  const SavedModel sqs, silu(1, false, 12, 0, GateKind::Silu), identity(1, false, 12, 0, GateKind::Identity);
  const auto opened_odd = glint::open_run(sqs.engine, {.run = sqs.folder.path()});
  glint::Run& odd = *opened_odd;
  EXPECT_EQ(odd.form("auto"), Form::scaled);
  EXPECT_EQ(odd.form("weights"), Form::weights);
  EXPECT_EQ(odd.forms(), (std::vector{Form::weights, Form::scaled, Form::calibrated}));
  const auto opened_other = glint::open_run(silu.engine, {.run = silu.folder.path()});
  glint::Run& other = *opened_other;
  EXPECT_EQ(other.form("auto"), Form::calibrated);
  EXPECT_EQ(other.forms(), (std::vector{Form::weights, Form::calibrated}));
  EXPECT_THROW(other.form("scaled"), Error);
  EXPECT_THROW(other.lines(Form::scaled), Error);
  EXPECT_THROW(other.form("local"), Error);
  EXPECT_EQ(other.form("local", FormNeeds::input), Form::local);
  EXPECT_THROW(other.form("best"), Error);
  const auto opened_bilinear = glint::open_run(identity.engine, {.run = identity.folder.path()});
  glint::Run& bilinear = *opened_bilinear;
  EXPECT_EQ(bilinear.form("auto"), Form::scaled);
  EXPECT_EQ(bilinear.lines(Form::scaled)[0].gain, bilinear.lines(Form::weights)[0].gain);
}

}  // namespace
}  // namespace glint

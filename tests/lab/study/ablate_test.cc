// Ablation and readability through the library: models with random weights, saved with their config alone.
#include "glint/lab/study/ablate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/study/readability.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;
namespace fs = std::filesystem;

std::string where_of_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.parts().where;
  }
  return "no error";
}

AblationRequest request(const SavedModel& saved, const std::string& unit = "all") {
  AblationRequest q{.source = RunSource{.run = saved.folder.path()}};
  q.along.directions = {unit};
  return q;
}

ImageEvaluation evaluation(const SavedModel& saved, const std::string& run) {
  EvaluationRequest q;
  q.source.run = run;
  return evaluate_images(saved.engine, q);
}

TEST(Ablate, ABilinearModelChangesAsItsReadingSays) {
  for (const bool bias : {false, true}) {
    const SavedModel saved(1, bias, 12, 0, GateKind::Identity);
    AblationRequest q = request(saved, "3,5-2,7");
    q.form = "weights", q.remove = "1..2";
    const Ablation r = ablate(saved.engine, q);
    ASSERT_EQ(r.each.size(), 3u);
    EXPECT_EQ(r.each[1].direction, "5 - 2");
    EXPECT_FALSE(r.each[1].own_class);
    EXPECT_EQ(r.each[2].own_class, 7u);
    EXPECT_EQ(r.each[0].removed.size(), 2u);
    EXPECT_EQ(r.all.removed.size(), 6u);
    EXPECT_EQ(r.all.dimensions, 6u);
    for (const AblationEffect* e : {&r.each[0], &r.each[1], &r.each[2], &r.all}) {
      EXPECT_NEAR(e->change.correlation, 1, 1e-6);
      EXPECT_NEAR(e->change.slope, 1, 1e-4);
      ASSERT_EQ(e->classes.size(), 10u);
      for (const ClassEffect& c : e->classes) EXPECT_NEAR(c.change->correlation, 1, 1e-5);
    }
  }
}

TEST(Ablate, BeforeIsWhatAnEvaluationSaysAndAFactorOf1ChangesNothing) {
  const SavedModel saved;
  AblationRequest q = request(saved, "3");
  q.form = "weights", q.scale = 1;
  const Ablation same = ablate(saved.engine, q);
  const ImageEvaluation e = evaluation(saved, saved.folder.path());
  EXPECT_EQ(same.before.accuracy, e.accuracy);
  EXPECT_NEAR(same.before.loss, e.loss, 1e-6);
  EXPECT_EQ(same.all.after.loss, same.before.loss);
  EXPECT_EQ(same.all.direction, "3");
  EXPECT_TRUE(same.each.empty());
  for (size_t c = 0; c < 10; c++) {
    EXPECT_EQ(same.all.classes[c].before.accuracy, e.classes[c].recall());
    EXPECT_EQ(same.all.classes[c].output_before, same.all.classes[c].output_after);
  }
  q.scale = 0;
  EXPECT_NE(ablate(saved.engine, q).all.after.loss, same.before.loss);
}

TEST(Ablate, TheSavedRunIsTheChangedModel) {
  const SavedModel saved(2);  // the lower layer
  AblationRequest q = request(saved, "0");
  q.layer = 1, q.remove = "1,3", q.save = saved.folder.path() + "/without";
  const Ablation r = ablate(saved.engine, q);
  EXPECT_FALSE(r.all.classes[0].change);  // of a lower layer no logit is predicted
  const ImageEvaluation e = evaluation(saved, q.save);
  EXPECT_EQ(e.accuracy, r.all.after.accuracy);
  EXPECT_NEAR(e.loss, r.all.after.loss, 1e-6);
  const RunInfo info = run_info(q.save);
  const Json& made = info.run["identity"]["ablations"];
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0]["removed"][1]["rank"], 3);
  EXPECT_EQ(made[0]["layer"], 1);
  const auto before = glint::open_run(saved.engine, {.run = saved.folder.path()}),
             after = glint::open_run(saved.engine, {.run = q.save});
  EXPECT_NE(before->reading().weights_hash(), after->reading().weights_hash());
  EXPECT_EQ(made[0]["weights_sha256"], before->reading().weights_hash());
  EXPECT_EQ(where_of_error([&] { ablate(saved.engine, q); }), q.save);  // never over another
  // A second ablation knows of the first.
  AblationRequest again = q;
  again.source.run = q.save, again.layer = 2, again.save = saved.folder.path() + "/twice";
  ablate(saved.engine, again);
  EXPECT_EQ(run_info(again.save).run["identity"]["ablations"].size(), 2u);
}

TEST(Ablate, RefusesWhatMakesNoSense) {
  const SavedModel saved;
  const auto where = [&](const std::function<void(AblationRequest&)>& change) {
    AblationRequest q = request(saved, "3");
    q.form = "weights";
    change(q);
    return where_of_error([&] { ablate(saved.engine, q); });
  };
  EXPECT_EQ(where([](AblationRequest& q) { q.remove = "0"; }), "remove");
  EXPECT_EQ(where([](AblationRequest& q) { q.remove = "1,x"; }), "remove");
  EXPECT_EQ(where([](AblationRequest& q) { q.remove = "13"; }), "remove");
  EXPECT_EQ(where([](AblationRequest& q) { q.remove = "2..1"; }), "remove");
  EXPECT_EQ(where([](AblationRequest& q) { q.scale = -1; }), "scale");
  EXPECT_EQ(where([](AblationRequest& q) { q.scale = NAN; }), "scale");
  EXPECT_EQ(where([](AblationRequest& q) { q.along.directions = {"11"}; }), "unit");
  EXPECT_EQ(where([](AblationRequest& q) { q.layer = 2; }), "layer");
  EXPECT_EQ(where([](AblationRequest& q) { q.layer = 0; }), "layer");
  EXPECT_EQ(where([](AblationRequest& q) { q.form = "local"; }), "form");
}

TEST(Ablate, JsonHasASchemaAndNullForWhatIsNotMeasured) {
  Ablation r;
  r.run = "runs/first", r.layer = 1;
  r.before = {.inputs = 4, .loss = 2.5};
  r.all.removed = {{"3", 2, -1.5}};
  r.all.classes = {{.name = "3", .before = {.inputs = 1, .loss = 1, .accuracy = 1}}};
  const OrderedJson j = to_json(r);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], "glint-ablate/1");
  EXPECT_EQ(j["layer"], 2);
  EXPECT_TRUE(j["before"]["accuracy"].is_null());
  EXPECT_EQ(j["all"]["removed"][0]["eigenvalue"], -1.5);
  EXPECT_TRUE(j["all"]["classes"][0]["r"].is_null());
  EXPECT_TRUE(j["all"]["own_class"].is_null());
  EXPECT_FALSE(j.contains("saved"));
}

TEST(Readability, OfARandomModel) {
  const SavedModel saved(1, false, 12, 0, GateKind::Identity);
  const ReadabilityResult result = readability(saved.engine, {.runs = {saved.folder.path()}, .form = "weights"});
  ASSERT_EQ(result.runs.size(), 1u);
  const RunReadability& r = result.runs[0];
  EXPECT_EQ(r.directions.size(), 10u);
  EXPECT_EQ(r.pictures, 30u);
  EXPECT_GT(*r.distinct_pictures, 1);
  EXPECT_LE(*r.distinct_pictures, 12.01);  // the pictures come from 12 dimensions
  ASSERT_EQ(r.class_auc.size(), 10u);
  double sum = 0;
  for (const double a : r.class_auc) sum += a / 10;
  EXPECT_NEAR(*r.auc, sum, 1e-12);
  EXPECT_NEAR(r.ablation_r, 1, 1e-6);
  EXPECT_NEAR(r.ablation_slope, 1, 1e-4);
  EXPECT_FALSE(r.stability_halves);  // nothing is fitted
  EXPECT_FALSE(r.stability_seeds);
  EXPECT_TRUE(result.groups.empty());
  const OrderedJson j = to_json(result);
  EXPECT_EQ(j.begin().value(), "glint-readability/1");
  EXPECT_TRUE(j["runs"][0]["stability_halves"].is_null());
  EXPECT_EQ(j["runs"][0]["directions"].size(), 10u);
}

TEST(Readability, AFittedFormIsComparedBetweenHalvesOfTheData) {
  const SavedModel saved;
  const RunReadability r = readability(saved.engine, {.runs = {saved.folder.path()}, .form = "calibrated"}).runs[0];
  ASSERT_TRUE(r.stability_halves);
  EXPECT_GT(*r.stability_halves, 0.3);
  EXPECT_LT(*r.stability_halves, 1);
  EXPECT_EQ(where_of_error([&] { readability(saved.engine, {.runs = {}}); }), "runs");
  EXPECT_EQ(where_of_error([&] { readability(saved.engine, {.runs = {"/nowhere/a"}}); }), "/nowhere/a");
}

}  // namespace
}  // namespace glint

// A table of runs: what they differ in, their states, filters and order.
#include "glint/lab/work/runs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/lab/work/train.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

class Runs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TempFolder;
    engine = new Engine({.threads = 2});
    for (const char* gate : {"sqs", "silu"})
      train(*engine, {.recipe = "quick",
                      .changes = {{"gate", gate}, {"d-model", "8"}, {"epochs", "2"}, {"batch", "512"}},
                      .seeds = {0, 1},
                      .out = folder->path() + "/" + gate});
    size_t steps = 0;
    Engine stopping({.threads = 1}, {.note = {}, .progress = {}, .should_stop = [&] { return ++steps > 8; }});
    train(stopping, {.recipe = "quick", .changes = {{"d-model", "8"}}, .out = folder->path() + "/deep/er/stopped"});
  }
  static void TearDownTestSuite() {
    delete engine;
    delete folder;
  }
  static RunsResult list(std::vector<std::string> where = {}, const std::string& sort = {}) {
    return list_runs(*engine, {.folders = {folder->path()}, .where = std::move(where), .sort = sort});
  }
  static TempFolder* folder;
  static Engine* engine;
};
TempFolder* Runs::folder = nullptr;
Engine* Runs::engine = nullptr;

TEST_F(Runs, AreFoundAtAnyDepthWithWhatDiffers) {
  const RunsResult r = list();
  ASSERT_EQ(r.runs.size(), 5u);
  // silu has no lambda, but those that have one have the same.
  EXPECT_EQ(r.differing, (std::vector<std::string>{"gate", "batch", "epochs", "seed"}));
  EXPECT_EQ(r.runs[0].directory, folder->path() + "/deep/er/stopped");
  EXPECT_EQ(r.runs[0].state, RunState::stopped);
  EXPECT_GT(r.runs[0].step, 0u);
  EXPECT_NE(r.runs[0].state_text().find("stopped at step " + std::to_string(r.runs[0].step) + " of "),
            std::string::npos)
      << r.runs[0].state_text();
  EXPECT_EQ(r.runs[1].state, RunState::finished);
  EXPECT_EQ(*r.runs[1].option("gate"), "silu");
  EXPECT_EQ(r.runs[1].option("lambda"), nullptr);
  EXPECT_GT(r.runs[1].test_loss, 0);
  EXPECT_EQ(runs_table(r).rows(), 5u);
  const OrderedJson j = to_json(r);
  EXPECT_EQ(j["schema"], "glint-runs/1");
  EXPECT_EQ(j["runs"][1]["options"]["gate"], "silu");
}

TEST_F(Runs, FiltersAndOrder) {
  EXPECT_EQ(list({"gate=sqs"}).runs.size(), 3u);
  EXPECT_EQ(list({"gate=swiglu", "seed=1"}).runs.size(), 1u);
  EXPECT_EQ(list({"lambda<=0.5"}).runs.size(), 3u) << "silu has none";
  EXPECT_EQ(list({"lambda>0.5"}).runs.size(), 0u);
  EXPECT_EQ(list({"epochs=2.0"}).runs.size(), 4u) << "numbers as numbers";
  EXPECT_EQ(list({"state!=finished"}).runs.size(), 1u);
  EXPECT_EQ(list({"seed!=0"}).runs.size(), 2u);
  const RunsResult up = list({"state=finished"}, "loss"), down = list({"state=finished"}, "-loss");
  EXPECT_LE(up.runs[0].test_loss, up.runs[3].test_loss);
  EXPECT_EQ(up.runs[0].directory, down.runs[3].directory);
  EXPECT_EQ(list({}, "-lambda").runs[4].option("lambda"), nullptr) << "unknown ones last";
  for (const char* bad : {"gate", "=sqs", "gate=", "gaet=sqs", "gate!sqs", "gate=sqqs"})
    EXPECT_THROW(list({bad}), Error) << bad;
  EXPECT_THROW(list({}, "los"), Error);
}

TEST_F(Runs, CurvesOfSeedsAreOneWithABand) {
  const RunsResult r = list({"state=finished"});
  std::vector<std::string> notes;
  const Chart chart = runs_chart(r, notes);
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].points.size(), 2u);
  EXPECT_GT(chart.series[0].points[0].upper, chart.series[0].points[0].lower);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(list_runs(*engine, {.folders = {folder->path()}, .figure = folder->path() + "/curves.svg"}).figure,
            folder->path() + "/curves.svg");
  EXPECT_TRUE(exists(folder->path() + "/curves.csv"));
  std::filesystem::remove(folder->path() + "/curves.svg");
}

TEST_F(Runs, DamageIsSaidAndNoReasonToStop) {
  const TempFolder copy;
  std::filesystem::copy(folder->path() + "/sqs", copy.path() + "/sqs", std::filesystem::copy_options::recursive);
  const std::string weights = copy.path() + "/sqs/seed-0/model.safetensors";
  std::string bytes = read_file(weights);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_atomic(engine->files(), weights, bytes);
  write_atomic(engine->files(), copy.path() + "/sqs/seed-1/run.json", "{");
  const RunsResult r = list_runs(*engine, {.folders = {copy.path()}});
  ASSERT_EQ(r.runs.size(), 2u);
  EXPECT_EQ(r.runs[0].state, RunState::damaged);
  EXPECT_NE(r.runs[0].state_text().find("model.safetensors is damaged"), std::string::npos) << r.runs[0].state_text();
  EXPECT_EQ(r.runs[1].state, RunState::damaged);
  EXPECT_TRUE(r.differing.empty()) << "of the other nothing is known";
}

// `import` makes a run without run.json.
TEST_F(Runs, ImportedOnesAreListed) {
  const TempFolder other;
  const std::string run = other.path("deep/theirs");
  std::filesystem::create_directories(run);
  for (const char* file : {"/config.json", "/model.safetensors"})
    std::filesystem::copy(folder->path() + "/sqs/seed-0" + file, run + file);
  const RunsResult r = list_runs(*engine, {.folders = {other.path()}});
  ASSERT_EQ(r.runs.size(), 1u);
  EXPECT_EQ(r.runs[0].directory, run);
  EXPECT_EQ(r.runs[0].state_text(), "imported");
  ASSERT_TRUE(r.runs[0].option("gate"));
  EXPECT_EQ(*r.runs[0].option("gate"), "sqs");
  ASSERT_TRUE(r.runs[0].option("d-model"));
  EXPECT_EQ(*r.runs[0].option("d-model"), "8");
}

TEST_F(Runs, NoRunIsAnError) {
  const TempFolder empty;
  EXPECT_THROW(list_runs(*engine, {.folders = {empty.path()}}), Error);
  EXPECT_THROW(list_runs(*engine, {.folders = {empty.path() + "/nowhere"}}), Error);
}

}  // namespace
}  // namespace glint

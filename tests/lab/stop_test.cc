// The engine's stop callback ends every lab function soon: it is asked again and again, and nothing more is
// asked once it has said yes.
#include <gtest/gtest.h>

#include <filesystem>

#include "glint/base/error.h"
#include "glint/lab/models/run.h"
#include "glint/lab/read/read.h"
#include "glint/lab/study/compare.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;

// Says stop at the question behind `limit`. One thread: the questions are the same in every run.
struct Counter {
  size_t asked = 0, limit = ~size_t{0};
  Engine engine{{.threads = 1}, {.note = {}, .progress = {}, .should_stop = [this] { return ++asked > limit; }}};
};

std::shared_ptr<const Dataset> few_glyphs() {
  DataOptions options;
  options.glyph_train = 600, options.glyph_test = 100;
  return std::make_shared<Dataset>(load_dataset("glyphs", options));
}

// `call` asks at least `least` times, and can be stopped at its first question, its last and one between.
void expect_stops(Counter& counter, size_t least, const std::function<void()>& call) {
  counter.asked = 0, counter.limit = ~size_t{0};
  call();
  const size_t all = counter.asked;
  EXPECT_GE(all, least);
  for (const size_t after : {size_t{0}, all / 2, all - 1}) {
    counter.asked = 0, counter.limit = after;
    try {
      call();
      ADD_FAILURE() << "not stopped at question " << after + 1 << " of " << all;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::interrupted) << e.what();
    }
    EXPECT_EQ(counter.asked, after + 1);
  }
}

TEST(Stop, EndsACalibrationAndStoresNothing) {
  const SavedModel saved(2);
  const std::string file = saved.folder.path("calibration.safetensors");
  const auto images = few_glyphs();
  Counter counter;
  // Two layers, each with a pass over the images and their sums.
  expect_stops(counter, 10, [&] {
    std::filesystem::remove(file);
    glint::open_run(counter.engine, {.run = saved.folder.path(), .images = images})->calibration();
  });
  EXPECT_FALSE(std::filesystem::exists(file)) << "half a calibration was stored";
}

TEST(Stop, EndsRead) {
  const SavedModel saved;
  const auto images = few_glyphs();
  Counter counter;
  expect_stops(counter, 30, [&] {
    std::filesystem::remove(saved.folder.path("calibration.safetensors"));
    ReadRequest request{.source = RunSource{.run = saved.folder.path(), .images = images}};
    request.figures = false;
    read(counter.engine, request);
  });
}

TEST(Stop, EndsCompare) {
  const SavedModel a, b(2);
  const auto images = few_glyphs();
  Counter counter;
  expect_stops(counter, 30, [&] {
    compare_runs(counter.engine,
                 {.runs = {a.folder.path(), b.folder.path()}, .source = RunSource{.images = images}, .control = {}});
  });
}

}  // namespace
}  // namespace glint

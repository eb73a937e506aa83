// Reading and explaining a run through the library: a model with random weights, saved with its config alone.
#include "glint/lab/read/read.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/lab/read/explain.h"
#include "glint/lab/read/read_forms.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;
namespace fs = std::filesystem;

std::string where_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.parts().where;
  }
  return "no error";
}

TEST(Read, HasASchemaAndEveryFormWithItsAgreement) {
  const SavedModel saved;
  const std::string run = saved.folder.path();
  const ReadResult r =
      read(saved.engine, {.source = RunSource{.run = run}, .along = Along{.directions = {"3-5,7"}}, .figures = false});
  EXPECT_EQ(r.names(), (std::vector<std::string>{"3 - 5", "7"}));
  EXPECT_TRUE(fs::exists(r.spectra)) << r.spectra;
  EXPECT_FALSE(fs::exists(run + "/figures"));
  const nlohmann::ordered_json j = to_json(r);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], "glint-read/1");
  EXPECT_EQ(j["form"], "scaled");
  for (const char* form : {"weights", "scaled", "calibrated", "local"})
    EXPECT_TRUE(j["fidelity"][form]["agreement"].is_number()) << form;
  for (const char* form : {"weights", "calibrated"}) {
    EXPECT_GE(j["fidelity"][form]["r2_scaled"], j["fidelity"][form]["r2"]) << form;
    EXPECT_TRUE(j["fidelity"][form]["r2_centred"].is_number()) << form;
    EXPECT_TRUE(j["fidelity"][form]["even_share"].is_number()) << form;
  }
  for (const auto& unit : j["units"]) {
    EXPECT_TRUE(unit["even_share"].is_number());
    EXPECT_NEAR(unit["linear_share"].get<double>() + unit["quadratic_share"].get<double>(), 1, 1e-9);
  }
  EXPECT_TRUE(j["controls"]["linear"]["agreement"].is_number());
  for (const ReadForm& form : r.forms)
    EXPECT_TRUE(j["controls"]["untrained"][name(form.form)]["r2_centred"].is_number()) << name(form.form);
  EXPECT_EQ(j["fidelity"]["local"]["agreement"], 1.0);
  EXPECT_TRUE(j["accuracy_model"].is_number());
  ASSERT_EQ(j["units"].size(), 2u);
  EXPECT_EQ(j["units"][0]["eigenvalues"].size(), 12u);
  EXPECT_EQ(j["truncation"]["weights"].size(), 13u);
  ASSERT_FALSE(r.directions[0].positive.empty());
  EXPECT_EQ(r.directions[0].positive[0].pixels.size(), 784u);
  for (const ReadDirection& d : r.directions) EXPECT_EQ(d.linear_pixels.size(), d.has_linear() ? 784u : 0u);
}

TEST(Read, WalksDownToALowerLayerAndReadsHiddenUnits) {
  const SavedModel saved(2, true);
  const std::string run = saved.folder.path();
  ReadRequest request{.source = RunSource{.run = run}, .layer = 1, .along = Along{.directions = {"0,1"}, .via = "2"}};
  request.spectra = request.figures = false;
  const ReadResult lower = read(saved.engine, request);
  EXPECT_EQ(lower.names(), (std::vector<std::string>{"0 via v2", "1 via v2"}));
  EXPECT_FALSE(lower.whole_model());
  EXPECT_LE(lower.controls.linear.r2, 1);
  EXPECT_EQ(lower.controls.untrained.size(), lower.forms.size());
  EXPECT_TRUE(lower.spectra.empty());
  request.along = Along{.directions = {"hidden:5"}};
  const ReadResult hidden = read(saved.engine, request);
  EXPECT_EQ(hidden.names(), std::vector<std::string>{"hidden unit 5"});
  // A product of two linear functions has two eigenvectors.
  EXPECT_NEAR(hidden.directions[0].energy[1], 1, 1e-12);
}

// Without controls nothing is measured, and no form is fitted; the eigenvectors are the same.
TEST(Read, MeasuresAsMuchAsIsAskedFor) {
  const SavedModel saved;
  ReadRequest request{
      .source = RunSource{.run = saved.folder.path()}, .form = "weights", .along = Along{.directions = {"3"}}};
  request.spectra = request.figures = false;
  const ReadResult all = read(saved.engine, request);
  ASSERT_TRUE(fs::remove(saved.folder.path("calibration.safetensors")));
  request.controls = "none";
  const ReadResult none = read(saved.engine, request);
  EXPECT_FALSE(fs::exists(saved.folder.path("calibration.safetensors")));
  EXPECT_EQ(none.directions[0].form.spectrum.values, all.directions[0].form.spectrum.values);
  EXPECT_EQ(none.directions[0].positive[0].pixels, all.directions[0].positive[0].pixels);
  EXPECT_FALSE(none.directions[0].trust);
  EXPECT_TRUE(none.forms.empty());
  EXPECT_FALSE(to_json(none).contains("controls"));
  request.controls = "linear";
  const ReadResult linear = read(saved.engine, request);
  EXPECT_EQ(linear.directions[0].trust->r2, all.directions[0].trust->r2);
  EXPECT_EQ(linear.controls.linear.r2, all.controls.linear.r2);
  EXPECT_TRUE(linear.controls.untrained.empty());
  EXPECT_EQ(all.controls.untrained.size(), all.forms.size());
}

TEST(Read, NamesTheParameterThatIsWrong) {
  const SavedModel saved;
  const auto asked = [&](ReadRequest request) {
    request.source.run = saved.folder.path();
    return where_of([&] { read(saved.engine, request); });
  };
  const ReadRequest plain;
  ReadRequest q = plain;
  for (const size_t none : {0, 2}) {
    q.layer = none;
    EXPECT_EQ(asked(q), "layer");
  }
  q = plain, q.form = "best";
  EXPECT_EQ(asked(q), "form");
  q = plain, q.controls = "many";
  EXPECT_EQ(asked(q), "controls");
  q = plain, q.along.directions = {"12"};
  EXPECT_EQ(asked(q), "unit");
  q = plain, q.along.via = "0";
  EXPECT_EQ(asked(q), "via");
  q = plain, q.along.directions = {"hidden:13"};
  EXPECT_EQ(asked(q), "hidden");
}

// Up to kFullWidth all eigenpairs are as fast, and ranks need them all.
TEST(Read, AsksTheSolverForFewEigenpairsOfWideLayersOnly) {
  const auto wanted = [](size_t width, size_t top) {
    const ConstMatrixView<float> half(nullptr, 4, width);
    return wanted_pairs({.left = half, .right = half, .bias_left = {}, .bias_right = {}, .gate = {}}, top).strongest;
  };
  EXPECT_EQ(wanted(kFullWidth, 5), 0u);
  EXPECT_EQ(wanted(kFullWidth + 1, 5), 5u);
  EXPECT_EQ(wanted(kFullWidth + 1, 0), 0u);
}

// Of a layer that is too wide to be taken apart whole, the strongest eigenpairs come from another solver.
// They are those of the whole decomposition, and ranks, which need them all, are not made up.
TEST(Read, AWideLayerGivesItsStrongestEigenpairs) {
  constexpr size_t kWidth = kFullWidth + 8, kHidden = 6;
  const SavedModel saved(1, false, kWidth, kHidden);
  DataOptions few;
  few.glyph_train = 200, few.glyph_test = 50;
  ReadRequest request{.source = RunSource{.run = saved.folder.path()}};
  request.source.images = std::make_shared<Dataset>(load_dataset("glyphs", few));
  request.along.directions = {"3"}, request.strongest = 4, request.form = "weights", request.figures = false;
  const ReadResult r = read(saved.engine, request);
  const ReadDirection& d = r.directions.at(0);
  ASSERT_EQ(d.form.spectrum.count(), 4u);
  EXPECT_EQ(d.form.spectrum.width(), kWidth);
  EXPECT_FALSE(d.rank.has_value());
  EXPECT_TRUE(d.energy.empty());
  EXPECT_TRUE(r.image->shared.values.empty());
  ASSERT_FALSE(d.positive.empty());
  EXPECT_EQ(d.positive[0].pixels.size(), 784u);

  // A form of h products has at most 2 h eigenvalues that are not 0. With all of them the trace of Q is their
  // sum: sum_h q_h l_h . r_h, computed from the weights alone.
  request.strongest = 2 * kHidden;
  const ReadResult all = read(saved.engine, request);
  const std::vector<double>& values = all.directions.at(0).form.spectrum.values;
  ASSERT_EQ(values.size(), 2 * kHidden);
  for (const double v : d.form.spectrum.values)
    EXPECT_TRUE(std::ranges::any_of(values, [&](double w) { return std::fabs(v - w) < 1e-6 * std::fabs(w); })) << v;
  const auto opened_run = glint::open_run(saved.engine, {.run = saved.folder.path()});
  glint::Run& run = *opened_run;
  const GluLayerView layer = run.reading().layer(0);
  Matrix<double> left(kHidden, kWidth), right(kHidden, kWidth);
  Matrix<float> buffer;
  layer.left.widen(0, left, buffer), layer.right.widen(0, right, buffer);
  double trace = 0, scale = 0, sum = 0;
  for (size_t h = 0; h < kHidden; h++)
    for (size_t i = 0; i < kWidth; i++) {
      const double term = static_cast<double>(run.image().reading().head()(3, h)) *
                          run.lines(Form::weights)[0].gain[h] * left(h, i) * right(h, i);
      trace += term, scale += std::fabs(term);
    }
  for (const double v : values) sum += v;
  EXPECT_NEAR(sum, trace, 1e-6 * scale);
}

TEST(Explain, TheSumsOfAModelWithBiasesAreItsLogits) {
  const SavedModel saved(1, true);
  ExplainRequest request{.source = RunSource{.run = saved.folder.path()}, .form = "local", .index = 4};
  request.figures = false;
  const ExplainResult r = explain(saved.engine, request);
  ASSERT_GE(r.classes.size(), 2u);
  EXPECT_EQ(r.classes[0].index, r.order[0]);
  for (size_t i = 0; i < r.classes.size(); i++) {
    const ExplainedClass& c = r.shown[i];
    const double size = 1 + c.positive - c.negative;
    EXPECT_NEAR(c.positive + c.negative + c.linear + c.beside + c.rest, c.logit, 1e-12 * size);
    EXPECT_NEAR(c.rest, 0, 1e-5 * size) << "the local form is exact";
    EXPECT_NE(c.beside, 0) << "the bias of the head";
    EXPECT_LE(c.forward.size(), 4u);
  }
  EXPECT_EQ(r.pixels.size(), 784u);
  EXPECT_TRUE(r.figure.empty());
  const nlohmann::ordered_json j = to_json(r);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], "glint-explain/1");
  EXPECT_EQ(j["classes"][0]["local"].count("residual_logit"), 1u);
  EXPECT_EQ(j["classes"][0]["local"].count("rest"), 1u);
  EXPECT_TRUE(j["controls"]["linear"]["agreement"].is_number());
  EXPECT_EQ(j["controls"]["untrained"].size(), 1u);
}

TEST(Explain, NamesTheParameterThatIsWrong) {
  const SavedModel saved;
  const auto asked = [&](ExplainRequest request) {
    request.source.run = saved.folder.path();
    return where_of([&] { explain(saved.engine, request); });
  };
  const ExplainRequest first{.index = 0};
  ExplainRequest q = first;
  q.image = "mine.png";
  EXPECT_EQ(asked(q), "index");
  q = first, q.index = 100000000;
  EXPECT_EQ(asked(q), "index");
  q = first, q.unit = "3-4";
  EXPECT_EQ(asked(q), "unit");
  q = first, q.form = "best";
  EXPECT_EQ(asked(q), "form");
}

}  // namespace
}  // namespace glint

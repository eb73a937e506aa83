// Why a token is expected, and passages, through the library: models of other programs, a run of glint where
// there is a small one, and stories260K where it is at hand.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/lab/read/explain_token.h"
#include "glint/lab/read/passages.h"
#include "glint/lab/read/read.h"
#include "glint/lab/work/train.h"
#include "tests/data/idx_files.h"
#include "tests/lab/real_model.h"

namespace glint {
namespace {

const std::string kTinyModel = GLINT_GOLDEN_DIR "/families/tiny/tiny.bin";

std::string where_thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.parts().where;
  }
  return "no error";
}

// One small language model for all tests: a minute of training would not make it better for them.
class TinyRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    engine_ = new Engine({.threads = 2});
    train(*engine_,
          {.recipe = "tales",
           .changes = {{"epochs", "1"}, {"layers", "2"}, {"d-model", "16"}, {"heads", "2"}, {"context", "48"}},
           .out = folder_->path("run")});
  }
  static void TearDownTestSuite() {
    delete engine_;
    delete folder_;
  }
  static std::string run() { return folder_->path("run"); }
  static const Engine& engine() { return *engine_; }
  static TempFolder* folder_;
  static Engine* engine_;
};
TempFolder* TinyRun::folder_ = nullptr;
Engine* TinyRun::engine_ = nullptr;

// The sum is the logit, and the numbers of a layer add up to its share. 1e-4: what the issue promises; f32
// leaves about 1e-6 of parts of size 10.
void expect_sums(const ExplainTokenResult& r) {
  EXPECT_NEAR(r.parts.sum(), r.parts.logit, 1e-4);
  const double logit = r.token.logit - (r.against ? r.against->logit : 0);
  EXPECT_DOUBLE_EQ(r.parts.logit, logit);
  ASSERT_FALSE(r.layers.empty());
  for (const ExplainedLayer& e : r.layers) {
    const GluShare& s = e.share;
    EXPECT_NEAR(s.quadratic + s.linear + s.constant + s.rest, r.parts.glu[s.layer], 1e-9);
    double terms = s.others;
    for (const double t : s.terms) terms += t;
    EXPECT_NEAR(terms, s.quadratic, 1e-9);
    for (const auto* side : {&e.forward, &e.against})
      for (const ExplainedVector& v : *side) {
        EXPECT_FALSE(v.words().empty());
        EXPECT_EQ(v.contribution > 0, side == &e.forward);
        EXPECT_NEAR(v.contribution, s.scale * v.eigenvalue * v.projection * v.projection,
                    1e-9 * (1 + std::fabs(v.contribution)));
      }
    EXPECT_LE(e.trust.r2, 1);
  }
}

TEST_F(TinyRun, ATokenExplained) {
  ExplainRequest q;
  q.source.run = run(), q.prompt = "once upon a time there was a", q.layers = "all", q.figures = false;
  for (const char* form : {"auto", "weights", "scaled", "calibrated", "local"}) {
    SCOPED_TRACE(form);
    q.form = form;
    const ExplainTokenResult r = explain_token(engine(), q);
    expect_sums(r);
    EXPECT_EQ(r.layers.size(), 2u);
    EXPECT_EQ(r.token.place, 1u);
    EXPECT_EQ(r.token.id, r.expected[0].id);
    EXPECT_EQ(r.position + r.marks, r.tokens.size());
    for (const ExplainedLayer& e : r.layers) {
      if (q.form == "local") {
        EXPECT_NEAR(e.share.rest, 0, 1e-4);
      }
      if (q.form == "weights" || q.form == "scaled") {
        EXPECT_EQ(e.share.linear, 0);
      }
    }
  }
  q.form = "auto", q.layers = "", q.token = "happy", q.against = "sad", q.position = 3;
  const ExplainTokenResult r = explain_token(engine(), q);
  expect_sums(r);
  EXPECT_EQ(r.layers.size(), 1u);
  // The layer that is taken apart is the one whose GLU adds most.
  for (const double glu : r.parts.glu) EXPECT_LE(std::fabs(glu), std::fabs(r.layers[0].share.share));
  EXPECT_EQ(asked_text(r), "·happy against ·sad");
  // What comes later in the text changes nothing.
  q.prompt = r.text, q.position = {};
  const ExplainTokenResult cut = explain_token(engine(), q);
  EXPECT_EQ(cut.parts.logit, r.parts.logit);
  const nlohmann::ordered_json j = to_json(r);
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j["schema"], "glint-explain-token/1");
  EXPECT_NEAR(j["parts"]["sum"].get<double>(), j["parts"]["logit"].get<double>(), 1e-4);
}

TEST_F(TinyRun, TheSameAtAnyNumberOfThreads) {
  const Engine one({.threads = 1});
  ExplainRequest q;
  q.source.run = run(), q.prompt = "once upon a time", q.figures = false;
  nlohmann::ordered_json a = to_json(explain_token(one, q)), b = to_json(explain_token(engine(), q));
  EXPECT_EQ(a.dump(), b.dump());
  ReadRequest read_request{.source = RunSource{.run = run()}};
  read_request.along.directions = {"happy"}, read_request.passages = 2,
  read_request.spectra = read_request.figures = false;
  EXPECT_EQ(to_json(read(one, read_request)).dump(), to_json(read(engine(), read_request)).dump());
}

TEST_F(TinyRun, WhatCannotBeExplainedIsSaid) {
  ExplainRequest q;
  q.source.run = run(), q.prompt = "once upon a time", q.figures = false;
  const auto with = [&](auto change) {
    ExplainRequest changed = q;
    change(changed);
    return where_thrown([&] { explain_token(engine(), changed); });
  };
  EXPECT_EQ(with([](auto& c) { c.position = 99; }), "position");
  EXPECT_EQ(with([](auto& c) { c.token = "zyzzyva"; }), "token");
  EXPECT_EQ(with([](auto& c) { c.against = "zyzzyva"; }), "against");
  EXPECT_EQ(with([](auto& c) { c.token = c.against = "happy"; }), "against");
  EXPECT_EQ(with([](auto& c) { c.layers = "3"; }), "layer");
  EXPECT_EQ(with([](auto& c) { c.layers = "x"; }), "layer");
  EXPECT_EQ(with([](auto& c) { c.form = "exact"; }), "form");
  EXPECT_EQ(with([](auto& c) {
              for (int i = 0; i < 60; i++) c.prompt += " happy";
            }),
            "prompt");
  // At the very beginning the model has read its mark alone.
  q.prompt = "", q.position = 0;
  expect_sums(explain_token(engine(), q));
}

// The passages of a reading are those of its eigenvectors by themselves, and at each of their words the layer
// shows what is said.
TEST_F(TinyRun, PassagesOfAReading) {
  ReadRequest request{.source = RunSource{.run = run()}};
  request.along.directions = {"happy"}, request.show = 2, request.passages = 3, request.out = folder_->path("reading");
  const ReadResult r = read(engine(), request);
  ASSERT_TRUE(r.text->passage_text);
  EXPECT_GT(r.text->passage_text->tokens, 1000u);
  EXPECT_TRUE(std::filesystem::exists(r.text->passages_page)) << r.text->passages_page;
  const ReadDirection& d = r.directions[0];
  ASSERT_EQ(d.responses.size(), d.positive.size() + d.negative.size());
  for (const Responses& one : d.responses) {
    EXPECT_EQ(one.passages.size(), 3u);
    for (const ShownPassage& p : one.passages) {
      const PassageToken& t = p.tokens[p.strongest];
      EXPECT_NEAR(p.value, one.value * t.shown * t.shown, 1e-9 * std::fabs(p.value));
      EXPECT_GT(std::fabs(p.value), one.mean);
      for (const PassageToken& other : p.tokens) EXPECT_LE(std::fabs(other.strength), 1);
      std::string text;
      for (const PassageToken& other : p.tokens) text += other.text;
      EXPECT_FALSE(text.empty());
    }
    EXPECT_EQ(std::fabs(one.passages[0].tokens[one.passages[0].strongest].strength), 1);
  }
  const nlohmann::ordered_json j = to_json(r);
  EXPECT_EQ(j["units"][0]["responses"].size(), d.responses.size());
  EXPECT_EQ(j["passages"]["text"]["tokens"], r.text->passage_text->tokens);
}

TEST_F(TinyRun, PassagesOfHiddenUnitsAndTexts) {
  PassagesRequest q{.source = {.run = run()}};
  q.hidden = {3}, q.count = 2;
  q.texts = {"once upon a time a happy cat met a sad dog .", "the dog was happy . the cat was sad ."};
  const PassagesResult r = passages(engine(), q);
  ASSERT_EQ(r.responses.size(), 2u);
  EXPECT_EQ(r.text.stories, 2u);
  for (size_t side = 0; side < 2; side++)
    for (const ShownPassage& p : r.responses[side].passages) {
      EXPECT_EQ(p.value > 0, side == 0);
      EXPECT_EQ(p.value, p.tokens[p.strongest].shown);
    }
  EXPECT_NE(passages_html(r).find("hidden unit 3, above 0"), std::string::npos);
  q.hidden = {}, q.texts = {};
  EXPECT_EQ(where_thrown([&] { passages(engine(), q); }), "vectors");
  q.vectors = Matrix<double>(1, 3), q.values = {1.0};
  EXPECT_EQ(where_thrown([&] { passages(engine(), q); }), "vectors");
  // The limit is kept, and said.
  q.vectors = Matrix<double>(1, 16), q.vectors(0, 4) = 1, q.tokens = 100;
  const PassagesResult few = passages(engine(), q);
  EXPECT_FALSE(few.text.whole);
  EXPECT_GE(few.text.tokens, 100u);
  EXPECT_LT(few.text.tokens, 200u);
}

TEST(ForeignToken, ExplainedWithPassages) {
  const Engine engine({.threads = 2});
  ExplainRequest q;
  q.source.run = kTinyModel, q.prompt = "the cat", q.token = "cat", q.against = "dog", q.layers = "all",
  q.figures = false;
  const ExplainTokenResult r = explain_token(engine, q);
  expect_sums(r);
  EXPECT_EQ(r.samples, "the built-in tales");
  const TempFolder folder;
  std::ofstream(folder.path("a.txt")) << "the cat sat a dog<|endoftext|>so the dog sat<|endoftext|>the cat sat the cat";
  PassagesRequest p{.source = {.run = kTinyModel, .text = folder.path("a.txt")}};
  p.vectors = Matrix<double>(1, 8), p.vectors(0, 0) = 1, p.values = {-2.0}, p.layer = 1;
  const PassagesResult found = passages(engine, p);
  EXPECT_EQ(found.text.stories, 3u);
  ASSERT_EQ(found.responses.size(), 1u);
  for (const ShownPassage& s : found.responses[0].passages) {
    EXPECT_LT(s.value, 0);
    EXPECT_NE(s.tokens[0].id, 1u);  // the mark is no word
  }
}

TEST(ForeignToken, Stories260KAddsUp) {
  const std::string bin = fixtures::real_model("stories260K.bin");
  if (bin.empty()) GTEST_SKIP() << "stories260K is not here: GLINT_MODELS=DIR";
  const Engine engine({.threads = 2});
  ExplainRequest q;
  q.source = {.run = bin, .tokenizer = fixtures::real_model("tok512.bin")};
  q.prompt = "Once upon a time, there was a little girl named", q.layers = "all", q.form = "local", q.figures = false;
  const ExplainTokenResult r = explain_token(engine, q);
  expect_sums(r);
  for (const ExplainedLayer& e : r.layers) EXPECT_NEAR(e.share.rest, 0, 1e-4);
}

}  // namespace
}  // namespace glint

// Results of the library's capabilities as JSON: the schema comes first, and the names that programs rely on
// are there.
#include <gtest/gtest.h>

#include <cmath>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/lab/models/evaluate.h"
#include "glint/lab/models/generate.h"
#include "glint/lab/publish/export.h"
#include "glint/lab/publish/page.h"
#include "glint/lab/study/attack.h"
#include "glint/lab/study/compare.h"
#include "glint/lab/study/run_pairs.h"
#include "glint/lab/work/bench.h"
#include "glint/lab/work/tokenize.h"

namespace glint {
namespace {

void expect_schema(const OrderedJson& j, const std::string& schema) {
  ASSERT_TRUE(j.is_object());
  EXPECT_EQ(j.begin().key(), "schema");
  EXPECT_EQ(j.begin().value(), schema);
}

TEST(EvaluateJson, ClassesWithoutImagesHaveNoRecall) {
  ImageEvaluation r;
  r.images = 3, r.correct = 2, r.loss = 0.5;
  r.confusion = Matrix<uint32_t>(2, 2);
  r.confusion(0, 0) = 2, r.confusion(0, 1) = 1;
  r.classes = {{.name = "0", .images = 3, .predicted = 2, .correct = 2},
               {.name = "Dress", .images = 0, .predicted = 1, .correct = 0}};
  const OrderedJson j = to_json(r);
  expect_schema(j, "glint-evaluate-images/1");
  EXPECT_EQ(j["loss"], 0.5);
  EXPECT_EQ(j["confusion"], OrderedJson::parse("[[2, 1], [0, 0]]"));
  EXPECT_DOUBLE_EQ(j["classes"][0]["recall"].get<double>(), 2.0 / 3);
  EXPECT_TRUE(j["classes"][1]["recall"].is_null());
  EXPECT_EQ(j["classes"][1]["precision"], 0.0);
  EXPECT_FALSE(j.contains("sheet"));
  EXPECT_EQ(r.class_text(0), "0");
  EXPECT_EQ(r.class_text(1), "1 Dress");
}

TEST(EvaluateJson, ATextFileAlsoHasBitsPerByte) {
  TextEvaluation r;
  r.tokens = 4, r.correct = 1, r.total_loss = 8, r.stories = 1;
  r.positions = {{.first = 2, .last = 3, .loss = 5, .tokens = 2}};
  OrderedJson j = to_json(r);
  expect_schema(j, "glint-evaluate-text/1");
  EXPECT_EQ(j["loss"], 2.0);
  EXPECT_DOUBLE_EQ(j["perplexity"].get<double>(), std::exp(2.0));
  EXPECT_EQ(j["accuracy"], 0.25);
  EXPECT_EQ(j["positions"][0], OrderedJson::parse(R"({"first": 3, "last": 4, "tokens": 2, "loss": 2.5})"));
  EXPECT_FALSE(j.contains("bits_per_byte"));
  r.bytes = 16, r.unknown = 1;
  j = to_json(r);
  EXPECT_DOUBLE_EQ(j["bits_per_byte"].get<double>(), 8 / std::log(2.0) / 16);
  EXPECT_EQ(r.notes(), std::vector<std::string>{"1 unknown token (characters without a piece)"});
}

TEST(GenerateJson, StoriesAndRate) {
  GenerateResult r;
  r.tokens = 10, r.seconds = 0.5;
  r.stories = {{.index = 0, .text = "once upon", .tokens = 1, .ended = true}};
  const OrderedJson j = to_json(r);
  expect_schema(j, "glint-generate/1");
  EXPECT_EQ(j["tokens_per_second"], 20.0);
  EXPECT_EQ(j["stories"][0]["text"], "once upon");
}

TEST(CompareJson, ClaimsComeFromTheRanks) {
  Comparison c;
  c.form = "weights", c.space = "pixels", c.top = 3;
  EXPECT_TRUE(c.claims().empty());  // nothing was compared
  const OrderedJson j = to_json(c);
  expect_schema(j, "glint-compare/1");
  EXPECT_EQ(j["claim"]["top"], 0.95);
  EXPECT_EQ(j["control"]["kind"], "runs");
  EXPECT_TRUE(j["claim"]["measured"].empty());
}

TEST(Compare, RunsComeInPairs) {
  std::vector<std::string> notes;
  for (const std::vector<std::string>& runs : {std::vector<std::string>{}, {"a"}, {"a", "b", "c"}})
    EXPECT_THROW(run_pairs(runs, notes), Error);
  try {
    run_pairs({"/nowhere/a", "/nowhere/b"}, notes);
    FAIL() << "a folder that is not there was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().code, ErrorCode::bad_file);
    EXPECT_EQ(e.parts().where, "/nowhere/a");
  }
}

TEST(Attack, StrengthsAreChecked) {
  const Engine engine({.threads = 1});
  for (const std::vector<double>& strengths : {std::vector<double>{}, {1, -2}, {NAN}, {1001}}) {
    AttackRequest request;
    request.strengths = strengths;
    try {
      attack(engine, request);
      FAIL() << "strengths were taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.parts().where, "strengths");
    }
  }
}

TEST(AttackJson, MeansOverClasses) {
  Attack a;
  a.strengths = {0, 2};
  a.units = {3, 4}, a.unit_names = {"3", "4"};
  a.shown = 1;
  a.results.resize(2);
  for (size_t u = 0; u < 2; u++)
    for (AttackResult& r : a.results[u])
      for (std::vector<AttackPoint>& curve : r.curve)
        for (size_t s = 0; s < 2; s++)
          curve.push_back({.accuracy = u == 0 ? 0.5 : 1.0, .success = 0.25, .images = 4, .eligible = 4});
  const OrderedJson j = to_json(a);
  expect_schema(j, "glint-attack/1");
  EXPECT_EQ(j["shown_strength"], 2.0);
  EXPECT_EQ(j["all"]["away"]["eigen"][1]["accuracy"], 0.75);
  EXPECT_EQ(j["classes"][1]["towards"]["random"][0]["accuracy"], 1.0);
  EXPECT_FALSE(j.contains("figures"));
}

TEST(PageJson, ImagesAndLanguage) {
  PageResult r{.page = "p.html", .bytes = 7, .images = 5, .runs = {{"first", {}}}};
  PageFormResult form{.name = "weights"};
  form.fidelity.r2 = 0.5, form.fidelity.agreement = 0.75, form.fidelity.even_share = 0.625;
  r.runs[0].forms.push_back(form);
  r.runs[0].controls.resize(1);
  r.runs[0].controls[0].linear.agreement = 0.25;
  r.runs[0].controls[0].untrained[Form::weights].r2 = 0.125;
  OrderedJson j = to_json(r);
  expect_schema(j, "glint-page/1");
  EXPECT_EQ(j["runs"][0]["controls"]["linear"]["agreement"], 0.25);
  EXPECT_EQ(j["runs"][0]["controls"]["untrained"]["weights"]["r2"], 0.125);
  EXPECT_EQ(j["weights"], "f32");
  EXPECT_FALSE(j.contains("logit_deviation"));
  EXPECT_EQ(j["runs"][0]["forms"]["weights"]["agreement"], 0.75);
  EXPECT_EQ(j["runs"][0]["forms"]["weights"]["even_share"], 0.625);
  r.language = true, r.half = true, r.logit_deviation = 0.125;
  r.runs[0].forms[0].layers = {{.trust = {.r2 = 0.9}}, {.trust = {.r2 = 0.8, .even_share = 0.5}}};
  j = to_json(r);
  EXPECT_FALSE(j.contains("images"));
  EXPECT_EQ(j["logit_deviation"], 0.125);
  EXPECT_EQ(j["runs"][0]["forms"]["weights"][1]["r2"], 0.8);
  EXPECT_EQ(j["runs"][0]["forms"]["weights"][1]["even_share"], 0.5);
}

TEST(ExportJson, ArraysSayWhatTheirRowsAre) {
  const ExportResult r{.run = "r",
                       .linalg = "eigen",
                       .npy = "arrays",
                       .hf = "",
                       .arrays = {{"gates.0.gain", "gates.0.gain.npy", "F64", {4}, "00", {{"layer", 1}}}},
                       .hf_files = {}};
  const OrderedJson j = to_json(r);
  expect_schema(j, "glint-export/1");
  ASSERT_EQ(j["exports"].size(), 1u);
  EXPECT_EQ(j["exports"][0]["kind"], "npy");
  EXPECT_EQ(j["exports"][0]["arrays"][0]["layer"], 1);
  EXPECT_EQ(j["exports"][0]["arrays"][0]["shape"], OrderedJson::parse("[4]"));
}

TEST(Tokenize, ATextAndAFolderAreNeeded) {
  const Engine engine({.threads = 1});
  const auto where = [&](const CorpusBuild& request) {
    try {
      tokenize(engine, request);
    } catch (const Error& e) {
      return e.parts().where;
    }
    return std::string();
  };
  EXPECT_EQ(where({.out = "corpus"}), "texts");
  EXPECT_EQ(where({.texts = {"a.txt"}, .tales = 5, .out = "corpus"}), "texts");
  EXPECT_EQ(where({.tales = 5}), "out");
}

TEST(Tokenize, ProgressIsToldAndStopIsAsked) {
  std::vector<ProgressReport> reports;
  bool stop = false;
  const Engine engine({.threads = 1}, {.note = {},
                                       .progress = [&](const ProgressReport& p) { reports.push_back(p); },
                                       .should_stop = [&] { return stop; }});
  CorpusBuild request{.tales = 300, .out = testing::TempDir() + "glint_tokenize_result", .force = true};
  request.training.vocab = 300;
  const TokenizeResult r = tokenize(engine, request);
  const OrderedJson j = to_json(r);
  expect_schema(j, "glint-tokenize/1");
  EXPECT_EQ(j["train"]["stories"].get<size_t>() + j["valid"]["stories"].get<size_t>(), 300u);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().label, "encoding");
  stop = true;
  try {
    tokenize(engine, request);
    FAIL() << "nobody asked whether to stop";
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().code, ErrorCode::interrupted);
  }
}

GateTiming timing(GateKind kind, double ms, bool fused = true) {
  GateTiming t;
  t.gate.kind = kind, t.fused = fused, t.median_ms = ms;
  return t;
}

TEST(Bench, RatiosAreThoseOfTheSameShape) {
  std::vector<GateTiming> timings;
  for (const double scale : {1.0, 10.0}) {
    timings.push_back(timing(GateKind::Sqs, 2 * scale));
    timings.back().products = true;
    timings.push_back(timing(GateKind::Sqs, 6 * scale));
    timings.push_back(timing(GateKind::Identity, (scale > 1 ? 12 : 3) * scale));
    timings.push_back(timing(GateKind::Sqs, 8 * scale, false));  // no unfused identity beside it
  }
  GateBench b;
  b.rows = with_ratios(timings);
  b.means = geometric_means(b.rows);
  ASSERT_EQ(b.means.size(), 3u);
  EXPECT_EQ(b.means[0].gate, "sqs");
  EXPECT_NEAR(b.means[0].over_products, 3, 1e-12);
  EXPECT_NEAR(b.means[0].over_identity, 1, 1e-12);  // 2 and 1/2
  EXPECT_NEAR(b.means[0].worst_over_identity, 2, 1e-12);
  EXPECT_EQ(b.means[2].gate, "sqs (unfused)");
  EXPECT_EQ(b.means[2].over_identity, 0);
  const OrderedJson j = to_json(b);
  expect_schema(j, "glint-bench-gates/1");
  EXPECT_EQ(j["rows"][0]["gate"], "products");
  EXPECT_FALSE(j["rows"][0].contains("over_identity"));
  EXPECT_FALSE(j["rows"][3].contains("over_identity"));
  EXPECT_EQ(j["rows"][5]["over_identity"], 0.5);
}

TEST(Bench, TimesAreSummarised) {
  const TimeSpread t = time_spread({4, 1, 3, 2, 5});
  EXPECT_EQ(t.repeats, 5u);
  EXPECT_EQ(t.median_ms, 3);
  EXPECT_EQ(t.best_ms, 1);
  EXPECT_EQ(t.low_ms, 2);
  EXPECT_EQ(t.high_ms, 4);
}

}  // namespace
}  // namespace glint

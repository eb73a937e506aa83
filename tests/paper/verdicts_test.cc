// Every rule on fixed numbers, with a case for each verdict that it can give.
#include "glint/paper/verdicts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace glint {
namespace {

using Losses = std::map<std::string, double>;

// Runs whose loss is `last` at the end and falls in a line from twice that; three seeds that differ by a
// thousandth, so that differences between gates are clear.
GateRuns runs_of(const std::string& gate, double last, double metric, size_t seeds = 3) {
  GateRuns g{gate, {}};
  for (uint64_t seed = 0; seed < seeds; seed++) {
    RunCurve r{.seed = seed, .points = {}};
    const double shift = 0.001 * last * static_cast<double>(seed);
    for (size_t c = 0; c < kCheckpoints; c++) {
      const CurvePoint p{100 * (c + 1), last * (2 - kCheckpointShares[c]) + shift, metric};
      r.points.push_back(p);
      r.at[c] = p;
    }
    r.reached = {10, 20, 30};
    g.runs.push_back(r);
  }
  return g;
}

TaskRuns task_of(const std::string& data, const Losses& losses, const Losses& metrics = {},
                 size_t seeds = 3) {
  TaskRuns t{
      .data = data, .text = data == "stories", .train = 60000, .test = 10000, .steps = 400, .epochs = 20};
  for (const auto& [gate, loss] : losses)
    t.gates.push_back(runs_of(gate, loss, metrics.contains(gate) ? metrics.at(gate) : 0.95, seeds));
  return t;
}

const Losses kSqsLowest = {{"sqs", .1}, {"relu", .2}, {"gelu", .3}, {"silu", .3}, {"identity", .2}};
const Losses kSqsMiddle = {{"sqs", .1}, {"relu", .2}, {"gelu", .08}, {"silu", .09}, {"identity", .2}};
const Losses kSqsHighest = {{"sqs", .5}, {"relu", .2}, {"gelu", .3}, {"silu", .3}, {"identity", .2}};

Measured images(const Losses& mnist, const Losses& fashion) {
  Measured m;
  m.tasks = {task_of("mnist", mnist), task_of("fashion-mnist", fashion)};
  return m;
}

Finding find(const Measured& m, const std::string& id) {
  for (const Finding& f : judge(m))
    if (f.id == id) return f;
  ADD_FAILURE() << "no rule " << id;
  return {};
}
Verdict verdict(const Measured& m, const std::string& id) { return find(m, id).verdict; }

TEST(Verdicts, NothingMeasuredIsNotTested) {
  const std::vector<Finding> all = judge({});
  EXPECT_GE(all.size(), 12u);
  for (const Finding& f : all) {
    EXPECT_EQ(f.verdict, Verdict::not_tested) << f.id;
    EXPECT_EQ(f.measured, "not run") << f.id;
    EXPECT_FALSE(f.why.empty()) << f.id << " does not say why";
    EXPECT_FALSE(f.quote.empty() || f.place.empty() || f.rule.empty()) << f.id;
  }
}

TEST(Verdicts, LossBelowReluAndBilinear) {
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsMiddle), "loss-below"), Verdict::holds);
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsHighest), "loss-below"), Verdict::in_part);
  EXPECT_EQ(verdict(images(kSqsHighest, kSqsHighest), "loss-below"), Verdict::fails);
  EXPECT_NE(find(images(kSqsLowest, kSqsMiddle), "loss-below").measured.find("16 of 16"), std::string::npos);
}

TEST(Verdicts, ConvergesFaster) {
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsLowest), "converges-faster"), Verdict::holds);
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsHighest), "converges-faster"), Verdict::in_part);
  EXPECT_EQ(verdict(images(kSqsHighest, kSqsHighest), "converges-faster"), Verdict::fails);
}

TEST(Verdicts, LowestLossAtTheEnd) {
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsLowest), "lowest-loss"), Verdict::holds);
  EXPECT_EQ(verdict(images(kSqsLowest, kSqsMiddle), "lowest-loss"), Verdict::in_part);
  const Finding f = find(images(kSqsMiddle, kSqsMiddle), "lowest-loss");
  EXPECT_EQ(f.verdict, Verdict::fails);
  EXPECT_NE(f.measured.find("the paper's own table has GELU 0.0680"), std::string::npos);
}

TEST(Verdicts, FirstToReach) {
  const auto with = [](uint64_t first, uint64_t second, uint64_t third) {
    Measured m = images(kSqsLowest, kSqsLowest);
    for (GateRuns& g : m.tasks[0].gates)
      if (g.gate == "sqs")
        for (RunCurve& r : g.runs) r.reached = {first + r.seed % 2, second + r.seed % 2, third + r.seed % 2};
    return verdict(m, "first-to-reach");
  };
  EXPECT_EQ(with(2, 3, 4), Verdict::holds);
  EXPECT_EQ(with(2, 90, 90), Verdict::in_part);
  EXPECT_EQ(with(90, 90, 90), Verdict::fails);
  EXPECT_EQ(with(10, 90, 90), Verdict::fails);  // level with the others at best
}

TEST(Verdicts, FirstToReachPairsBySeedAndNamesTies) {
  Measured m = images(kSqsLowest, kSqsLowest);  // all reach 10, 20, 30
  EXPECT_NE(find(m, "first-to-reach").measured.find("level with"), std::string::npos);
  // A late first seed of SQS whose rival run is missing does not shift the pairs.
  for (GateRuns& g : m.tasks[0].gates) {
    for (RunCurve& r : g.runs)
      for (uint64_t& step : r.reached) step = (g.gate == "sqs" ? 4 : 9) * (r.seed + 1) * (r.seed + 1);
    if (g.gate == "relu") g.runs.erase(g.runs.begin());
  }
  m.tasks[0].gates.back().runs[0].reached = {1, 1, 1};
  EXPECT_NE(verdict(m, "first-to-reach"), Verdict::holds);
}

TEST(Verdicts, OneSeedSpeaksByItsSign) {
  Measured m;
  m.tasks = {task_of("mnist", kSqsLowest, {}, 1), task_of("fashion-mnist", kSqsLowest, {}, 1)};
  const Finding f = find(m, "loss-below");
  EXPECT_EQ(f.verdict, Verdict::not_tested);
  EXPECT_NE(f.measured.find("would say: holds"), std::string::npos) << f.measured;
  EXPECT_EQ(f.measured.find("clearly"), std::string::npos) << f.measured;
}

TEST(Verdicts, AccuracyOnPar) {
  const auto with = [](double mnist, double fashion) {
    Measured m;
    m.tasks = {task_of("mnist", kSqsLowest, {{"sqs", mnist}}),
               task_of("fashion-mnist", kSqsLowest, {{"sqs", fashion}})};
    return verdict(m, "accuracy-on-par");
  };
  EXPECT_EQ(with(.9451, .96), Verdict::holds);
  EXPECT_EQ(with(.9451, .94), Verdict::in_part);
  EXPECT_EQ(with(.94, .94), Verdict::fails);
}

TEST(Verdicts, ComparableLoss) {
  const auto with = [](double sqs) {
    return verdict(
        images(kSqsLowest, {{"sqs", sqs}, {"relu", .2}, {"gelu", .1}, {"silu", .3}, {"identity", .2}}),
        "comparable-loss");
  };
  EXPECT_EQ(with(.109), Verdict::holds);
  EXPECT_EQ(with(.12), Verdict::in_part);
  EXPECT_EQ(with(.13), Verdict::fails);
}

Measured similar(double mnist, double fashion, const std::string& measure = "by rank") {
  Measured m;
  m.similarity = {
      {"mnist", "weights", "pixels", measure, {mnist, mnist / 2}, {0, 0}, {0, 0}, {}, 5},
      {"fashion-mnist", "weights", "pixels", measure, {fashion, fashion / 2}, {0, 0}, {0, 0}, {}, 5}};
  return m;
}

TEST(Verdicts, SimilarityAtTheTop) {
  EXPECT_EQ(verdict(similar(.96, .97), "similarity-top"), Verdict::holds);
  EXPECT_EQ(verdict(similar(.96, .90), "similarity-top"), Verdict::in_part);
  EXPECT_EQ(verdict(similar(.96, .97, "subspace"), "similarity-top"), Verdict::fails);  // not of vectors
  EXPECT_EQ(verdict(similar(.90, .90), "similarity-top"), Verdict::fails);
}

TEST(Verdicts, ClaimsAboutBothSetsNeedBoth) {
  Measured m = similar(.96, .97);
  m.similarity.pop_back();
  m.trust = {{"mnist", "sqs", "weights", {.96}, {.9}, {.9}, .9, .9}};
  for (const char* id : {"similarity-top", "explains"}) {
    const Finding f = find(m, id);
    EXPECT_EQ(f.verdict, Verdict::not_tested) << id;
    EXPECT_NE(f.measured.find("Fashion-MNIST was not run; by themselves these numbers would say: holds"),
              std::string::npos)
        << f.measured;
  }
}

TEST(Verdicts, SimilarityNeverBelowHalf) {
  EXPECT_EQ(verdict(similar(1, 1), "similarity-least"), Verdict::holds);
  EXPECT_EQ(verdict(similar(1, .9), "similarity-least"), Verdict::in_part);
  EXPECT_EQ(verdict(similar(.9, .9), "similarity-least"), Verdict::fails);
}

TEST(Verdicts, FirstEigenvectorsDominate) {
  const auto with = [](std::vector<double> energy) {
    Measured m;
    m.spectra = {{"mnist", "sqs", 10, 256, std::move(energy), .9, .95, 5}};
    return verdict(m, "few-dominate");
  };
  EXPECT_EQ(with({.5, .9}), Verdict::holds);
  EXPECT_EQ(with({.4, .9}), Verdict::in_part);
  EXPECT_EQ(with({.4, .5}), Verdict::fails);
}

TEST(Verdicts, Explains) {
  const auto with = [](double mnist, double fashion, double calibrated) {
    Measured m;
    for (const auto& [data, form, a] : std::vector<std::tuple<const char*, const char*, double>>{
             {"mnist", "weights", mnist},
             {"fashion-mnist", "weights", fashion},
             {"fashion-mnist", "calibrated", calibrated}})
      m.trust.push_back({data, "sqs", form, {a}, {.9}, {.9}, .9, .9});
    return verdict(m, "explains");
  };
  EXPECT_EQ(with(.96, .91, .95), Verdict::holds);
  EXPECT_EQ(with(.96, .45, .91), Verdict::in_part);
  EXPECT_EQ(with(.96, .45, .86), Verdict::fails);
}

TEST(Verdicts, AsFast) {
  const auto with = [](double relu, double identity, size_t shapes = 16) {
    Measured m;
    m.timing = TimingNumbers{shapes, 3, {{"relu", relu}, {"identity", identity}}};
    return verdict(m, "as-fast");
  };
  EXPECT_EQ(with(1.0, 1.04), Verdict::holds);
  EXPECT_EQ(with(1.0, 1.06), Verdict::in_part);
  EXPECT_EQ(with(1.2, 1.06), Verdict::fails);
  EXPECT_EQ(with(1.0, 1.0, 3), Verdict::not_tested);
}

TEST(Verdicts, BestOnStories) {
  const auto with = [](const Losses& losses, size_t stories) {
    Measured m;
    Losses perplexity;
    for (const auto& [gate, loss] : losses) perplexity[gate] = std::exp(loss);
    m.tasks = {task_of("stories", losses, perplexity)};
    // Seeds must differ in the metric as well, or its interval is a point.
    for (GateRuns& g : m.tasks[0].gates)
      for (RunCurve& r : g.runs)
        for (CurvePoint& p : r.at) p.metric = std::exp(p.loss);
    m.tasks[0].train = stories;
    if (stories < kPaperStories) m.tasks[0].smaller = std::to_string(stories) + " stories";
    return find(m, "best-stories");
  };
  EXPECT_EQ(with(kSqsLowest, kPaperStories).verdict, Verdict::holds);
  EXPECT_EQ(with(kSqsHighest, kPaperStories).verdict, Verdict::fails);
  const Finding small = with(kSqsLowest, 13895);
  EXPECT_EQ(small.verdict, Verdict::not_tested);
  EXPECT_NE(small.measured.find("13895 stories"), std::string::npos);
  EXPECT_NE(small.why.find("13895 stories"), std::string::npos);
  EXPECT_NE(small.measured.find("would say: holds"), std::string::npos);
  Measured tales;
  tales.tasks = {task_of("tales", kSqsLowest)};
  EXPECT_NE(find(tales, "best-stories").measured.find("built-in tales"), std::string::npos);
  EXPECT_NE(find(tales, "best-stories").why.find("built-in tales"), std::string::npos);
  // Best at the end alone.
  Measured m;
  m.tasks = {task_of("stories", kSqsMiddle)};
  m.tasks[0].train = kPaperStories;
  for (GateRuns& g : m.tasks[0].gates)
    for (RunCurve& r : g.runs) {
      for (CurvePoint& p : r.at) p.metric = std::exp(p.loss);
      if (g.gate == "sqs") r.at.back().loss = 0.01, r.at.back().metric = 1;
    }
  EXPECT_EQ(verdict(m, "best-stories"), Verdict::in_part);
}

TEST(Verdicts, Depth) {
  const auto with = [](double sqs, double bilinear_mnist, double bilinear_fashion, size_t seeds = 3) {
    Measured m;
    for (const char* data : {"mnist", "fashion-mnist"})
      for (const size_t layers : {1, 6}) {
        const double deep = std::string(data) == "mnist" ? bilinear_mnist : bilinear_fashion;
        const auto runs = [&](double accuracy) { return std::vector<double>(seeds, accuracy); };
        m.depth.push_back({data, "sqs", layers, runs(layers == 1 ? .97 : sqs), runs(.1), 0});
        m.depth.push_back({data, "identity", layers, runs(layers == 1 ? .97 : deep), runs(.1), 0});
      }
    return m;
  };
  EXPECT_EQ(verdict(with(.96, .1, .1), "depth"), Verdict::holds);
  EXPECT_EQ(verdict(with(.96, .1, .96), "depth"), Verdict::holds);  // where bilinear trains, nothing is asked
  EXPECT_EQ(verdict(with(.1, .1, .1), "depth"), Verdict::fails);
  Measured half = with(.96, .1, .1);
  half.depth[2].accuracy = {.1, .1, .1};  // SQS on MNIST with six layers
  EXPECT_EQ(verdict(half, "depth"), Verdict::in_part);
  const Finding none = find(with(.96, .96, .96), "depth");
  EXPECT_EQ(none.verdict, Verdict::not_tested);
  EXPECT_NE(none.measured.find("trains at every depth"), std::string::npos);
  EXPECT_EQ(verdict(with(.96, .1, .1, 2), "depth"), Verdict::not_tested);
  EXPECT_FALSE(find({}, "depth").in_paper);
}

TEST(Verdicts, SmallerThanThePaperIsNotTested) {
  Measured m = images(kSqsLowest, kSqsLowest);
  m.tasks[0].smaller = "fewer epochs than the paper";
  const Finding f = find(m, "loss-below");
  EXPECT_EQ(f.verdict, Verdict::not_tested);
  EXPECT_NE(f.measured.find("fewer epochs"), std::string::npos);
  EXPECT_NE(f.measured.find("would say: holds"), std::string::npos);
  m.tasks = {task_of("mnist", kSqsLowest, {}, 2), task_of("fashion-mnist", kSqsLowest, {}, 2)};
  EXPECT_EQ(verdict(m, "accuracy-on-par"), Verdict::not_tested);
  Measured spectra = similar(1, 1);
  spectra.small_spectra = "fewer epochs";
  EXPECT_EQ(verdict(spectra, "similarity-top"), Verdict::not_tested);
}

}  // namespace
}  // namespace glint

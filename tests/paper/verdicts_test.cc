// Every rule on fixed numbers, with a case for each verdict that it can give.
#include "glint/paper/verdicts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/paper/made_up.h"

namespace glint {
namespace {

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
  EXPECT_EQ(f.paper, "does not hold");
  EXPECT_NE(f.paper_measured.find("SQS 0.0834, lowest GELU 0.0680"), std::string::npos) << f.paper_measured;
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
  EXPECT_EQ(f.small, "on MNIST and Fashion-MNIST: holds");
  EXPECT_EQ(f.why, "MNIST: 1 seed; Fashion-MNIST: 1 seed");
  m.tasks[0].smaller = "fewer epochs";  // all that was missing is said
  EXPECT_EQ(find(m, "loss-below").why, "MNIST: fewer epochs, 1 seed; Fashion-MNIST: 1 seed");
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
    return verdict(images(kSqsLowest, {{"sqs", sqs}, {"relu", .2}, {"gelu", .1}, {"silu", .3}, {"identity", .2}}),
                   "comparable-loss");
  };
  EXPECT_EQ(with(.109), Verdict::holds);
  EXPECT_EQ(with(.12), Verdict::in_part);
  EXPECT_EQ(with(.13), Verdict::fails);
  const Finding f = find(images(kSqsLowest, {{"sqs", .12}, {"relu", .3}, {"gelu", .1}, {"silu", .3}, {"identity", .2}}),
                         "comparable-loss");
  EXPECT_NE(f.measured.find("closes 80 % of the gap"), std::string::npos) << f.measured;
  EXPECT_NE(f.measured.find("clearly higher"), std::string::npos) << f.measured;
}

Measured similar(double mnist, double fashion, const std::string& measure = "by rank") {
  Measured m;
  m.similarity = {{"mnist", "weights", "pixels", measure, {mnist, mnist / 2}, {0, 0}, {0, 0}, {}, 5},
                  {"fashion-mnist", "weights", "pixels", measure, {fashion, fashion / 2}, {0, 0}, {0, 0}, {}, 5}};
  return m;
}

TEST(Verdicts, SimilarityAtTheTop) {
  EXPECT_EQ(verdict(similar(.96, .97), "similarity-top"), Verdict::holds);
  EXPECT_EQ(verdict(similar(.96, .90), "similarity-top"), Verdict::in_part);
  EXPECT_EQ(verdict(similar(.96, .97, "subspace"), "similarity-top"), Verdict::fails);  // not of vectors
  EXPECT_EQ(verdict(similar(.90, .90), "similarity-top"), Verdict::fails);
}

FormTrust trust_of(const std::string& data, const std::string& form, double agreement, double alone) {
  return {.data = data,
          .gate = "sqs",
          .form = form,
          .agreement = {agreement},
          .r2 = {.9},
          .correlation = {.9},
          .accuracy_model = .9,
          .accuracy_form = .9,
          .eigenvectors_agreement = {alone},
          .eigenvectors_r2 = {.8}};
}

TEST(Verdicts, ClaimsAboutBothSetsNeedBoth) {
  Measured m = similar(.96, .97);
  m.similarity.pop_back();
  m.images = {"mnist"};
  m.trust = {trust_of("mnist", "weights", .96, .96)};
  for (const char* id : {"similarity-top", "explains"}) {
    const Finding f = find(m, id);
    EXPECT_EQ(f.verdict, Verdict::not_tested) << id;
    EXPECT_EQ(f.why, "Fashion-MNIST was not run");
    EXPECT_EQ(f.small, "on MNIST: holds");
  }
}

TEST(Verdicts, SimilarityNeverBelowHalf) {
  EXPECT_EQ(verdict(similar(1, 1), "similarity-least"), Verdict::holds);
  EXPECT_EQ(verdict(similar(1, .9), "similarity-least"), Verdict::in_part);
  EXPECT_EQ(verdict(similar(.9, .9), "similarity-least"), Verdict::fails);
}

TEST(Verdicts, FirstEigenvectorsDominate) {
  const auto with = [](std::vector<double> energy, double untrained = .2) {
    Measured m;
    m.spectra = {{"mnist", "sqs", true, 5, 256, std::move(energy), .9, .95, 5},
                 {"mnist", "identity", true, 5, 256, {.8, .9}, .9, .95, 5},
                 {"mnist", "sqs", false, 5, 256, {untrained}, .1, .1, 5}};
    return find(m, "few-dominate");
  };
  EXPECT_EQ(with({.5, .9}).verdict, Verdict::holds);
  EXPECT_EQ(with({.4, .9}).verdict, Verdict::in_part);
  EXPECT_EQ(with({.4, .5}).verdict, Verdict::fails);
  EXPECT_EQ(with({.5, .9}, .6).verdict, Verdict::fails);  // no more than before training
  const std::string words = with({.5, .9}).measured;
  EXPECT_NE(words.find("the five strongest"), std::string::npos) << words;
  EXPECT_NE(words.find("of an untrained model 20 %; of a bilinear model 85 %"), std::string::npos) << words;
}

TEST(Verdicts, Explains) {
  const auto with = [](double mnist, double fashion, double fitted) {
    Measured m;
    m.trust = {trust_of("mnist", "weights", mnist, mnist), trust_of("fashion-mnist", "weights", fashion, fashion),
               // The linear part of a calibrated form earns nothing.
               trust_of("fashion-mnist", "calibrated", .99, fitted)};
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
  Measured m;
  m.cpu = "a processor";
  m.timing = TimingNumbers{16, 3, {{"relu", 1}}};
  EXPECT_NE(find(m, "as-fast").measured.find("on this CPU (glint's kernels, not Triton on a GPU)"), std::string::npos);
}

// Times of a GPU are a second column of the same claim, by the same rule.
TEST(Verdicts, AsFastOnAGpu) {
  const auto with = [](double sqs, size_t shapes) {
    Measured m;
    m.cpu = "a processor", m.gpu = "a GPU";
    m.timing = TimingNumbers{16, 3, {{"relu", 2}}};
    for (size_t i = 0; i < shapes; i++)
      for (const char* gate : {"relu", "silu", "gelu", "identity", "sqs"})
        m.gpu_times.push_back({256, 256 + i, gate, gate == std::string("sqs") ? sqs : 1.0, 1, 1, 3});
    return find(m, "as-fast");
  };
  const Finding held = with(1.04, 16), failed = with(1.06, 16), few = with(1, 2);
  EXPECT_EQ(held.verdict, Verdict::fails);  // on the CPU
  EXPECT_TRUE(held.gpu.starts_with("**holds** on a GPU, in Triton: time of SQS: 1.04")) << held.gpu;
  EXPECT_TRUE(failed.gpu.starts_with("**does not hold** on a GPU")) << failed.gpu;
  EXPECT_TRUE(few.gpu.starts_with("**not tested")) << few.gpu;
  EXPECT_NE(findings_table({held}).csv().find("on a GPU, in Triton"), std::string::npos);
  EXPECT_EQ(findings_table({find(Measured{}, "as-fast")}).csv().find("gpu"), std::string::npos);
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
  EXPECT_NE(small.why.find("13895 stories"), std::string::npos);
  EXPECT_EQ(small.small, "on these stories: holds");
  Measured tales;
  tales.tasks = {task_of("tales", kSqsHighest)};
  tales.stories = "tales";
  EXPECT_NE(find(tales, "best-stories").why.find("built-in tales"), std::string::npos);
  EXPECT_EQ(find(tales, "best-stories").small, "on tales: does not hold");
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
  EXPECT_NE(f.why.find("fewer epochs"), std::string::npos);
  EXPECT_EQ(f.small, "on MNIST and Fashion-MNIST: holds");
  m.tasks = {task_of("mnist", kSqsLowest, {}, 2), task_of("fashion-mnist", kSqsLowest, {}, 2)};
  EXPECT_EQ(verdict(m, "accuracy-on-par"), Verdict::not_tested);
  Measured spectra = similar(1, 1);
  spectra.small_spectra = "fewer epochs";
  EXPECT_EQ(verdict(spectra, "similarity-top"), Verdict::not_tested);
}

}  // namespace
}  // namespace glint

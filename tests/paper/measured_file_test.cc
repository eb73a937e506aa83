// What was measured, kept in a file: it reads back as it was, and what is wrong with it is noticed.
#include "glint/paper/measured.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/io/seal.h"
#include "glint/paper/formulas.h"
#include "glint/paper/measure.h"
#include "glint/paper/reproduction_tables.h"
#include "glint/paper/verdicts.h"
#include "glint/paper/write.h"
#include "tests/data/idx_files.h"

namespace glint {
namespace {

struct Folder : TempFolder {
  std::string file() const { return path() + "/measured.json"; }
};

SignedPicture picture(double value) { return {.value = value, .pixels = {-1, 0.5, 0, 1.0 / 3}}; }

// Something of everything.
Measured everything() {
  Measured m;
  m.quick = true;
  m.seeds = 1;
  m.images = {"mnist"};
  m.stories = "tales";
  m.out = "out", m.command = "glint reproduce --quick --out out";
  m.version = "0.1.0", m.cpu = "a processor", m.date = "2026-01-02";
  m.notices = {"This is the quick form."};
  m.runs = {{.path = "mnist-4.2/sqs/seed-0",
             .group = "mnist-4.2",
             .command = "glint train",
             .state = "finished",
             .steps = 40,
             .seconds = 1.5,
             .version = "0.1.0"},
            {.path = "mnist-4.2/relu/seed-0", .group = "mnist-4.2", .command = "glint train", .state = "failed"}};
  for (const char* data : {"mnist", "tales"}) {
    TaskRuns task{
        .data = data, .text = data == std::string("tales"), .train = 100, .test = 10, .steps = 40, .epochs = 4};
    for (const std::string_view gate : kPaperGates) {
      RunCurve curve{.seed = 0};
      for (size_t c = 0; c < kCheckpoints; c++) {
        curve.at[c] = {10 * (c + 1), 0.1 + 1.0 / static_cast<double>(c + 3), 0.9, 0.2};
        curve.points.push_back(curve.at[c]);
      }
      task.gates.push_back({std::string(gate), {curve}});
    }
    m.tasks.push_back(std::move(task));
  }
  m.similarity = {{.data = "mnist",
                   .form = "weights",
                   .space = "pixels",
                   .measure = "by rank",
                   .mean = {0.9, 0.5},
                   .sd = {0.1, 0.1},
                   .min = {0.8, 0.4},
                   .control = {0.3},
                   .pairs = 1,
                   .pair_sd = {0, 0},
                   .control_sd = {0.1},
                   .control_pairs = 1,
                   .control_text = "random directions"}};
  m.spectra = {{.data = "mnist",
                .gate = "sqs",
                .few = 1,
                .width = 2,
                .energy = {0.7, 0.8},
                .accuracy_few = 0.6,
                .accuracy_all = 0.9,
                .seeds = 1,
                .energy_by_seed = {{0.7, 0.8}},
                .few_accuracy_by_seed = {0.6},
                .all_accuracy_by_seed = {0.9}}};
  m.trust = {{.data = "mnist",
              .gate = "sqs",
              .form = "weights",
              .agreement = {0.5},
              .r2 = {-3.25},
              .correlation = {0.1},
              .accuracy_model = 0.9,
              .accuracy_form = 0.5,
              .accuracy_model_by_seed = {0.9},
              .accuracy_form_by_seed = {0.5},
              .truncation = {0.1, 0.4, 0.5},
              .eigenvectors_agreement = {0.4},
              .eigenvectors_r2 = {0.2},
              .r2_centred = {0.25},
              .r2_scaled = {0.3},
              .even_share = {0.8},
              .untrained_agreement = {0.6},
              .untrained_r2 = {0.7}},
             {.data = "mnist",
              .gate = "sqs",
              .form = kLinearMap,
              .agreement = {0.85},
              .r2 = {0.9},
              .correlation = {0.95},
              .accuracy_model = 0.9,
              .accuracy_form = 0.8,
              .accuracy_model_by_seed = {0.9},
              .accuracy_form_by_seed = {0.8},
              .r2_centred = {0.9},
              .r2_scaled = {0.9}}};
  for (const char* gate : {"products", "sqs", "identity", "relu", "silu", "gelu"})
    m.times.push_back({256, 256, gate, 1.0, 0.9, 1.1, 5});
  m.timing = timing_numbers(m.times);
  m.depth = {
      {.data = "mnist", .gate = "sqs", .layers = 2, .accuracy = {0.9}, .loss = {0.3}, .epochs = 2, .classes = 10}};
  m.pictures = {{.data = "mnist",
                 .size = {2, 2},
                 .r2 = 0.5,
                 .agreement = 0.6,
                 .classes = {{.index = 5,
                              .name = "5",
                              .r2 = 0.4,
                              .values = {2, -1},
                              .groups = {0, 1},
                              .positive = {picture(2)},
                              .negative = {picture(-1)}}}}};
  Explanation e{.title = "",
                .size = {2, 2},
                .input = {0, 0, 1, 1},
                .class_names = {"0", "1"},
                .logits = {1, -1},
                .probabilities = {0.88, 0.12},
                .classes = {{.name = "0",
                             .logit = 1,
                             .positive = 2,
                             .negative = -0.5,
                             .linear = -0.25,
                             .beside = 0.125,
                             .rest = -0.375,
                             .forward = {{1, 2, 1, 2, {1, 0, 0, 1}}},
                             .against = {},
                             .linear_pixels = {0, 1, 1, 0}}}};
  m.explained = {.data = "mnist", .run = "out/runs/x", .index = 3, .r2 = 0.9, .agreement = 0.95, .explanation = e};
  m.samples = {{"sqs", "once upon a time"}};
  m.formulas = compute_formulas();
  m.matches = {{.data = "mnist", .gate = "sqs", .classes = 2, .matched = {0.5}, .cosine = {0.4}, .twins = {1}}};
  m.choices = {{.data = "mnist",
                .lambda = 0.5,
                .c = 0.01,
                .loss = {0.1},
                .accuracy = {0.9},
                .agreement = {0.8},
                .r2 = {0.7},
                .matched = {0.5}}};
  m.language = {{.data = "tales",
                 .gate = "sqs",
                 .form = "weights",
                 .layer = 1,
                 .seeds = 1,
                 .directions = 10,
                 .tokens = 100,
                 .r2 = 0.9,
                 .r2_low = 0.8,
                 .r2_high = 0.95,
                 .r2_worst = 0.5,
                 .correlation = 0.96,
                 .correlation_low = 0.95,
                 .correlation_high = 0.97}};
  m.small_spectra = "fewer epochs than the paper";
  m.small_depth = "fewer epochs";
  return m;
}

std::string report_of(const Measured& m) { return report_html(make_report(m, judge(m))); }

// Writes, changes what the file says, seals it again, and reads.
void expect_refused(const std::function<void(Json&)>& change, const std::string& expected) {
  const Folder folder;
  write_measured(real_files(), folder.file(), everything());
  Json json = read_json(folder.file());
  change(json);
  write_atomic(real_files(), folder.file(), sealed_text(json) + "\n");
  try {
    read_measured(folder.file());
    ADD_FAILURE() << "not refused: " << expected;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file) << e.what();
    EXPECT_NE((e.parts().what + e.parts().where + e.parts().expected).find(expected), std::string::npos)
        << e.what() << " at " << e.parts().where;
  }
}

TEST(MeasuredFile, TheReportFromTheFileIsTheSameToTheByte) {
  const Folder folder;
  const Measured m = everything();
  write_measured(real_files(), folder.file(), m);
  const Measured back = read_measured(folder.file());
  EXPECT_EQ(report_of(back), report_of(m));
  EXPECT_EQ(back.pictures[0].classes[0].positive[0].pixels[3], 1.0 / 3);
  EXPECT_EQ(back.timing->shapes, 1u);
  const std::string first = read_file(folder.file());
  write_measured(real_files(), folder.file(), back);
  EXPECT_EQ(read_file(folder.file()), first);
  EXPECT_NE(first.find("\"schema\":\"glint-measured/3\""), std::string::npos);
}

TEST(MeasuredFile, NothingMeasuredHasAReportToo) {
  const Folder folder;
  write_measured(real_files(), folder.file(), Measured{});
  EXPECT_EQ(report_of(read_measured(folder.file())), report_of(Measured{}));
}

TEST(MeasuredFile, OneChangedByteIsNoticed) {
  const Folder folder;
  write_measured(real_files(), folder.file(), everything());
  std::string text = read_file(folder.file());
  text[text.find("0.88") + 2] = '7';
  write_atomic(real_files(), folder.file(), text);
  EXPECT_THROW(read_measured(folder.file()), Error);
  write_atomic(real_files(), folder.file(), text.substr(0, text.size() / 2));
  EXPECT_THROW(read_measured(folder.file()), Error);
}

TEST(MeasuredFile, WhatDoesNotFitIsRefused) {
  expect_refused([](Json& j) { j["schema"] = "glint-measured/9"; }, "glint-measured/3");
  expect_refused([](Json& j) { j.erase("trust"); }, "trust");
  expect_refused([](Json& j) { j["more"] = 1; }, "more");
  expect_refused([](Json& j) { j["what"] = "nothing"; }, "one experiment");
  expect_refused([](Json& j) { j["tasks"][0]["steps"] = -1; }, "tasks[0].steps");
  expect_refused([](Json& j) { j["tasks"][0]["gates"][0]["runs"][0]["reached"] = {1}; }, "a list of 3");
  expect_refused([](Json& j) { j["tasks"][0]["gates"] = Json::array(); }, "tasks");
  expect_refused([](Json& j) { j["trust"][0]["r2"] = {1, 2}; }, "trust");
  expect_refused([](Json& j) { j["trust"][0]["r2"] = {1e250}; }, "trust[0].r2[0]");
  expect_refused([](Json& j) { j["trust"][0]["even_share"] = Json::array(); }, "trust");
  expect_refused([](Json& j) { j["trust"][1]["eigenvectors_r2"] = {0.5}; },
                 "trust");  // a linear map has none
  expect_refused([](Json& j) { j["spectra"][0]["energy_by_seed"] = {{0.5}}; }, "spectra");
  expect_refused([](Json& j) { j["pictures"][0]["size"]["height"] = 3; }, "pictures");
  expect_refused([](Json& j) { j["explained"]["explanation"]["probabilities"] = {1}; }, "explained");
  expect_refused([](Json& j) { j["images"] = {"../elsewhere"}; }, "a plain name");
  expect_refused([](Json& j) { j["samples"][0]["gate"] = "tanh"; }, "a gate of the paper");
  expect_refused([](Json& j) { j["choices"][0]["agreement"] = {1, 2}; }, "choices");
  expect_refused([](Json& j) { j["matches"][0]["twins"] = Json::array(); }, "matches");
  expect_refused([](Json& j) { j["language"][0]["layer"] = 0; }, "language");
  expect_refused([](Json& j) { j["formulas"][0]["numbers"] = Json::array(); }, "formulas");
  expect_refused([](Json& j) { j["runs"][0]["state"] = "perhaps"; }, "finished, failed or not run");
}

TEST(MeasuredFile, NumbersThatAreNotFiniteAreNotWritten) {
  const Folder folder;
  Measured m = everything();
  m.trust[0].r2[0] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(write_measured(real_files(), folder.file(), m), Error);
}

TEST(Report, TheHeadCountsTheTable) {
  const Measured m = everything();
  const Findings findings = judge(m);
  const std::string words = summary(m, findings);
  EXPECT_TRUE(words.starts_with("Of " + std::to_string(findings.size()) + " claims (3 of them our own)")) << words;
}

TEST(Report, ANormThatDoesTheSameIsSaidFirst) {
  Measured m = everything();
  EXPECT_EQ(make_report(m, judge(m)).notices.size(), 1u);
  TaskRuns task = m.tasks.front();  // all gates alike
  task.norm = "rms";
  m.tasks.push_back(task);
  const Report report = make_report(m, judge(m));
  ASSERT_EQ(report.notices.size(), 2u);
  EXPECT_NE(report.notices[1].find("no clear advantage over bilinear"), std::string::npos) << report.notices[1];
  for (GateRuns& g : m.tasks.back().gates)
    if (g.gate == "sqs") g.runs[0].at.back().loss /= 2;
  EXPECT_EQ(make_report(m, judge(m)).notices.size(), 1u);
}

TEST(Report, APartSpeaksOfTheClaimsThatItTouches) {
  Measured m = everything();
  const size_t all = judge(m).size();
  m.what = "fidelity";
  EXPECT_LT(judge(m).size(), all);
  const Report report = make_report(m, judge(m));
  EXPECT_EQ(report.sections.size(), 3u);  // verdicts, fidelity, where it comes from
  EXPECT_EQ(report.sections[1].id, "fidelity");
}

// What bench/gpu/appendix_c.py writes, beside the file.
TEST(MeasuredFile, TimesOfAGpu) {
  const Folder folder;
  Measured m;
  read_gpu_timing(folder.path(), m);
  EXPECT_TRUE(m.gpu_times.empty());
  Json file = {{"schema", "glint-gpu-timing/1"},
               {"dry", false},
               {"device", "a GPU"},
               {"peers", Json::array()},
               {"times",
                {{{"batch", 256},
                  {"width", 512},
                  {"gate", "sqs"},
                  {"median_ms", 0.5},
                  {"low_ms", 0.4},
                  {"high_ms", 0.75},
                  {"repeats", 100}}}}};
  const auto write = [&] { write_atomic(real_files(), folder.path() + "/" + kGpuTiming, file.dump()); };
  write();
  read_gpu_timing(folder.path(), m);
  ASSERT_EQ(m.gpu_times.size(), 1u);
  EXPECT_EQ(m.gpu, "a GPU");
  EXPECT_EQ(m.gpu_times[0].median_ms, 0.5);
  file["dry"] = true;
  write();
  EXPECT_THROW(read_gpu_timing(folder.path(), m), Error);
  file["dry"] = false, file["schema"] = "another";
  write();
  EXPECT_THROW(read_gpu_timing(folder.path(), m), Error);
}

}  // namespace
}  // namespace glint

#include "glint/paper/paper_values.h"

#include <cmath>
#include <limits>

#include "glint/kernels/gates.h"
#include "glint/paper/measured.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

constexpr PaperRow kTable1[] = {
    {"mnist", "relu", {{{.2703, .9550}, {.1803, .9690}, {.1433, .9748}, {.1305, .9770}}}},
    {"mnist", "gelu", {{{.1305, .9606}, {.0943, .9713}, {.0747, .9769}, {.0680, .9789}}}},
    {"mnist", "silu", {{{.1453, .9573}, {.1014, .9695}, {.0794, .9757}, {.0728, .9780}}}},
    {"mnist", "identity", {{{.2637, .9578}, {.1885, .9703}, {.1560, .9755}, {.1431, .9780}}}},
    {"mnist", "sqs", {{{.1609, .9590}, {.1083, .9722}, {.0895, .9768}, {.0834, .9785}}}},
    {"fashion-mnist", "relu", {{{.6852, .7939}, {.6099, .8173}, {.5546, .8348}, {.5322, .8422}}}},
    {"fashion-mnist", "gelu", {{{.4723, .8251}, {.4109, .8481}, {.3746, .8616}, {.3599, .8681}}}},
    {"fashion-mnist", "silu", {{{.4731, .8251}, {.4102, .8481}, {.3747, .8621}, {.3605, .8677}}}},
    {"fashion-mnist", "identity", {{{.7038, .7961}, {.6367, .8211}, {.5881, .8383}, {.5672, .8461}}}},
    {"fashion-mnist", "sqs", {{{.5104, .8217}, {.4457, .8422}, {.4063, .8548}, {.3890, .8616}}}},
    {"stories", "relu", {{{2.1264, 9.4803}, {1.9958, 8.3943}, {1.9434, 7.9114}, {1.9021, 7.6538}}}},
    {"stories", "gelu", {{{2.1257, 9.4852}, {1.9980, 8.5438}, {1.9471, 8.0483}, {1.9061, 7.8047}}}},
    {"stories", "silu", {{{2.1227, 9.3327}, {1.9945, 8.2885}, {1.9456, 7.9450}, {1.9042, 7.7329}}}},
    {"stories", "identity", {{{2.1177, 9.5730}, {1.9952, 8.4898}, {1.9483, 8.0583}, {1.9065, 7.7987}}}},
    {"stories", "sqs", {{{2.1327, 9.5220}, {1.9939, 8.2721}, {1.9434, 7.8579}, {1.9020, 7.6286}}}},
};

constexpr PaperTiming kTiming[] = {
    {256, 256, .5516, .5617, .6310, .4941, .5753},        {256, 512, .5993, .5765, .5934, .4984, .5755},
    {256, 1024, .6804, .6914, .6903, .6663, .6417},       {256, 2048, 2.5219, 2.6016, 2.6284, 2.5625, 2.3355},
    {512, 256, .5889, .6403, .5591, .5053, .5688},        {512, 512, .5535, .5563, .5300, .4947, .5822},
    {512, 1024, 1.2429, 1.2648, 1.2655, 1.2195, 1.1716},  {512, 2048, 4.5534, 4.6016, 4.6078, 4.5101, 4.3259},
    {1024, 256, .5610, .5525, .5537, .5097, .5827},       {1024, 512, .7347, .7535, .7549, .7105, .6834},
    {1024, 1024, 2.7023, 2.7947, 2.8036, 2.6920, 2.5393}, {1024, 2048, 8.4728, 8.5362, 8.5190, 8.3451, 8.0269},
    {2048, 256, .5717, .5603, .5627, .5106, .5894},       {2048, 512, 1.4109, 1.4287, 1.4314, 1.3428, 1.3002},
    {2048, 1024, 5.0301, 5.1295, 5.1456, 5.0276, 4.7280}, {2048, 2048, 16.8498, 16.9756, 16.9970, 16.6761, 16.0520},
};

}  // namespace

std::span<const PaperRow> paper_table1() { return kTable1; }

std::optional<PaperRow> paper_row(std::string_view data, std::string_view gate) {
  for (const PaperRow& row : kTable1)
    if (row.data == data && row.gate == gate) return row;
  return {};
}

std::span<const PaperTiming> paper_timing() { return kTiming; }

double PaperTiming::ms(std::string_view gate) const {
  if (gate == "relu") return relu;
  if (gate == "silu") return silu;
  if (gate == "gelu") return gelu;
  if (gate == "identity") return identity;
  if (gate == "sqs") return sqs;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string data_title(std::string_view data) {
  if (data == "mnist") return "MNIST";
  if (data == "fashion-mnist") return "Fashion-MNIST";
  if (data == "stories") return "TinyStories";
  return std::string(data);
}

std::string gate_title(std::string_view gate) {
  for (int i = 0; i < kGateCount; i++)
    if (const GateText& text = gate_info(static_cast<GateKind>(i)).text; text.name == gate)
      return std::string(text.title);
  return std::string(gate);
}

Measured paper_measured() {
  Measured m;
  m.seeds = 1;
  m.images = {"mnist", "fashion-mnist"};
  m.stories = "stories";
  constexpr uint64_t kSteps = 100;  // the paper says shares of the steps, not how many there are
  for (const char* data : {"mnist", "fashion-mnist", "stories"}) {
    TaskRuns task{.data = data, .text = data == m.stories, .steps = kSteps};
    for (const std::string_view gate : kPaperGates) {
      const PaperRow row = *paper_row(data, gate);
      RunCurve curve;
      for (size_t c = 0; c < kCheckpoints; c++) {
        curve.at[c] = {static_cast<uint64_t>(std::lround(kSteps * kCheckpointShares[c])), row.at[c].loss,
                       row.at[c].metric};
        curve.points.push_back(curve.at[c]);
      }
      task.gates.push_back({std::string(gate), {std::move(curve)}});
    }
    m.tasks.push_back(std::move(task));
  }
  // Section 4.1: ".95 for the most important eigenvectors", "never below .5"; it does not say how they were
  // compared.
  for (const char* data : {"mnist", "fashion-mnist"})
    m.similarity.push_back({.data = data,
                            .form = "weights",
                            .space = "space not said",
                            .measure = "as printed",
                            .mean = {.95, .5},
                            .sd = {0, 0},
                            .min = {.95, .5},
                            .pairs = 1,
                            .pair_sd = {0, 0}});
  for (const PaperTiming& t : paper_timing())
    for (const std::string_view gate : kPaperGates)
      m.times.push_back({.batch = t.batch, .width = t.width, .gate = std::string(gate), .median_ms = t.ms(gate)});
  m.timing = timing_numbers(m.times);
  return m;
}

}  // namespace glint

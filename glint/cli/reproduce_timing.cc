// Figure 1 and the timing table of appendix C.
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/cli/reproduce_lab.h"
#include "glint/report/gate_figure.h"
#include "glint/report/reproduction_tables.h"
#include "glint/train/timing.h"

namespace glint::cli {
namespace {

std::vector<Gate> paper_gates() {
  std::vector<Gate> gates;
  for (const std::string_view gate : kPaperGates) gates.push_back({parse_gate(gate), {}});
  return gates;
}

std::vector<TimingShape> shapes(const PlanSetup& setup) {
  if (!setup.quick) return paper_timing_shapes();
  return {{256, 256, 256}, {256, 1024, 1024}, {1024, 512, 512}};
}

// What makes two measurements the same: times of another machine are never shown as this one's.
Json identity(const Lab& lab) {
  return {{"version", kVersion},
          {"cpu", describe(lab.context.cpu)},
          {"isa", name(lab.context.isa)},
          {"precision", name(lab.engine.precision())},
          {"threads", lab.engine.pool().size()},
          {"shapes", shapes(lab.setup).size()}};
}

std::vector<TimedGate> measure(Lab& lab) {
  GateTimingOptions options{shapes(lab.setup), paper_gates(), lab.setup.quick ? size_t{5} : size_t{0}, false};
  std::vector<TimedGate> times;
  Progress progress = lab.context.progress({.label = "timing", .total = 1, .unit = "runs"});
  const auto show = [&](size_t done, size_t total, const TimingShape& s) {
    progress.set_total(total);
    progress.update(done, "batch " + std::to_string(s.batch) + ", width " + std::to_string(s.d_in));
    if (lab.engine.stop_asked())
      throw Error({.code = ErrorCode::interrupted,
                   .what = "interrupted while timing",
                   .where = lab.out,
                   .hint = "the same command goes on with the timing"});
  };
  for (const GateTiming& t : time_gates(lab.engine.compute(), options, show))
    times.push_back({t.shape.batch, t.shape.d_in,
                     t.products ? "products" : std::string(gate_info(t.gate.kind).text.name), t.median_ms,
                     t.low_ms, t.high_ms, t.repeats});
  return times;
}

Json to_json(const TimedGate& t) {
  return {{"batch", t.batch},   {"width", t.width},     {"gate", t.gate},      {"median_ms", t.median_ms},
          {"low_ms", t.low_ms}, {"high_ms", t.high_ms}, {"repeats", t.repeats}};
}

std::vector<TimedGate> stored(const std::string& path, const Json& who) {
  std::vector<TimedGate> times;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return times;
  const Json file = read_json(path);
  const JsonFields fields(file, path);
  if (!fields.has("identity") || file["identity"] != who) return times;
  for (const Json& row : fields.array("times")) {
    const JsonFields f(row, path, "times");
    times.push_back({f.required<uint64_t>("batch"), f.required<uint64_t>("width"),
                     f.required<std::string>("gate"), f.required<double>("median_ms"),
                     f.required<double>("low_ms"), f.required<double>("high_ms"),
                     f.required<uint64_t>("repeats")});
  }
  return times;
}

}  // namespace

void write_gates(Lab&, ReportSection& section) {
  const Chart chart = gate_figure(kFigureParams);
  section.blocks.push_back(ReportFigure{.name = "figure1",
                                        .caption =
                                            "The gates as functions of their input, with the paper's options "
                                            "for this figure. SQS jumps from +c to -c at 0.",
                                        .svg = to_svg(chart),
                                        .csv = to_csv(chart)});
}

void write_timing(Lab& lab, ReportSection& section) {
  const std::string path = lab.out + "/timing.json";
  const Json who = identity(lab);
  std::vector<TimedGate> times = stored(path, who);
  if (times.empty()) {
    times = measure(lab);
    Json file = {{"identity", who}, {"times", Json::array()}};
    for (const TimedGate& t : times) file["times"].push_back(to_json(t));
    write_atomic(lab.context.files, path, file.dump(1) + "\n");
  }
  lab.measured.timing = timing_numbers(times);
  section.blocks.push_back(Paragraph{
      "All gates of a shape take turns, so that a drift of the machine hits them alike. The times are kept "
      "in "
      "`timing.json`; without that file they are measured anew. The paper's are of a triton kernel on a GPU: "
      "compare ratios, not milliseconds."});
  section.blocks.push_back(timing_table(times));
}

}  // namespace glint::cli

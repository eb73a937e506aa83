// The timing table of appendix C.
#include <filesystem>

#include "glint/base/file.h"
#include "glint/base/version.h"
#include "glint/paper/measure.h"
#include "glint/paper/reproduction_tables.h"
#include "glint/train/timing.h"

namespace glint {
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
Json identity(const Measuring& m) {
  return {{"version", kVersion},
          {"cpu", describe(m.engine.cpu())},
          {"isa", name(m.engine.isa())},
          {"precision", name(m.engine.precision())},
          {"threads", m.engine.pool().size()},
          {"shapes", shapes(m.plan.setup).size()}};
}

std::vector<TimedGate> time_all(const Measuring& m) {
  const PlanSetup& setup = m.plan.setup;
  GateTimingOptions options{shapes(setup), paper_gates(), setup.quick ? size_t{5} : size_t{0}, false};
  std::vector<TimedGate> times;
  const auto show = [&](size_t done, size_t total, const TimingShape& s) {
    m.hooks.tell({.label = "timing",
                  .done = done,
                  .total = total,
                  .unit = "runs",
                  .detail = "batch " + std::to_string(s.batch) + ", width " + std::to_string(s.d_in)});
    m.check_stop("timing");
  };
  for (const GateTiming& t : time_gates(m.engine.compute(), options, show))
    times.push_back({t.shape.batch, t.shape.d_in,
                     t.products ? "products" : std::string(gate_info(t.gate.kind).text.name), t.median_ms, t.low_ms,
                     t.high_ms, t.repeats});
  return times;
}

Json to_json(const TimedGate& t) {
  return {{"batch", t.batch},   {"width", t.width},     {"gate", t.gate},      {"median_ms", t.median_ms},
          {"low_ms", t.low_ms}, {"high_ms", t.high_ms}, {"repeats", t.repeats}};
}

std::vector<TimedGate> times_of(const JsonFields& fields, const std::string& path) {
  std::vector<TimedGate> times;
  for (const Json& row : fields.array("times")) {
    const JsonFields f(row, path, "times");
    times.push_back({f.required<uint64_t>("batch"), f.required<uint64_t>("width"), f.required<std::string>("gate"),
                     f.required<double>("median_ms"), f.required<double>("low_ms"), f.required<double>("high_ms"),
                     f.required<uint64_t>("repeats")});
  }
  return times;
}

std::vector<TimedGate> stored(const std::string& path, const Json& who) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const Json file = read_json(path);
  const JsonFields fields(file, path);
  return fields.has("identity") && file["identity"] == who ? times_of(fields, path) : std::vector<TimedGate>();
}

}  // namespace

void read_gpu_timing(const std::string& folder, Measured& measured) {
  const std::string path = folder + "/" + kGpuTiming;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const Json file = read_json(path);
  const JsonFields fields(file, path);
  if (fields.required<std::string>("schema") != "glint-gpu-timing/1")
    fields.fail("schema", "is another", "glint-gpu-timing/1");
  if (fields.required<bool>("dry")) fields.fail("dry", "is true: a dry run has no times", "a run on a GPU");
  measured.gpu = fields.required<std::string>("device");
  measured.gpu_times = times_of(fields, path);
}

void measure_timing(Measuring& m) {
  const std::string path = m.out + "/timing.json";
  const Json who = identity(m);
  std::vector<TimedGate> times = stored(path, who);
  if (times.empty()) {
    times = time_all(m);
    Json file = {{"identity", who}, {"times", Json::array()}};
    for (const TimedGate& t : times) file["times"].push_back(to_json(t));
    write_atomic(m.engine.files(), path, file.dump(1) + "\n");
  }
  m.measured.timing = timing_numbers(times);
  m.measured.times = std::move(times);
}

}  // namespace glint

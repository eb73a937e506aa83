#include "glint/lab/work/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace glint {
namespace {

BenchMachine machine_of(const Engine& engine) {
  return {.cpu = describe(engine.cpu()),
          .isa = std::string(name(engine.isa())),
          .precision = std::string(name(engine.precision())),
          .bf16_unit = std::string(name(engine.unit())),
          .threads = engine.pool().size()};
}

std::string gate_name(const Gate& gate) { return std::string(gate_info(gate.kind).text.name); }

// Of this program alone: what getrusage tells may be that of the process that started it.
double peak_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return NAN;
}

// Counts the steps of several timings in a row, and stops between two of them.
class Steps {
 public:
  Steps(const Engine& engine, std::string label, std::string unit, size_t total)
      : engine_(engine), report_{.label = std::move(label), .total = total, .unit = std::move(unit)} {}
  TimingProgress named(std::string detail) {
    report_.detail = std::move(detail);
    return [this](size_t, size_t) {
      engine_.check_stop();
      report_.done++;
      engine_.progress(report_);
    };
  }

 private:
  const Engine& engine_;
  ProgressReport report_;
};

OrderedJson head(const char* schema, const BenchMachine& m) {
  return {{"schema", schema},         {"cpu", m.cpu},        {"isa", m.isa}, {"precision", m.precision},
          {"bf16_unit", m.bf16_unit}, {"threads", m.threads}};
}

void add_times(OrderedJson& row, const TimeSpread& t) {
  row["median_ms"] = t.median_ms;
  row["low_ms"] = t.low_ms;
  row["high_ms"] = t.high_ms;
  row["best_ms"] = t.best_ms;
  row["repeats"] = t.repeats;
}

}  // namespace

std::string GateBenchRow::gate() const { return t.products ? "products" : gate_name(t.gate); }

std::vector<GateBenchRow> with_ratios(const std::vector<GateTiming>& timings) {
  std::vector<GateBenchRow> rows;
  double products = 0;
  std::map<bool, double> identity;  // by fused
  for (size_t i = 0; i < timings.size(); i++) {
    if (timings[i].products) {
      products = timings[i].median_ms;
      identity.clear();
      for (size_t j = i + 1; j < timings.size() && !timings[j].products; j++)
        if (timings[j].gate.kind == GateKind::Identity) identity[timings[j].fused] = timings[j].median_ms;
    }
    rows.push_back({timings[i], products, identity[timings[i].fused]});
  }
  return rows;
}

std::vector<GateBenchMean> geometric_means(const std::vector<GateBenchRow>& rows) {
  std::vector<GateBenchMean> means;
  std::vector<size_t> counts;
  for (const GateBenchRow& r : rows) {
    if (r.t.products) continue;
    const std::string key = r.gate() + (r.t.fused ? "" : " (unfused)");
    const auto found = std::ranges::find(means, key, &GateBenchMean::gate);
    const size_t at = static_cast<size_t>(found - means.begin());
    if (found == means.end()) means.push_back({.gate = key}), counts.push_back(0);
    GateBenchMean& m = means[at];
    m.over_products += std::log(r.over_products());
    if (r.identity_ms > 0) {
      m.over_identity += std::log(r.over_identity());
      m.worst_over_identity = std::max(m.worst_over_identity, r.over_identity());
    }
    counts[at]++;
  }
  for (size_t i = 0; i < means.size(); i++) {
    const double n = static_cast<double>(counts[i]);
    means[i].over_products = std::exp(means[i].over_products / n);
    means[i].over_identity = means[i].worst_over_identity > 0 ? std::exp(means[i].over_identity / n) : 0;
  }
  return means;
}

GateBench bench_gates(const Engine& engine, const GateTimingOptions& request) {
  const auto progress = [&](size_t done, size_t total, const TimingShape& s) {
    engine.check_stop();
    engine.progress({.label = "bench gates",
                     .done = done,
                     .total = total,
                     .unit = "runs",
                     .detail = "batch " + std::to_string(s.batch) + ", width " + std::to_string(s.d_in)});
  };
  GateBench result{.machine = machine_of(engine), .shapes = request.shapes.size(), .rows = {}, .means = {}};
  result.rows = with_ratios(time_gates(engine.compute(), request, progress));
  result.means = geometric_means(result.rows);
  return result;
}

OrderedJson to_json(const GateBench& result) {
  OrderedJson j = head("glint-bench-gates/1", result.machine);
  j["rows"] = OrderedJson::array();
  for (const GateBenchRow& r : result.rows) {
    OrderedJson row = {{"batch", r.t.shape.batch},
                       {"d_in", r.t.shape.d_in},
                       {"d_out", r.t.shape.d_out},
                       {"gate", r.gate()},
                       {"fused", r.t.fused}};
    add_times(row, r.t);
    row["products_ms"] = r.products_ms;
    row["over_products"] = r.over_products();
    if (r.over_identity() > 0) row["over_identity"] = r.over_identity();
    j["rows"].push_back(row);
  }
  j["geometric_means"] = OrderedJson::object();
  for (const GateBenchMean& m : result.means) {
    OrderedJson mean = {{"over_products", m.over_products}};
    if (m.over_identity > 0)
      mean["over_identity"] = m.over_identity, mean["worst_over_identity"] = m.worst_over_identity;
    j["geometric_means"][m.gate] = mean;
  }
  return j;
}

StepBench bench_steps(const Engine& engine, const StepBenchRequest& q) {
  const std::vector<StepModel> models = paper_step_models();
  Steps steps(engine, "bench step", "steps", models.size() * q.gates.size() * q.repeats);
  StepBench result{.machine = machine_of(engine), .rows = {}};
  for (const StepModel& model : models)
    for (const Gate& gate : q.gates)
      result.rows.push_back(
          {gate_name(gate), time_step(engine.compute(), model, gate, q.repeats, steps.named("section " + model.name))});
  return result;
}

OrderedJson to_json(const StepBench& result) {
  OrderedJson j = head("glint-bench-step/1", result.machine);
  j["rows"] = OrderedJson::array();
  for (const StepBenchRow& r : result.rows) {
    OrderedJson row = {{"model", r.t.model.name},
                       {"batch", r.t.model.batch},
                       {"width", r.t.model.width},
                       {"layers", r.t.model.layers},
                       {"gate", r.gate}};
    add_times(row, r.t);
    row["products_ms"] = r.t.products_ms;
    j["rows"].push_back(row);
  }
  return j;
}

LanguageBench bench_language(const Engine& engine, const LanguageBenchRequest& q) {
  constexpr size_t kShortest[] = {256, 64};
  Steps steps(engine, "bench lm", "steps", std::size(kShortest) * q.gates.size() * q.repeats);
  LanguageBench result{.machine = machine_of(engine), .rows = {}};
  for (const size_t shortest : kShortest)
    for (const Gate& gate : q.gates) {
      LanguageTimingOptions options;
      options.rows = q.rows;
      options.micro_batch = q.micro_batch;
      options.shortest = shortest;
      options.repeats = q.repeats;
      options.model.gate = gate;
      result.rows.push_back({.gate = gate_name(gate),
                             .rows = q.rows,
                             .micro_batch = q.micro_batch,
                             .shortest = shortest,
                             .longest = options.model.context,
                             .lengths = timing_lengths(options),
                             .t = time_language_step(engine.compute(), options, steps.named("language"))});
    }
  result.peak_memory_mb = peak_memory_mb();
  return result;
}

OrderedJson to_json(const LanguageBench& result) {
  OrderedJson j = head("glint-bench-lm/1", result.machine);
  j["peak_memory_mb"] = result.peak_memory_mb;
  j["rows"] = OrderedJson::array();
  for (const LanguageBenchRow& r : result.rows) {
    OrderedJson row = {{"rows", r.rows},
                       {"micro_batch", r.micro_batch},
                       {"lengths", r.lengths},
                       {"tokens", r.t.tokens},
                       {"gate", r.gate}};
    add_times(row, r.t);
    row["products_ms"] = r.t.products_ms;
    row["tokens_per_second"] = r.t.tokens_per_second();
    j["rows"].push_back(row);
  }
  return j;
}

GenerateBench bench_generation(const Engine& engine, const GenerateBenchRequest& q) {
  constexpr size_t kStories[] = {1, 32};
  Steps steps(engine, "bench generate", "runs", std::size(kStories) * q.repeats);
  GenerateBench result{.machine = machine_of(engine), .gate = gate_name(q.gate), .rows = {}};
  for (const size_t stories : kStories)
    result.rows.push_back(time_generation(engine.compute(), q.gate, stories, q.repeats,
                                          steps.named(std::to_string(stories) + " stories")));
  return result;
}

OrderedJson to_json(const GenerateBench& result) {
  OrderedJson j = head("glint-bench-generate/1", result.machine);
  j["rows"] = OrderedJson::array();
  for (const GenerateTiming& t : result.rows) {
    OrderedJson row = {{"stories", t.stories}, {"tokens", t.tokens}, {"gate", result.gate}};
    add_times(row, t);
    row["tokens_per_second"] = t.tokens_per_second();
    j["rows"].push_back(row);
  }
  return j;
}

}  // namespace glint

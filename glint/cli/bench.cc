// glint bench: times measured on this machine. `gates` is the paper's appendix C.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/error.h"
#include "glint/cli/bench_generate.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/verbs.h"
#include "glint/report/gate_timing.h"
#include "glint/report/table.h"
#include "glint/train/language_timing.h"
#include "glint/train/step_timing.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string what = "gates", shapes, gates, format = "text";
  size_t repeats = 0, rows = 32, micro_batch = 8;
  bool unfused = false;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// "256x512": batch 256, width 512; "256x512x1024": batch, inputs, outputs.
std::vector<TimingShape> parse_shapes(const std::string& text) {
  if (text.empty()) return paper_timing_shapes();
  std::vector<TimingShape> shapes;
  for (const std::string& word : split(text, ',')) {
    std::vector<size_t> n;
    for (const std::string& part : split(word, 'x')) {
      const bool digits =
          !part.empty() && part.size() <= 5 && part.find_first_not_of("0123456789") == part.npos;
      n.push_back(digits ? std::stoul(part) : 0);
    }
    bool good = n.size() == 2 || n.size() == 3;
    for (const size_t v : n) good = good && v >= 1 && v <= 16384;
    if (!good)
      throw Error(
          {.code = ErrorCode::usage,
           .what = "cannot read the shape '" + word + "'",
           .where = "--shapes",
           .expected = "BATCHxWIDTH or BATCHxINxOUT, each from 1 to 16384, with commas between shapes",
           .hint = "--shapes 256x512,2048x512"});
    shapes.push_back({n[0], n[1], n.back()});
  }
  return shapes;
}

std::vector<Gate> parse_gates(const std::string& text) {
  std::vector<Gate> gates;
  if (text.empty())
    for (int i = 0; i < kGateCount; i++) gates.push_back({static_cast<GateKind>(i), {}});
  else
    for (const std::string& name : split(text, ',')) gates.push_back({parse_gate(name), {}});
  return gates;
}

// A timing beside what it is compared with: the products and the identity of the same shape.
struct Row {
  GateTiming t;
  double products_ms = 0, identity_ms = 0;
  std::string gate() const { return t.products ? "products" : std::string(gate_info(t.gate.kind).text.name); }
  const char* variant() const { return t.products ? "-" : t.fused ? "fused" : "unfused"; }
};

std::vector<Row> with_ratios(const std::vector<GateTiming>& timings) {
  std::vector<Row> rows;
  double products = 0;
  std::map<bool, double> identity;
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

struct Means {
  double products = 0, identity = 0, worst_identity = 0;
  size_t n = 0;
};

// Geometric means over the shapes, by gate and variant, in the order of the rows.
std::vector<std::pair<std::string, Means>> summarise(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, Means>> out;
  for (const Row& r : rows) {
    if (r.t.products) continue;
    const std::string key = r.gate() + (r.t.fused ? "" : " (unfused)");
    auto it = std::find_if(out.begin(), out.end(), [&](const auto& p) { return p.first == key; });
    if (it == out.end()) it = out.insert(out.end(), {key, {}});
    it->second.products += std::log(r.t.median_ms / r.products_ms);
    if (r.identity_ms > 0) {
      it->second.identity += std::log(r.t.median_ms / r.identity_ms);
      it->second.worst_identity = std::max(it->second.worst_identity, r.t.median_ms / r.identity_ms);
    }
    it->second.n++;
  }
  for (auto& [key, m] : out) {
    m.products = std::exp(m.products / static_cast<double>(m.n));
    m.identity = m.worst_identity > 0 ? std::exp(m.identity / static_cast<double>(m.n)) : 0;
  }
  return out;
}

void print_json(Context& context, const Engine& engine, const std::vector<Row>& rows) {
  ordered_json j;
  j["cpu"] = describe(context.cpu);
  j["isa"] = name(context.isa);
  j["precision"] = name(engine.precision());
  j["bf16_unit"] = name(engine.unit());
  j["threads"] = engine.pool().size();
  j["rows"] = ordered_json::array();
  for (const Row& r : rows) {
    ordered_json row = {
        {"batch", r.t.shape.batch}, {"d_in", r.t.shape.d_in},      {"d_out", r.t.shape.d_out},
        {"gate", r.gate()},         {"fused", r.t.fused},          {"median_ms", r.t.median_ms},
        {"low_ms", r.t.low_ms},     {"high_ms", r.t.high_ms},      {"best_ms", r.t.best_ms},
        {"repeats", r.t.repeats},   {"products_ms", r.products_ms}};
    row["over_products"] = r.t.median_ms / r.products_ms;
    if (r.identity_ms > 0 && !r.t.products) row["over_identity"] = r.t.median_ms / r.identity_ms;
    j["rows"].push_back(row);
  }
  j["geometric_means"] = ordered_json::object();
  for (const auto& [gate, m] : summarise(rows)) {
    ordered_json mean = {{"over_products", m.products}};
    if (m.identity > 0) mean["over_identity"] = m.identity, mean["worst_over_identity"] = m.worst_identity;
    j["geometric_means"][gate] = mean;
  }
  context.print_json(j);
}

void run_gates(Context& context, const Options& o) {
  const GateTimingOptions options{parse_shapes(o.shapes), parse_gates(o.gates), o.repeats, o.unfused};
  const Engine engine = engine_of(context);
  std::vector<GateTiming> timings;
  {
    Progress progress = context.progress({.label = "bench gates", .total = 1, .unit = "runs"});
    timings = time_gates(engine.compute(), options, [&](size_t done, size_t total, const TimingShape& s) {
      progress.set_total(total);
      progress.update(done, "batch " + std::to_string(s.batch) + ", width " + std::to_string(s.d_in));
    });
  }
  const std::vector<Row> rows = with_ratios(timings);
  if (o.format == "json" || context.shared.json) return print_json(context, engine, rows);

  Table table({{.header = "batch", .align = Align::right},
               {.header = "d_in", .align = Align::right},
               {.header = "d_out", .align = Align::right},
               {.header = "gate"},
               {.header = "variant"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "/ products", .align = Align::right, .key = "over_products"},
               {.header = "/ identity", .align = Align::right, .key = "over_identity"}});
  for (const Row& r : rows)
    table.add({std::to_string(r.t.shape.batch), std::to_string(r.t.shape.d_in),
               std::to_string(r.t.shape.d_out), r.gate(), r.variant(), fixed_text(r.t.median_ms, 3),
               fixed_text(r.t.low_ms, 3) + " .. " + fixed_text(r.t.high_ms, 3),
               fixed_text(r.t.median_ms / r.products_ms, 3),
               r.identity_ms > 0 && !r.t.products ? fixed_text(r.t.median_ms / r.identity_ms, 3) : ""});
  if (o.format == "csv") {
    context.out << table.csv();
    return;
  }
  const bool md = o.format == "md";
  context.out << "Forward + backward of a one-layer GLU, " << name(engine.precision()) << ", "
              << engine.pool().size() << " thread" << (engine.pool().size() == 1 ? "" : "s") << ", "
              << describe(context.cpu) << ".\n"
              << "`products` is the bare matrix products of the same step, timed in the same run.\n\n"
              << (md ? table.markdown() : table.terminal());
  Table means({{.header = "gate"},
               {.header = "/ products", .align = Align::right},
               {.header = "/ identity", .align = Align::right},
               {.header = "worst / identity", .align = Align::right}});
  for (const auto& [gate, m] : summarise(rows))
    means.add({gate, fixed_text(m.products, 3), m.identity > 0 ? fixed_text(m.identity, 3) : "",
               m.identity > 0 ? fixed_text(m.worst_identity, 3) : ""});
  context.out << "\nGeometric means over " << options.shapes.size() << " shape"
              << (options.shapes.size() == 1 ? "" : "s") << ":\n\n"
              << (md ? means.markdown() : means.terminal());
}

void run_step(Context& context, const Options& o) {
  const Engine engine = engine_of(context);
  const std::vector<StepModel> models = paper_step_models();
  const std::vector<Gate> gates = o.gates.empty() ? std::vector<Gate>{Gate{}} : parse_gates(o.gates);
  const size_t repeats = o.repeats ? o.repeats : 20;
  Progress progress = context.progress(
      {.label = "bench step", .total = models.size() * gates.size() * repeats, .unit = "steps"});
  Table table({{.header = "model"},
               {.header = "batch", .align = Align::right},
               {.header = "width", .align = Align::right},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "products ms", .align = Align::right, .key = "products_ms"},
               {.header = "/ products", .align = Align::right, .key = "over_products"}});
  ordered_json rows = ordered_json::array();
  size_t done = 0;
  for (const StepModel& model : models) {
    for (const Gate& gate : gates) {
      const StepTiming t = time_step(engine.compute(), model, gate, repeats, [&](size_t, size_t) {
        progress.update(++done, "section " + model.name);
      });
      const std::string gate_name(gate_info(gate.kind).text.name);
      table.add({t.model, std::to_string(t.batch), std::to_string(t.width), gate_name,
                 fixed_text(t.median_ms, 3), fixed_text(t.low_ms, 3) + " .. " + fixed_text(t.high_ms, 3),
                 fixed_text(t.products_ms, 3), fixed_text(t.median_ms / t.products_ms, 3)});
      rows.push_back({{"model", t.model},
                      {"batch", t.batch},
                      {"width", t.width},
                      {"layers", t.layers},
                      {"gate", gate_name},
                      {"median_ms", t.median_ms},
                      {"low_ms", t.low_ms},
                      {"high_ms", t.high_ms},
                      {"best_ms", t.best_ms},
                      {"repeats", t.repeats},
                      {"products_ms", t.products_ms}});
    }
  }
  progress.finish();
  if (o.format == "json" || context.shared.json)
    context.print_json({{"cpu", describe(context.cpu)},
                        {"precision", name(engine.precision())},
                        {"threads", engine.pool().size()},
                        {"rows", rows}});
  else
    context.out << (o.format == "md" ? table.markdown() : o.format == "csv" ? table.csv() : table.terminal());
}

// Of this program alone: what getrusage tells may be that of the process that started it.
double peak_memory_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return NAN;
}

// The paper's language model: whole rows, and rows of different lengths.
void run_lm(Context& context, const Options& o) {
  const Engine engine = engine_of(context);
  const std::vector<Gate> gates = o.gates.empty() ? std::vector<Gate>{Gate{}} : parse_gates(o.gates);
  LanguageTimingOptions options;
  options.rows = o.rows;
  options.micro_batch = o.micro_batch;
  if (o.repeats) options.repeats = o.repeats;
  constexpr size_t kShortest[] = {256, 64};
  Progress progress = context.progress(
      {.label = "bench lm", .total = std::size(kShortest) * gates.size() * options.repeats, .unit = "steps"});
  Table table({{.header = "rows", .align = Align::right},
               {.header = "tokens a row", .align = Align::right, .key = "row_tokens"},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "/ products", .align = Align::right, .key = "over_products"},
               {.header = "tokens/s", .align = Align::right, .key = "tokens_per_second"}});
  ordered_json rows = ordered_json::array();
  size_t done = 0;
  for (const size_t shortest : kShortest) {
    for (const Gate& gate : gates) {
      options.shortest = shortest;
      options.model.gate = gate;
      const LanguageTiming t = time_language_step(
          engine.compute(), options, [&](size_t, size_t) { progress.update(++done, "language"); });
      const std::string gate_name(gate_info(gate.kind).text.name);
      const std::string lengths = (shortest < 256 ? std::to_string(shortest) + " .. " : "") + "256";
      table.add({std::to_string(options.rows), lengths, gate_name, fixed_text(t.median_ms, 1),
                 fixed_text(t.low_ms, 1) + " .. " + fixed_text(t.high_ms, 1),
                 fixed_text(t.median_ms / t.products_ms, 2), fixed_text(t.tokens_per_second(), 0)});
      rows.push_back({{"rows", options.rows},
                      {"micro_batch", options.micro_batch},
                      {"lengths", timing_lengths(options)},
                      {"tokens", t.tokens},
                      {"gate", gate_name},
                      {"median_ms", t.median_ms},
                      {"low_ms", t.low_ms},
                      {"high_ms", t.high_ms},
                      {"best_ms", t.best_ms},
                      {"repeats", t.repeats},
                      {"products_ms", t.products_ms},
                      {"tokens_per_second", t.tokens_per_second()}});
    }
  }
  progress.finish();
  if (o.format == "json" || context.shared.json)
    context.print_json({{"cpu", describe(context.cpu)},
                        {"precision", name(engine.precision())},
                        {"threads", engine.pool().size()},
                        {"peak_memory_mb", peak_memory_mb()},
                        {"rows", rows}});
  else
    context.out << (o.format == "md" ? table.markdown() : o.format == "csv" ? table.csv() : table.terminal());
  context.say("peak memory " + fixed_text(peak_memory_mb(), 0) + " MB");
}

}  // namespace

void add_bench(Program& program) {
  Verb& verb = program.add(
      {.name = "bench",
       .group = Group::paper,
       .summary = "times on this machine: gates of a GLU, training steps",
       .details =
           "gates: forward + backward of a one-layer GLU for batch and width 256 to 2048 and all gates, as "
           "in the "
           "paper's appendix C. All variants of a shape take turns, so that a drift of the machine hits them "
           "alike. The gate is fused into the pass over the pre-activations; --unfused times it as separate "
           "passes as well. step: whole training steps of the paper's image models. lm: those of its "
           "language model, on rows of 256 tokens and on rows of 64 to 256. generate: tokens a second when "
           "that model writes 1 and 32 stories of 255 tokens.",
       .examples = {{"glint bench gates --shapes 256x512,2048x512", "two shapes, all gates"},
                    {"glint bench gates --gates sqs,identity --threads 1 --format md", "a Markdown table"},
                    {"glint bench gates --unfused --format json > timing.json", "all numbers, for a script"},
                    {"glint bench lm --threads 1 --repeats 5", "tokens a second of the language model"}}});
  const auto o = std::make_shared<Options>();
  verb.positional("WHAT", o->what, "What to time: gates (the default), step, lm or generate",
                  {.placeholder = "WHAT", .words = {"gates", "step", "lm", "generate"}, .only_words = true});
  verb.text("--shapes", o->shapes,
            "BATCHxWIDTH or BATCHxINxOUT, with commas between; the paper's sixteen when not given",
            {.placeholder = "LIST"});
  verb.text("--gates", o->gates, "Gates to time, with commas between; all when not given",
            {.placeholder = "LIST", .words = gate_names()});
  verb.size("--repeats", o->repeats, 0, 100000,
            "Runs of each variant; 0: about two seconds a shape, 5 to 40 runs");
  verb.size("--rows", o->rows, 1, 100000, "lm: sequences a step");
  verb.size("--micro-batch", o->micro_batch, 1, 4096, "lm: sequences at once");
  verb.flag("--unfused", o->unfused, "Also time the gate as passes of its own");
  verb.choice("--format", o->format, {"text", "md", "csv", "json"}, "Form of the table");
  verb.share_precision();
  verb.share_threads();
  verb.share_isa();
  verb.share_json();
  verb.share_quiet();
  verb.run([o](Context& context) {
    if (o->what == "generate")
      return bench_generate(context, {o->repeats, o->gates.empty() ? "sqs" : o->gates, o->format});
    o->what == "lm"     ? run_lm(context, *o)
    : o->what == "step" ? run_step(context, *o)
                        : run_gates(context, *o);
  });
}

}  // namespace glint::cli

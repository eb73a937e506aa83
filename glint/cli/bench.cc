// glint bench: times measured on this machine. `gates` is the paper's appendix C.
#include <nlohmann/json.hpp>
#include <sstream>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/lab/work/bench.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct BenchFlags {
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
      const bool digits = !part.empty() && part.size() <= 5 && part.find_first_not_of("0123456789") == part.npos;
      n.push_back(digits ? std::stoul(part) : 0);
    }
    bool good = n.size() == 2 || n.size() == 3;
    for (const size_t v : n) good = good && v >= 1 && v <= 16384;
    if (!good)
      bad_argument("--shapes", "cannot read the shape '" + word + "'",
                   "BATCHxWIDTH or BATCHxINxOUT, each from 1 to 16384, with commas between shapes",
                   "--shapes 256x512,2048x512");
    shapes.push_back({n[0], n[1], n.back()});
  }
  return shapes;
}

std::vector<Gate> parse_gates(const std::string& text) {
  std::vector<Gate> gates;
  for (const std::string& name : split(text, ',')) gates.push_back({parse_gate(name), {}});
  return gates;
}

std::vector<Gate> gates_of_the_table() {
  std::vector<Gate> gates;
  for (int i = 0; i < kGateCount; i++) gates.push_back({static_cast<GateKind>(i), {}});
  return gates;
}

// What every table has of a timing.
std::string quartiles(const TimeSpread& t, int decimals) {
  return fixed_text(t.low_ms, decimals) + " .. " + fixed_text(t.high_ms, decimals);
}

bool wants_json(const Context& context, const BenchFlags& o) { return o.format == "json" || context.shared.json; }

std::string in_format(const Table& table, const BenchFlags& o) {
  return o.format == "md" ? table.markdown() : o.format == "csv" ? table.csv() : table.terminal(result_columns());
}

void run_gates(Context& context, const BenchFlags& o) {
  const GateBench b =
      bench_gates(engine_of(context), {.shapes = parse_shapes(o.shapes),
                                       .gates = o.gates.empty() ? gates_of_the_table() : parse_gates(o.gates),
                                       .repeats = o.repeats,
                                       .unfused = o.unfused});
  if (wants_json(context, o)) return context.print_json(to_json(b));
  const auto ratio = [](double v) { return v > 0 ? fixed_text(v, 3) : ""; };
  Table table({{.header = "batch", .align = Align::right},
               {.header = "d_in", .align = Align::right},
               {.header = "d_out", .align = Align::right},
               {.header = "gate"},
               {.header = "variant"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "/ products", .align = Align::right, .key = "over_products"},
               {.header = "/ identity", .align = Align::right, .key = "over_identity"}});
  for (const GateBenchRow& r : b.rows)
    table.add(
        {std::to_string(r.t.shape.batch), std::to_string(r.t.shape.d_in), std::to_string(r.t.shape.d_out), r.gate(),
         r.t.products ? "-"
         : r.t.fused  ? "fused"
                      : "unfused",
         fixed_text(r.t.median_ms, 3), quartiles(r.t, 3), fixed_text(r.over_products(), 3), ratio(r.over_identity())});
  if (o.format == "csv") {
    context.out << table.csv();
    return;
  }
  Table means(headers({"gate"}, {"/ products", "/ identity", "worst / identity"}));
  for (const GateBenchMean& m : b.means)
    means.add({m.gate, fixed_text(m.over_products, 3), ratio(m.over_identity), ratio(m.worst_over_identity)});
  context.out << "Forward + backward of a one-layer GLU, " << b.machine.precision << ", " << b.machine.threads
              << " thread" << (b.machine.threads == 1 ? "" : "s") << ", " << b.machine.cpu << ".\n"
              << "`products` is the bare matrix products of the same step, timed in the same run.\n\n"
              << in_format(table, o) << "\nGeometric means over " << b.shapes << " shape" << (b.shapes == 1 ? "" : "s")
              << ":\n\n"
              << in_format(means, o);
}

void run_step(Context& context, const BenchFlags& o) {
  StepBenchRequest request;
  if (!o.gates.empty()) request.gates = parse_gates(o.gates);
  if (o.repeats) request.repeats = o.repeats;
  const StepBench b = bench_steps(engine_of(context), request);
  if (wants_json(context, o)) return context.print_json(to_json(b));
  Table table({{.header = "model"},
               {.header = "batch", .align = Align::right},
               {.header = "width", .align = Align::right},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "products ms", .align = Align::right, .key = "products_ms"},
               {.header = "/ products", .align = Align::right, .key = "over_products"}});
  for (const StepBenchRow& r : b.rows)
    table.add({r.t.model.name, std::to_string(r.t.model.batch), std::to_string(r.t.model.width), r.gate,
               fixed_text(r.t.median_ms, 3), quartiles(r.t, 3), fixed_text(r.t.products_ms, 3),
               fixed_text(r.t.median_ms / r.t.products_ms, 3)});
  context.out << in_format(table, o);
}

void run_lm(Context& context, const BenchFlags& o) {
  LanguageBenchRequest request{.rows = o.rows, .micro_batch = o.micro_batch};
  if (!o.gates.empty()) request.gates = parse_gates(o.gates);
  if (o.repeats) request.repeats = o.repeats;
  const LanguageBench b = bench_language(engine_of(context), request);
  context.say("peak memory " + fixed_text(b.peak_memory_mb, 0) + " MB");
  if (wants_json(context, o)) return context.print_json(to_json(b));
  Table table({{.header = "rows", .align = Align::right},
               {.header = "tokens per row", .align = Align::right, .key = "row_tokens"},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "/ products", .align = Align::right, .key = "over_products"},
               {.header = "tokens/s", .align = Align::right, .key = "tokens_per_second"}});
  for (const LanguageBenchRow& r : b.rows)
    table.add({std::to_string(r.rows),
               (r.shortest < r.longest ? std::to_string(r.shortest) + " .. " : "") + std::to_string(r.longest), r.gate,
               fixed_text(r.t.median_ms, 1), quartiles(r.t, 1), fixed_text(r.t.median_ms / r.t.products_ms, 2),
               fixed_text(r.t.tokens_per_second(), 0)});
  context.out << in_format(table, o);
}

void run_generate(Context& context, const BenchFlags& o) {
  GenerateBenchRequest request;
  if (!o.gates.empty()) request.gate.kind = parse_gate(o.gates);
  if (o.repeats) request.repeats = o.repeats;
  const GenerateBench b = bench_generation(engine_of(context), request);
  if (wants_json(context, o)) return context.print_json(to_json(b));
  Table table({{.header = "stories", .align = Align::right},
               {.header = "tokens", .align = Align::right},
               {.header = "gate"},
               {.header = "median ms", .align = Align::right, .key = "median_ms"},
               {.header = "quartiles", .align = Align::right},
               {.header = "tokens/s", .align = Align::right, .key = "tokens_per_second"}});
  for (const GenerateTiming& t : b.rows)
    table.add({std::to_string(t.stories), std::to_string(t.tokens), b.gate, fixed_text(t.median_ms, 2), quartiles(t, 2),
               fixed_text(t.tokens_per_second(), 0)});
  context.out << in_format(table, o);
}

}  // namespace

void add_bench(Program& program) {
  Verb& verb = program.add(
      {.name = "bench",
       .group = Group::paper,
       .summary = "times on this machine: gates of a GLU, training steps",
       .details = "gates: forward + backward of a one-layer GLU for batch and width 256 to 2048 and all gates, as "
                  "in the paper's appendix C. All variants of a shape take turns, so that a drift of the machine "
                  "hits them alike. The gate is fused into the pass over the pre-activations; --unfused times it as "
                  "separate passes as well. step: whole training steps of the paper's image models. lm: those of "
                  "its language model, on rows of 256 tokens and on rows of 64 to 256. generate: tokens per second "
                  "when that model writes 1 and 32 stories of 255 tokens.",
       .examples = {{"glint bench gates --shapes 256x512,2048x512", "two shapes, all gates"},
                    {"glint bench gates --gates sqs,identity --threads 1 --format md", "a Markdown table"},
                    {"glint bench gates --unfused --format json > timing.json", "all numbers, for a script"},
                    {"glint bench lm --threads 1 --repeats 5", "tokens per second of the language model"}}});
  const auto o = std::make_shared<BenchFlags>();
  verb.add(Field("what", o->what, "What to time: gates (the default), step, lm or generate")
               .one_of({"gates", "step", "lm", "generate"})
               .argument("WHAT"));
  verb.add(
      Field("shapes", o->shapes, "BATCHxWIDTH or BATCHxINxOUT, with commas between; the paper's sixteen when not given")
          .shown("LIST"));
  verb.add(Field("gates", o->gates, "Gates to time, with commas between; all when not given")
               .shown("LIST")
               .suggest(gate_names()));
  verb.add(Field("repeats", o->repeats, "Runs of each variant; 0: about two seconds per shape, 5 to 40 runs")
               .range(0, 100000));
  verb.add(Field("rows", o->rows, "lm: sequences per step").range(1, 100000));
  verb.add(Field("micro_batch", o->micro_batch, "lm: sequences at once").range(1, 4096));
  verb.add(Field("unfused", o->unfused, "Also time the gate as passes of its own"));
  verb.add(Field("format", o->format, "Form of the table").one_of({"text", "md", "csv", "json"}));
  verb.share({"precision"});
  verb.share_kernels();
  verb.run([o](Context& context) {
    o->what == "generate" ? run_generate(context, *o)
    : o->what == "lm"     ? run_lm(context, *o)
    : o->what == "step"   ? run_step(context, *o)
                          : run_gates(context, *o);
  });
}

}  // namespace glint::cli

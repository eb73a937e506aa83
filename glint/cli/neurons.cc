// glint neurons: what the neurons of a language model do to the stream that they read.
#include "glint/lab/read/neurons.h"

#include <nlohmann/json.hpp>

#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/verbs.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

std::string neurons_text(const NeuronsResult& r) {
  // Short enough for a table of one part.
  std::vector<Column> columns;
  for (const char* header : {"layer", "strength.", "cond. strength.", "prop. strength.", "orthogonal", "cond. weak.",
                             "weak.", "median cos(up, down)"})
    columns.push_back({.header = header, .align = Align::right});
  Table table(columns);
  const auto add = [&](const std::string& layer, const NeuronCounts& counts, const std::string& median) {
    std::vector<std::string> cells = {layer};
    for (const size_t n : counts) cells.push_back(std::to_string(n));
    cells.push_back(median);
    table.add(cells);
  };
  for (const LayerNeurons& l : r.of_layers) add(std::to_string(l.layer + 1), l.counts, fixed_text(l.median, 3));
  if (r.of_layers.size() > 1) add("all", r.counts, "");
  std::string out = "run: " + r.run + " (" + r.model_text + ")\n\n" + table.terminal(result_columns());
  out +=
      "\nA strengthening neuron adds to the stream what it reads there, a weakening one takes it away, an "
      "orthogonal one writes something else. Conditional: where its gate, which looks along another "
      "direction, is open. Proportional: it writes along its gate. From the weights alone; cosines beyond " +
      fixed_text(r.threshold, 1) + " count.\nneurons: " + r.csv + "\n";
  if (!r.figures.empty()) out += "figure:  " + r.figures[0] + " (also PNG, CSV)\n";
  return out;
}

}  // namespace

void add_neurons(Program& program) {
  Verb& verb = program.add(
      {.name = "neurons",
       .group = Group::read,
       .summary = "what the neurons of a language model do to the stream they read",
       .details = "A neuron is a hidden unit with its weights: gate and up, along which it reads the residual "
                  "stream, and down, along which it writes. Its class follows from two cosines, with the norm "
                  "folded into gate and up and with the signs of up and down such that cos(gate, up) >= 0:\n\n"
                  "strengthening: cos(up, down) > 0.5, it adds what it reads; weakening: cos(up, down) < -0.5, it "
                  "takes away what it reads; both with |cos(gate, down)| > 0.5. conditional strengthening and "
                  "conditional weakening: the same with a gate that looks elsewhere, |cos(gate, down)| <= 0.5. "
                  "proportional strengthening: it writes along its gate, as much as up reads of something else. "
                  "orthogonal: it writes what neither gate nor up reads.\n\n"
                  "The classes are those of Gerstner and Schütze (2025), and need no data. One layer with --layer "
                  "is drawn as points.",
       .examples = {{"glint neurons stories15M.bin", "all layers of a model of another program"},
                    {"glint neurons runs/stories --layer 2", "one layer of a run, every neuron a point"},
                    {"glint neurons Llama-3.2-1B --json --no-figures", "all cosines, for a program"}}});
  const auto o = std::make_shared<NeuronsRequest>();
  verb.add(fields_of(*o));
  verb.share_kernels();
  verb.run([o](Context& context) {
    const NeuronsResult r = neurons(engine_of(context), *o);
    if (context.shared.json) return context.print_json(to_json(r));
    context.next = {"glint spectrum " + r.run + " --layer 1 --hidden 1"};
    context.out << prose(neurons_text(r), result_columns());
  });
}

}  // namespace glint::cli

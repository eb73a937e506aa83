#include "glint/lab/read/neurons.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "glint/base/statistics.h"
#include "glint/base/text.h"
#include "glint/lab/models/language_run.h"
#include "glint/lab/models/run_checks.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_request.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/neuron_figure.h"
#include "glint/report/table.h"
#include "glint/spectra/language_reading.h"

namespace glint {
namespace {

std::vector<std::string> class_names() {
  std::vector<std::string> out;
  for (size_t k = 0; k < kNeuronClasses; k++) out.emplace_back(name(static_cast<NeuronClass>(k)));
  return out;
}

std::vector<double> sorted_up_down(const LayerNeurons& l) {
  std::vector<double> values;
  for (const Neuron& n : l.neurons) values.push_back(n.up_down);
  std::sort(values.begin(), values.end());
  return values;
}

LayerNeurons read_neurons(const GluModel& model, size_t layer) {
  LayerNeurons l{.layer = layer, .neurons = layer_neurons(model.pool(), model.layer(layer), model.projection(layer))};
  l.counts = count_classes(l.neurons);
  const std::vector<double> values = sorted_up_down(l);
  l.median = values[values.size() / 2];
  return l;
}

std::string neuron_table(const NeuronsResult& r) {
  Table table({{.header = "layer"},
               {.header = "neuron"},
               {.header = "class"},
               {.header = "cos_gate_up"},
               {.header = "cos_gate_down"},
               {.header = "cos_up_down"}});
  for (const LayerNeurons& l : r.of_layers)
    for (size_t i = 0; i < l.neurons.size(); i++) {
      const Neuron& n = l.neurons[i];
      table.add({std::to_string(l.layer + 1), std::to_string(i + 1), std::string(name(neuron_class(n))),
                 number_text(n.gate_up), number_text(n.gate_down), number_text(n.up_down)});
    }
  return table.csv();
}

// The classes of every layer, or of one layer its neurons as points.
Figure drawn_neurons(const NeuronsResult& r, bool one) {
  const std::string model = r.gate + ", " + std::to_string(r.layers) + " layers of width " + std::to_string(r.width);
  if (one) {
    std::vector<NeuronPoint> points;
    for (const Neuron& n : r.of_layers[0].neurons)
      points.push_back({n.up_down, n.gate_down, static_cast<size_t>(neuron_class(n))});
    return figure_of(neuron_scatter("Neurons of layer " + std::to_string(r.of_layers[0].layer + 1) + " (" + model + ")",
                                    class_names(), points, r.threshold));
  }
  NeuronPlot plot{.title = "Classes of neurons per layer (" + model + ")",
                  .note = "By the cosines of gate, up and down weights, threshold " + number_text(r.threshold) +
                          "; from the weights alone.",
                  .classes = class_names(),
                  .layers = {}};
  for (const LayerNeurons& l : r.of_layers) {
    const std::vector<double> values = sorted_up_down(l);
    plot.layers.push_back({.label = std::to_string(l.layer + 1),
                           .counts = {l.counts.begin(), l.counts.end()},
                           .low = quantile(values, 0.1),
                           .median = l.median,
                           .high = quantile(values, 0.9)});
  }
  return neuron_figure(plot);
}

OrderedJson counts_json(const NeuronCounts& counts) {
  OrderedJson j = OrderedJson::object();
  for (size_t k = 0; k < kNeuronClasses; k++) j[std::string(name(static_cast<NeuronClass>(k)))] = counts[k];
  return j;
}

}  // namespace

namespace {

// Fills in everything but what the model is.
void read_all(const Engine& engine, const GluModel& model, const NeuronsRequest& q, const std::string& own,
              NeuronsResult& r) {
  const bool one = q.layer.has_value();
  const Range layers = one ? Range{asked_layer(model, q.layer), 1} : Range{0, model.layers()};
  for (size_t i = 0; i < layers.count; i++) {
    engine.check_stop();
    engine.progress({.label = "neurons", .done = i, .total = layers.count, .unit = "layers"});
    r.of_layers.push_back(read_neurons(model, layers.first + i));
    for (size_t k = 0; k < kNeuronClasses; k++) r.counts[k] += r.of_layers.back().counts[k];
  }
  engine.progress({.label = "neurons", .done = layers.count, .total = layers.count, .unit = "layers"});
  r.layers = model.layers(), r.width = model.outputs(layers.first);
  const std::string folder = result_folder(q.out, own);
  const std::string tag = one ? "neurons-layer-" + std::to_string(*q.layer) : "neurons";
  r.csv = folder + "/" + tag + ".csv";
  write_atomic(engine.files(), r.csv, neuron_table(r));
  r.drawn = drawn_neurons(r, one);
  if (!q.figures) return;
  const std::string stem = figures_directory(folder) + "/" + tag;
  write_figure(engine, stem, r.drawn);
  r.figures.push_back(stem + ".svg");
}

}  // namespace

std::vector<Field> fields_of(NeuronsRequest& q) {
  std::vector<Field> source = fields_of(q.source);
  std::erase_if(source, [](const Field& f) { return f.name != "run" && f.name != "tokenizer"; });
  return join(std::move(source),
              {Field("layer", q.layer, "Which layer, from 1 on; default: all").range(1, 1000), figures_field(q.figures),
               out_field(q.out,
                         "Folder for neurons.csv and figures; default: the run itself, for a model of "
                         "another program NAME-reading here")});
}

NeuronsResult neurons(const Engine& engine, const NeuronsRequest& q) {
  return neurons(engine, *open_language_run(engine, q.source), q);
}

NeuronsResult neurons(const Engine& engine, const LanguageRun& run, const NeuronsRequest& q) {
  check_request(q, run);
  if (run.mixture()) refuse_mixture(run.directory());
  run.note_tokenizer();
  NeuronsResult r;
  r.run = run.directory(), r.model_text = run.text(), r.gate = gate_info(run.gate()).text.name;
  read_all(engine, run.reading(), q, run.results(), r);
  return r;
}

OrderedJson to_json(const NeuronsResult& r) {
  OrderedJson j = {{"schema", "glint-neurons/1"},
                   {"run", r.run},
                   {"model", r.model_text},
                   {"gate", r.gate},
                   {"layers", r.layers},
                   {"threshold", r.threshold},
                   {"counts", counts_json(r.counts)}};
  j["of_layers"] = OrderedJson::array();
  for (const LayerNeurons& l : r.of_layers) {
    std::vector<double> gate_up, gate_down, up_down;
    for (const Neuron& n : l.neurons)
      gate_up.push_back(n.gate_up), gate_down.push_back(n.gate_down), up_down.push_back(n.up_down);
    j["of_layers"].push_back({{"layer", l.layer + 1},
                              {"neurons", l.neurons.size()},
                              {"counts", counts_json(l.counts)},
                              {"median_cos_up_down", l.median},
                              {"cos_gate_up", gate_up},
                              {"cos_gate_down", gate_down},
                              {"cos_up_down", up_down}});
  }
  j["csv"] = r.csv;
  j["figures"] = r.figures;
  return j;
}

}  // namespace glint

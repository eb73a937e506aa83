#include "glint/lab/read/read_layers.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "glint/base/text.h"
#include "glint/lab/read/read.h"
#include "glint/lab/work/file_words.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/signed_picture.h"

namespace glint {
namespace {

constexpr const char *kLinearMap = "linear map", *kRedrawn = "redrawn";

// What has no eigenvectors to tell of.
bool is_control(const std::string& form) { return form == kLinearMap || form == kRedrawn; }

void add_trust(ReadLayersResult& r, const ReadResult& layer) {
  for (const ReadForm& f : layer.forms) r.trust.push_back({layer.layer + 1, name(f.form), f.fidelity});
  // Nothing was measured where the weights alone were read.
  if (layer.inputs > 0) r.trust.push_back({layer.layer + 1, kLinearMap, layer.controls.linear});
  if (const auto twin = layer.controls.untrained.find(layer.form); twin != layer.controls.untrained.end()) {
    r.trust.push_back({layer.layer + 1, kRedrawn, twin->second});
    r.untrained = layer.untrained;
  }
}

void add_spectrum(ReadLayersResult& r, const ReadResult& layer) {
  const ReadDirection& d = layer.directions.front();
  const std::vector<double>& values = d.form.spectrum.values;
  if (values.empty()) return;
  r.spectra.push_back({layer.layer + 1, values.front(), values.back(), d.rank});
}

std::vector<std::string> spectrum_row(const LayerSpectrum& s, const auto& eigenvalue, const auto& rank) {
  return {std::to_string(s.layer), eigenvalue(s.largest), eigenvalue(s.smallest),
          s.rank ? rank(s.rank->participation) : ""};
}

// For other programs: a row per layer and form.
Table layers_csv(const ReadLayersResult& r) {
  if (r.trust.empty()) {
    Table table({{.header = "layer"}, {.header = "largest"}, {.header = "smallest"}, {.header = "participation_rank"}});
    for (const LayerSpectrum& s : r.spectra) table.add(spectrum_row(s, number_text, number_text));
    return table;
  }
  Table table({{.header = "layer"}, {.header = "form"}, {.header = "r2"}, {.header = "eigenvectors_r2"}});
  for (const LayerTrust& f : r.trust)
    table.add({std::to_string(f.layer), f.form, number_text(f.trust.r2),
               is_control(f.form) ? "" : number_text(f.trust.eigenvectors_r2)});
  return table;
}

}  // namespace

ReadLayersResult read_layers(const Engine& engine, const ReadRequest& request) {
  check_ranges(request);
  return read_layers(engine, *open_run(engine, request.source), request);
}

ReadLayersResult read_layers(const Engine& engine, Run& run, const ReadRequest& request) {
  ReadRequest q = request;
  q.spectra = q.figures = false;
  ReadLayersResult r;
  r.run = run.directory();
  const size_t layers = run.reading().layers();
  const std::string folder = result_folder(q.out, run.results());
  for (size_t layer = 1; layer <= layers; layer++) {
    engine.progress({.label = "read", .done = layer - 1, .total = layers, .unit = "layers"});
    q.layer = layer;
    const ReadResult one = read(engine, run, q);
    r.layers.push_back(to_json(one));
    add_trust(r, one);
    add_spectrum(r, one);
    r.alone = one.alone, r.form = one.form;
    engine.check_stop();
  }
  engine.progress({.label = "read", .done = layers, .total = layers, .unit = "layers"});
  for (const OrderedJson& unit : r.layers.front()["units"])
    r.asked += (r.asked.empty() ? "" : ", ") + unit["name"].get<std::string>();
  const std::string stem = "layers-" + file_word(r.asked);
  r.csv = folder + "/" + stem + ".csv";
  write_atomic(engine.files(), r.csv, layers_csv(r).csv());
  if (request.figures) {
    const std::string path = figures_directory(folder) + "/" + stem;
    write_figure(engine, path, figure_of(layers_chart(r)));
    r.figure = path + ".svg";
  }
  return r;
}

namespace {

Chart spectra_chart(const ReadLayersResult& r) {
  Chart chart;
  chart.title = "The strongest eigenvalues of each layer: " + r.asked;
  chart.x.label = "layer", chart.x.whole = true, chart.y.label = "eigenvalue";
  for (const bool largest : {true, false}) {
    Series line{.name = largest ? "largest" : "smallest", .points = {}};
    line.marker = Marker::circle;
    for (const LayerSpectrum& s : r.spectra)
      line.points.push_back({static_cast<double>(s.layer), largest ? s.largest : s.smallest});
    chart.series.push_back(std::move(line));
  }
  return chart;
}

}  // namespace

Chart layers_chart(const ReadLayersResult& r) {
  if (r.trust.empty()) return spectra_chart(r);
  Chart chart;
  chart.title = r.asked.empty() ? "How far each layer can be read" : "How far each layer can be read: " + r.asked;
  const bool cut = std::ranges::any_of(r.trust, [](const LayerTrust& f) { return f.trust.r2 < 0; });
  chart.x.label = "layer", chart.x.whole = true, chart.y.label = cut ? "R² (drawn as 0 where it is below)" : "R²";
  chart.y.max = 1, chart.y.min = 0;
  for (const LayerTrust& f : r.trust) {
    auto series = std::ranges::find(chart.series, f.form, &Series::name);
    if (series == chart.series.end()) {
      Series line{.name = f.form, .points = {}};
      line.marker = Marker::circle;
      if (is_control(f.form)) line.stroke = Stroke::dashed;
      series = chart.series.insert(series, std::move(line));
    }
    // Far below 0 there is nothing to compare; the table has the number.
    series->points.push_back({static_cast<double>(f.layer), std::max(f.trust.r2, 0.0)});
  }
  return chart;
}

Table layers_table(const ReadLayersResult& r) {
  if (r.trust.empty()) {
    Table table({{.header = "layer"},
                 {.header = "largest eigenvalue"},
                 {.header = "smallest"},
                 {.header = "participation rank"}});
    for (const LayerSpectrum& s : r.spectra)
      table.add(spectrum_row(s, signed_text, [](double v) { return fixed_text(v, 2); }));
    return table;
  }
  std::vector<std::string> forms;
  for (const LayerTrust& f : r.trust)
    if (std::ranges::find(forms, f.form) == forms.end()) forms.push_back(f.form);
  // Whether the form has more than its eigenvectors.
  const auto apart = [&](const std::string& form) {
    return std::ranges::any_of(r.trust, [&](const LayerTrust& f) {
      return f.form == form && !is_control(form) && std::fabs(f.trust.r2 - f.trust.eigenvectors_r2) > 1e-6;
    });
  };
  std::vector<Column> columns = {{.header = "layer"}};
  for (const std::string& form : forms) {
    columns.push_back({.header = form});
    if (apart(form)) columns.push_back({.header = "its eigenvectors"});
  }
  Table table(columns);
  for (size_t layer = 1; layer <= r.layers.size(); layer++) {
    std::vector<std::string> row = {std::to_string(layer)};
    for (const std::string& form : forms) {
      const auto found =
          std::ranges::find_if(r.trust, [&](const LayerTrust& f) { return f.layer == layer && f.form == form; });
      const bool there = found != r.trust.end();
      row.push_back(there ? fixed_text(found->trust.r2, 3) : "-");
      if (apart(form)) row.push_back(there ? fixed_text(found->trust.eigenvectors_r2, 3) : "-");
    }
    table.add(row);
  }
  return table;
}

OrderedJson to_json(const ReadLayersResult& r) {
  OrderedJson j = {{"schema", "glint-read-layers/1"}, {"run", r.run}};
  j["layers"] = r.layers;
  j["csv"] = r.csv;
  j["figure"] = r.figure;
  return j;
}

}  // namespace glint

#include "glint/cli/spectrum_view.h"

#include <algorithm>
#include <cmath>

#include "glint/lab/file_words.h"
#include "glint/report/feature_grid.h"
#include "glint/report/shared_figure.h"
#include "glint/report/spectrum_figure.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kEnergies[] = {1, 5, 10, 20};
constexpr size_t kListed = 3;        // eigenvalues of a sign in the table
constexpr size_t kSharedListed = 8;  // shared directions in the table
constexpr size_t kSharedNamed = 3;   // units a side in a line of it
constexpr size_t kManyUnits = 3;     // beyond this only the strongest pictures are drawn on a terminal

std::string energy_text(const std::vector<double>& curve, size_t k) {
  return curve.empty() ? "-" : percent_text(curve[std::min(k, curve.size()) - 1], 0);
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : between) + w;
  return out;
}

std::string ends_text(const std::vector<double>& values, bool positive) {
  std::vector<std::string> words;
  for (size_t i = 0; i < std::min(kListed, values.size()); i++) {
    const double v = positive ? values[i] : values[values.size() - 1 - i];
    if (positive ? v > 0 : v < 0) words.push_back(signed_text(v));
  }
  return joined(words);
}

std::string fidelity_text(const SpectrumResult& r) {
  Table table({{.header = "form"},
               {.header = "correlation", .align = Align::right},
               {.header = "R2", .align = Align::right},
               {.header = "agreement %", .align = Align::right},
               {.header = "accuracy %", .align = Align::right}});
  const auto add = [&](const char* name, const Fidelity& f) {
    table.add({name, fixed_text(f.correlation, 4), fixed_text(f.r2, 4),
               r.whole_model ? percent_text(f.agreement, 2) : "-",
               r.whole_model ? percent_text(f.accuracy_form, 2) : "-"});
  };
  add("weights", r.weights);
  add("calibrated", r.calibrated);
  if (r.whole_model) table.add({"the model", "", "", "", percent_text(r.weights.accuracy_model, 2)});
  std::string out = table.terminal();
  out += "local: exact for its one input; largest |value - " +
         std::string(r.whole_model ? "logit" : "output") + "| " +
         signed_text(r.local.largest).substr(r.local.largest > 0) + " on " + std::to_string(r.local.inputs) +
         " images (values up to " + fixed_text(r.local.scale, 1) + ")\n";
  return out;
}

std::string units_text(const SpectrumResult& r) {
  std::vector<Column> columns = {{.header = "unit"}, {.header = "R2", .align = Align::right}};
  for (const size_t k : kEnergies)
    columns.push_back({.header = (k == 1 ? "top " : "") + std::to_string(k) + " %", .align = Align::right});
  columns.push_back({.header = "entropy rank", .align = Align::right});
  columns.push_back({.header = "largest eigenvalues"});
  columns.push_back({.header = "smallest"});
  Table table(columns);
  for (size_t u = 0; u < r.forms.size(); u++) {
    const std::vector<double>& values = r.forms[u].spectrum.values;
    const std::vector<double> energy = energy_curve(values);
    std::vector<std::string> cells = {printable(r.units.names[u]), fixed_text(r.r2[u], 3)};
    for (const size_t k : kEnergies) cells.push_back(energy_text(energy, k));
    cells.push_back(fixed_text(effective_rank(values).entropy, 1));
    cells.push_back(ends_text(values, true));
    cells.push_back(ends_text(values, false));
    table.add(cells);
  }
  return table.terminal() +
         "top k %: share of the squared eigenvalues in the k strongest; entropy rank: exp of the entropy of "
         "their magnitudes\n";
}

std::string groups_text(const SpectrumResult& r) {
  // Near 0 all eigenvalues are near-equal, and nobody looks there.
  std::string out;
  for (size_t u = 0; u < r.forms.size(); u++) {
    const Spectrum& s = r.forms[u].spectrum;
    const double floor =
        s.values.empty() ? 0 : 0.01 * std::max(std::fabs(s.values.front()), std::fabs(s.values.back()));
    for (size_t i = 0, end; i < s.count(); i = end) {
      for (end = i + 1; end < s.count() && s.groups[end] == s.groups[i];) end++;
      if (end - i > 1 && std::fabs(s.values[i]) > floor)
        out += printable(r.units.names[u]) + ": eigenvalues " + std::to_string(i + 1) + " to " +
               std::to_string(end) + " are near-equal (" + signed_text(s.values[i]) +
               "): only their subspace counts\n";
    }
  }
  return out;
}

std::string truncation_text(const SpectrumResult& r) {
  const size_t terms = r.cut_calibrated.accuracy.size() - 1;
  std::vector<size_t> ks;
  for (const size_t k : {0, 1, 2, 5, 10, 20, 50, 100, 200, 500})
    if (k < terms) ks.push_back(k);
  ks.push_back(terms);
  std::vector<Column> columns = {{.header = "accuracy %"}};
  for (const size_t k : ks)
    columns.push_back({.header = (k == 0 ? "k = " : "") + std::to_string(k), .align = Align::right});
  Table table(columns);
  const auto add = [&](const char* name, const TruncationCurve& curve) {
    std::vector<std::string> cells = {name};
    for (const size_t k : ks) cells.push_back(percent_text(curve.accuracy[k], 2));
    table.add(cells);
  };
  add("weights", r.cut_weights);
  add("calibrated", r.cut_calibrated);
  return table.terminal() +
         (r.linear_calibrated
              ? "k = 0, calibrated: the linear part alone, without any eigenvector; every k has it\n"
              : "");
}

std::string shared_text(const SpectrumResult& r) {
  const SharedDirections& s = r.shared;
  double total = 0;
  for (const double v : s.values) total += v * v;
  Table table({{.header = "direction", .align = Align::right},
               {.header = "share %", .align = Align::right},
               {.header = "for"},
               {.header = "against"}});
  for (size_t k = 0; k < std::min(kSharedListed, s.values.size()); k++) {
    std::vector<size_t> order(r.units.count());
    for (size_t u = 0; u < order.size(); u++) order[u] = u;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return s.signed_share(a, k) > s.signed_share(b, k); });
    const auto side = [&](bool positive) {
      std::vector<std::string> words;
      for (size_t i = 0; i < std::min(kSharedNamed, order.size()); i++) {
        const size_t u = positive ? order[i] : order[order.size() - 1 - i];
        const double share = s.signed_share(u, k);
        if (positive ? share > 0 : share < 0)
          words.push_back(printable(r.units.names[u]) + " " + signed_text(share));
      }
      return joined(words, ", ");
    };
    table.add({std::to_string(k + 1), percent_text(total > 0 ? s.values[k] * s.values[k] / total : 0, 1),
               side(true), side(false)});
  }
  return table.terminal();
}

std::string pictures_text(OpenedRun& run, const SpectrumResult& r, const Drawing& drawing) {
  const size_t most = r.forms.size() > kManyUnits ? 1 : std::max<size_t>(1, (drawing.columns + 2) / 32);
  const ImageModel& m = run.model();
  std::string out;
  std::vector<Picture> pictures;
  const auto add = [&](const std::string& name, const std::vector<SignedPicture>& side) {
    for (size_t k = 0; k < std::min(most, side.size()); k++) {
      Matrix<float> values(m.height, m.width);
      std::transform(side[k].pixels.begin(), side[k].pixels.end(), values.data(),
                     [](double v) { return static_cast<float>(v); });
      pictures.push_back(signed_picture(values, {name, signed_text(side[k].value)}));
    }
  };
  for (size_t u = 0; u < r.shown.size(); u++) {
    add(printable(r.units.names[u]), r.shown[u].positive);
    add(printable(r.units.names[u]), r.shown[u].negative);
    if (r.forms.size() > kManyUnits) continue;
    out += draw(pictures, drawing) + "\n";
    pictures.clear();
  }
  return pictures.empty() ? out : out + draw(pictures, drawing) + "\n";
}

std::string layer_text(OpenedRun& run, const SpectrumResult& r) {
  return "layer " + std::to_string(r.units.layer + 1) + " of " + std::to_string(run.reading().layers());
}

}  // namespace

std::string percent_text(double share, int decimals) {
  return std::isfinite(share) ? fixed_text(100 * share, decimals) : "-";
}

std::string calibration_text(OpenedRun& run) {
  const StoredCalibration& c = run.calibration();
  return std::string(name(c.kinds.back())) + " lines on " + std::to_string(c.inputs) + " training images";
}

std::string spectrum_text(OpenedRun& run, const SpectrumResult& r, const Drawing& drawing) {
  std::string out = "run:   " + run.run().directory + " (" + model_text(run.model()) + ")\n";
  out += "data:  " + printable(run.data().name) + ", " + std::to_string(r.weights.inputs) +
         " test images; calibrated by " + calibration_text(run) + "\n";
  out += "units: " + std::to_string(r.units.count()) + " of " + layer_text(run, r) + "\n\n";
  out += r.whole_model ? "How far each form is the model, over all classes:\n"
                       : "How far each form is the layer, over these directions:\n";
  out += fidelity_text(r) + "\n";
  if (r.whole_model)
    out += "With only the k strongest eigenvectors of each class:\n" + truncation_text(r) + "\n";
  out += "Spectra, " + r.form + " form:\n" + units_text(r) + groups_text(r) + "\n";
  if (drawing.form != Drawing::Form::none) out += pictures_text(run, r, drawing);
  if (!r.shared.values.empty())
    out += "Directions shared by the units (higher-order SVD), with v' Q v of each unit:\n" + shared_text(r);
  return out;
}

ordered_json spectrum_json(OpenedRun& run, const SpectrumResult& r) {
  const auto fidelity_json = [&](const Fidelity& f) {
    ordered_json j = {{"correlation", f.correlation}, {"r2", f.r2}};
    if (r.whole_model) {
      j["agreement"] = f.agreement;
      j["accuracy"] = f.accuracy_form;
    }
    j["unit_r2"] = f.unit_r2;
    return j;
  };
  ordered_json j;
  j["run"] = run.run().directory;
  j["model"] = ordered_json(config_to_json(run.model().config));
  j["weights_sha256"] = run.reading().weights_hash();
  j["data"] = {{"name", run.data().name}, {"checksum", run.data().checksum}, {"images", r.weights.inputs}};
  j["calibration"] = {{"kind", name(run.calibration().kinds.back())}, {"images", run.calibration().inputs}};
  j["layer"] = r.units.layer + 1;
  j["form"] = r.form;
  j["fidelity"] = {
      {"weights", fidelity_json(r.weights)},
      {"calibrated", fidelity_json(r.calibrated)},
      {"local",
       {{"largest_error", r.local.largest}, {"largest_value", r.local.scale}, {"images", r.local.inputs}}}};
  if (r.whole_model) {
    j["accuracy_model"] = r.weights.accuracy_model;
    // Element k is with k eigenvectors; element 0 is what the form has without any.
    j["truncation"] = {{"first_k", 0},
                       {"weights", r.cut_weights.accuracy},
                       {"calibrated", r.cut_calibrated.accuracy},
                       {"linear_part", {{"weights", false}, {"calibrated", r.linear_calibrated}}}};
    if (r.linear_calibrated)
      j["truncation"]["linear_part_alone"] = {{"calibrated", r.cut_calibrated.accuracy.front()}};
  }
  j["units"] = ordered_json::array();
  for (size_t u = 0; u < r.forms.size(); u++) {
    const Spectrum& s = r.forms[u].spectrum;
    const EffectiveRank rank = effective_rank(s.values);
    j["units"].push_back(
        {{"name", r.units.names[u]},
         {"r2", r.r2[u]},
         {"effective_rank", {{"entropy", rank.entropy}, {"participation", rank.participation}}},
         {"energy", energy_curve(s.values)},
         {"eigenvalues", s.values},
         {"groups", s.groups}});
  }
  j["shared"] = ordered_json::array();
  for (size_t k = 0; k < std::min(r.shared_pictures.size(), r.shared.values.size()); k++) {
    std::vector<double> share(r.units.count());
    for (size_t u = 0; u < share.size(); u++) share[u] = r.shared.signed_share(u, k);
    j["shared"].push_back({{"singular_value", r.shared.values[k]}, {"signed_share", share}});
  }
  return j;
}

std::string file_tag(const SpectrumResult& r) {
  if (r.asked.empty()) return r.form == "calibrated" ? "" : "-" + r.form;
  return "-" + file_word(r.asked) + "-" + r.form + "-layer-" + std::to_string(r.units.layer + 1);
}

std::vector<FigureFile> spectrum_figures(OpenedRun& run, const SpectrumResult& r,
                                         const std::string& directory) {
  const ImageModel& m = run.model();
  const PictureSize size{m.height, m.width};
  // The pictures of all classes of the last layer have short names.
  const std::string all = r.asked.empty() ? "-" + r.form : file_tag(r);
  const std::string place = r.asked.empty() ? "" : "-layer-" + std::to_string(r.units.layer + 1);
  const std::string what = std::string(gate_info(m.config.gate.kind).text.name) + " on " + printable(m.data) +
                           (run.reading().layers() > 1 ? ", " + layer_text(run, r) : "") + ", " + r.form +
                           " form";
  const Fidelity& f = r.form == "weights" ? r.weights : r.calibrated;
  const std::string trust =
      "R\u00b2 with the " + std::string(r.whole_model ? "logits " : "outputs ") + fixed_text(f.r2, 3) +
      (r.whole_model ? ", same decision on " + percent_text(f.agreement, 1) + " % of the test images" : "");
  std::vector<FigureFile> files;
  const auto add = [&](const std::string& name, Figure figure) {
    files.push_back({directory + "/" + name, std::move(figure.svg), std::move(figure.csv)});
  };
  FeatureGrid grid{.title = "Eigenvectors: " + what,
                   .note = trust + ". Each picture on its own scale; the sign of a picture is free.",
                   .size = size,
                   .rows = {}};
  for (size_t u = 0; u < r.forms.size(); u++) {
    const std::string unit = printable(r.units.names[u]);
    grid.rows.push_back(
        {unit, "R\u00b2 " + fixed_text(r.r2[u], 3), r.shown[u].positive, r.shown[u].negative});
    add("spectrum-" + file_word(r.units.names[u]) + "-" + r.form + place,
        spectrum_figure({.title = unit + ": " + what,
                         .note = "R\u00b2 of this unit " + fixed_text(r.r2[u], 3),
                         .values = r.forms[u].spectrum.values,
                         .groups = r.forms[u].spectrum.groups,
                         .size = size,
                         .positive = r.shown[u].positive,
                         .negative = r.shown[u].negative}));
  }
  add("features" + all, feature_grid(grid));
  if (r.whole_model) {
    const Chart chart = truncation_figure(
        "Accuracy with k eigenvectors a class: " + std::string(gate_info(m.config.gate.kind).text.name) +
            " on " + printable(m.data),
        {{"weights form", r.cut_weights.accuracy},
         {"calibrated form", r.cut_calibrated.accuracy, r.linear_calibrated}},
        r.weights.accuracy_model);
    add("truncation", {to_svg(chart), to_csv(chart)});
  }
  if (!r.shared_pictures.empty()) {
    SharedPlot plot{.title = "Directions shared by the units: " + what,
                    .note = "Below each its singular value, and v' Q v of every unit. " + trust + ".",
                    .size = size,
                    .units = {},
                    .directions = r.shared_pictures,
                    .signed_share = Matrix<double>(r.units.count(), r.shared_pictures.size())};
    for (size_t u = 0; u < r.units.count(); u++) {
      plot.units.push_back(printable(r.units.names[u]));
      for (size_t k = 0; k < plot.directions.size(); k++)
        plot.signed_share(u, k) = r.shared.signed_share(u, k);
    }
    add("shared" + all, shared_figure(plot));
  }
  return files;
}

}  // namespace glint::cli

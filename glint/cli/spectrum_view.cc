#include "glint/cli/spectrum_view.h"
#include "glint/base/text.h"
#include "glint/base/utf8.h"
#include "glint/cli/output.h"

#include <algorithm>
#include <cmath>

#include "glint/lab/read/read_result.h"
#include "glint/lab/models/run.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

constexpr size_t kEnergies[] = {1, 5, 10, 20};
constexpr size_t kListed = 3;        // eigenvalues of a sign in the table
constexpr size_t kSharedListed = 8;  // shared directions in the table
constexpr size_t kSharedNamed = 3;   // units per side in a line of it
constexpr size_t kManyUnits = 3;     // beyond this only the strongest pictures are drawn on a terminal

std::string energy_text(const std::vector<double>& curve, size_t k) {
  return curve.empty() ? "-" : percent_text(curve[std::min(k, curve.size()) - 1], 0);
}

std::string ends_text(const std::vector<double>& values, bool positive) {
  std::vector<std::string> words;
  for (size_t i = 0; i < std::min(kListed, values.size()); i++) {
    const double v = positive ? values[i] : values[values.size() - 1 - i];
    if (positive ? v > 0 : v < 0) words.push_back(typed_number(v));
  }
  return joined(words, " ");
}

std::string fidelity_text(const ReadResult& r) {
  Table table(headers({"form"}, {"correlation", "R2", "R2 rescaled", "R2 centred", "agreement %", "accuracy %"}));
  const auto add = [&](const std::string& name, const Fidelity& f) {
    table.add({name, fixed_text(f.correlation, 4), fixed_text(f.r2, 4), fixed_text(f.r2_scaled, 4),
               r.whole_model() ? fixed_text(f.r2_centred, 4) : "-",
               r.whole_model() ? percent_text(f.agreement, 2) : "-",
               r.whole_model() ? percent_text(f.accuracy_form, 2) : "-"});
  };
  for (const ReadForm& form : r.forms) add(name(form.form), form.fidelity);
  if (r.whole_model())
    table.add({"the model", "", "", "", "", "", percent_text(r.forms[0].fidelity.accuracy_model, 2)});
  add("linear map", r.controls.linear);
  for (const auto& [form, f] : r.controls.untrained) add("untrained, " + name(form), f);
  std::string out = table.terminal(result_columns());
  if (r.whole_model()) out += "R2 centred: of the logits of each image less their mean, which is all that decides\n";
  const LocalError& local = r.image->local;
  out += "local: exact for its one input; largest |value - " + std::string(r.whole_model() ? "logit" : "output") +
         "| " + typed_number(local.largest).substr(local.largest > 0) + " on " + std::to_string(local.inputs) +
         " images (values up to " + fixed_text(local.scale, 1) + ")\n";
  return out + fidelity_notes(r);
}

// The forms at the mirror images of the inputs.
std::string mirrored_text(const ReadResult& r) {
  std::vector<std::string> words;
  for (const ReadForm& form : r.forms)
    if (const auto& m = form.fidelity.mirrored)
      words.push_back(name(form.form) + " " +
                      (r.whole_model() ? percent_text(m->agreement, 2) + " %" : "R2 " + fixed_text(m->r2, 4)));
  if (words.empty()) return "";
  return (r.whole_model() ? "agreement on the mirror images, -x: " : "on the mirror images, -x: ") +
         joined(words, ", ") + "\n";
}

std::string units_text(const ReadResult& r) {
  const bool linear = r.inputs && (r.chosen().linear_part || r.image->residual);
  std::vector<Column> columns = {{.header = "unit"}, {.header = "R2", .align = Align::right}};
  if (linear) {
    columns.push_back({.header = "quadratic %", .align = Align::right});
    columns.push_back({.header = "linear %", .align = Align::right});
  }
  for (const size_t k : kEnergies)
    columns.push_back({.header = (k == 1 ? "top " : "") + std::to_string(k) + " %", .align = Align::right});
  columns.push_back({.header = "entropy rank", .align = Align::right});
  columns.push_back({.header = "largest eigenvalues"});
  columns.push_back({.header = "smallest"});
  Table table(columns);
  for (const ReadDirection& d : r.directions) {
    const std::vector<double>& values = d.form.spectrum.values;
    std::vector<std::string> cells = {printable(d.name), d.trust ? fixed_text(d.trust->r2, 3) : "-"};
    if (linear) {
      cells.push_back(percent_text(d.trust->quadratic_share, 1));
      cells.push_back(percent_text(d.trust->linear_share, 1));
    }
    for (const size_t k : kEnergies) cells.push_back(energy_text(d.energy, k));
    cells.push_back(d.rank ? fixed_text(d.rank->entropy, 1) : "-");
    cells.push_back(ends_text(values, true));
    cells.push_back(ends_text(values, false));
    table.add(cells);
  }
  return table.terminal(result_columns()) +
         (linear ? "quadratic, linear %: shares of the eigenvectors and of the linear part in the variance "
                   "of the reading; what they lack to 100 goes past the layer\n"
                 : "") +
         "top k %: share of the squared eigenvalues in the k strongest; entropy rank: exp of the entropy of "
         "their magnitudes\n";
}

// The eigenvectors of a form whose gains depend on the input are drawn at one size of it.
std::string size_text(const ReadResult& r) {
  if (!r.drawn) return "";
  return "drawn at |x| " + fixed_text(r.drawn->size, 2) +
         ", the median size of the layer's input; at its 10 % and 90 % quantile (" + fixed_text(r.drawn->low, 2) +
         " and " + fixed_text(r.drawn->high, 2) + ") the strongest eigenvectors have |cos| " +
         fixed_text(r.drawn->low_alike, 3) + " and " + fixed_text(r.drawn->high_alike, 3) + " with these\n";
}

std::string groups_text(const ReadResult& r) {
  // Near 0 all eigenvalues are near-equal, and nobody looks there.
  std::string out;
  for (const ReadDirection& d : r.directions) {
    const Spectrum& s = d.form.spectrum;
    const double floor =
        s.values.empty() ? 0 : 0.01 * std::max(std::fabs(s.values.front()), std::fabs(s.values.back()));
    for (size_t i = 0, end; i < s.count(); i = end) {
      for (end = i + 1; end < s.count() && s.groups[end] == s.groups[i];) end++;
      if (end - i > 1 && std::fabs(s.values[i]) > floor)
        out += printable(d.name) + ": eigenvalues " + std::to_string(i + 1) + " to " + std::to_string(end) +
               " are near-equal (" + typed_number(s.values[i]) + "): only their subspace counts\n";
    }
  }
  return out;
}

std::string truncation_text(const ReadResult& r) {
  const size_t terms = r.chosen().truncation.size() - 1;
  std::vector<size_t> ks;
  for (const size_t k : {0, 1, 2, 5, 10, 20, 50, 100, 200, 500})
    if (k < terms) ks.push_back(k);
  ks.push_back(terms);
  std::vector<Column> columns = {{.header = "accuracy %"}};
  for (const size_t k : ks)
    columns.push_back({.header = (k == 0 ? "k = " : "") + std::to_string(k), .align = Align::right});
  Table table(columns);
  bool linear = false;
  std::string sizes;
  for (const ReadForm& form : r.forms) {
    std::vector<std::string> cells = {name(form.form)};
    for (const size_t k : ks) cells.push_back(percent_text(form.truncation[k], 2));
    table.add(cells);
    linear = linear || form.linear_part;
    if (form.by_size)
      sizes += name(form.form) +
               ": with the eigenvectors of the median size |x| for every image; the form itself, whose "
               "eigenvectors are those of each image's own size, has " +
               percent_text(form.fidelity.accuracy_form, 2) + "\n";
  }
  return table.terminal(result_columns()) +
         (linear ? "k = 0, calibrated: the linear part alone, without any eigenvector; every k has it\n" : "") +
         (r.image->residual ? "k = 0 has what goes past the layer, the residual path, which belongs to no eigenvector; "
                              "every k has it\n"
                            : "") +
         sizes;
}

std::string shared_text(const ReadResult& r) {
  const SharedDirections& s = r.image->shared;
  double total = 0;
  for (const double v : s.values) total += v * v;
  Table table(headers({}, {"direction", "share %"}, {"for", "against"}));
  for (size_t k = 0; k < std::min(kSharedListed, s.values.size()); k++) {
    std::vector<size_t> order(r.directions.size());
    for (size_t u = 0; u < order.size(); u++) order[u] = u;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return s.signed_share(a, k) > s.signed_share(b, k); });
    const auto side = [&](bool positive) {
      std::vector<std::string> words;
      for (size_t i = 0; i < std::min(kSharedNamed, order.size()); i++) {
        const size_t u = positive ? order[i] : order[order.size() - 1 - i];
        const double share = s.signed_share(u, k);
        if (positive ? share > 0 : share < 0)
          words.push_back(printable(r.directions[u].name) + " " + typed_number(share));
      }
      return joined(words, ", ");
    };
    table.add({std::to_string(k + 1), percent_text(total > 0 ? s.values[k] * s.values[k] / total : 0, 1), side(true),
               side(false)});
  }
  return table.terminal(result_columns());
}

std::string pictures_text(const ReadResult& r, const Drawing& drawing) {
  if (r.size.height == 0) return {};  // vectors
  const bool many = r.directions.size() > kManyUnits;
  const size_t most = many ? 1 : std::max<size_t>(1, (drawing.columns + 2) / 32);
  std::string out;
  std::vector<Picture> pictures;
  const auto add_one = [&](const std::string& name, const std::vector<double>& pixels, const std::string& below) {
    Matrix<float> values(r.size.height, r.size.width);
    std::transform(pixels.begin(), pixels.end(), values.data(), [](double v) { return static_cast<float>(v); });
    pictures.push_back(signed_picture(values, {name, below}));
  };
  const auto add = [&](const std::string& name, const std::vector<ShownVector>& side) {
    for (size_t k = 0; k < std::min(most, side.size()); k++) add_one(name, side[k].pixels, typed_number(side[k].value));
  };
  for (const ReadDirection& d : r.directions) {
    add(printable(d.name), d.positive);
    add(printable(d.name), d.negative);
    if (!d.linear_pixels.empty()) add_one(printable(d.name), d.linear_pixels, "linear part");
    if (many) continue;
    out += draw(pictures, drawing) + "\n";
    pictures.clear();
  }
  return pictures.empty() ? out : out + draw(pictures, drawing) + "\n";
}

}  // namespace

std::string percent_text(double share, int decimals) {
  return std::isfinite(share) ? fixed_text(100 * share, decimals) : "-";
}

std::string fidelity_notes(const ReadResult& r) {
  const double even = r.forms[0].fidelity.even_share;
  return "controls, to compare with: the best linear map of the layer's input in place of the layer" +
         (r.controls.untrained.empty() ? "" : "; the same form of " + r.untrained) +
         "\nR2 rescaled: after one factor for the whole form\neven share of the "
         "layer: " +
         percent_text(even, 1) + " %" +
         (even < 1 ? ", over the data and their mirror images; a form without a linear part can be no more "
                     "there"
                   : ", its gate is odd") +
         "\n" + mirrored_text(r);
}

std::string spectrum_text(const ReadResult& r, const Drawing& drawing) {
  std::string out = "run:   " + r.run + " (" + r.model_text + ")\n";
  out += r.inputs == 0
             ? "form:  " + name(r.form) + ", " + origin_text(r) + "\n"
             : "data:  " + printable(r.data) + ", " + std::to_string(r.inputs) + " test images; calibrated by " +
                   r.calibration + " lines on " + std::to_string(r.calibration_inputs) + " training images\n";
  out += "units: " + std::to_string(r.directions.size()) + " of layer " + std::to_string(r.layer + 1) + " of " +
         std::to_string(r.layers) + "\n\n" + trust_sentence(r) + "\n\n";
  if (r.inputs)
    out += (r.whole_model() ? "How far each form is the model, over all classes:\n"
                            : "How far each form is the layer, over these directions:\n") +
           fidelity_text(r) + "\n";
  if (r.whole_model()) out += "With only the k strongest eigenvectors of each class:\n" + truncation_text(r) + "\n";
  out += "Spectra, " + name(r.form) + " form:\n" + units_text(r) + size_text(r) + groups_text(r) + "\n";
  if (drawing.form != Drawing::Form::none) out += pictures_text(r, drawing);
  if (!r.image->shared.values.empty())
    out += "Directions shared by the units (higher-order SVD), with v' Q v of each unit:\n" + shared_text(r);
  out += "\nspectra: " + r.spectra + "\n";
  if (!r.figures.empty())
    out += "figures: " + std::to_string(r.figures.size()) + " in " + r.figures_folder + " (SVG, PNG, CSV)\n";
  return out;
}

}  // namespace glint::cli

#include "glint/spectra/calibration.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/io/safetensors.h"
#include "glint/io/seal.h"
#include "glint/spectra/glu_model.h"
#include "glint/spectra/unit_fits.h"

namespace glint {
namespace {

constexpr std::string_view kNames[] = {"gain", "affine", "joint"};
constexpr const char* kFormat = "glint-calibration";

// Sums over rows that decide the line of one hidden unit: r^2 times 1, l, l^2, gate, gate l.
struct Moments {
  double one = 0, l = 0, ll = 0, g = 0, gl = 0;
  void operator+=(const Moments& o) { one += o.one, l += o.l, ll += o.ll, g += o.g, gl += o.gl; }
};

struct Line {
  double gain = 1, shift = 0;
};

Line fit(const Moments& m, Calibration calibration) {
  constexpr double kSpread = 1e-10;  // variance of l over its mean square below which a slope means nothing
  Line line;
  if (m.ll > 0) line.gain = m.gl / m.ll;
  if (calibration == Calibration::gain) return line;
  const double det = m.one * m.ll - m.l * m.l;
  if (!(det > kSpread * m.one * m.ll)) return line;
  // The same expressions as det when the gate is the identity: gain 1 and shift 0 to the last bit.
  line.gain = (m.one * m.gl - m.l * m.g) / det;
  line.shift = (m.ll * m.g - m.l * m.gl) / det;
  return line;
}

}  // namespace

std::string_view name(Calibration calibration) { return kNames[static_cast<size_t>(calibration)]; }

GateTerms calibrated_form(const LayerReader& reader, ConstMatrixView<float> x, Calibration calibration) {
  const size_t h = reader.layer.hidden();
  const std::vector<Moments> moments =
      unit_sums<Moments>(reader, x, [](Moments& m, size_t, size_t, double l, double r, double g) {
        const double rr = r * r;
        m += {rr, rr * l, rr * l * l, rr * g, rr * l * g};
      });
  GateTerms line{.gain = std::vector<double>(h)};
  if (calibration == Calibration::affine) line.shift.resize(h);
  for (size_t j = 0; j < h; j++) {
    const Moments& m = moments[j];
    if (!std::isfinite(m.one + m.l + m.ll + m.g + m.gl))
      throw_overflow("the calibration of hidden unit " + std::to_string(j));
    const Line fitted = fit(m, calibration);
    line.gain[j] = fitted.gain;
    if (calibration == Calibration::affine) line.shift[j] = fitted.shift;
  }
  return line;
}

GateTerms joint_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x) {
  const size_t h = reader.layer.hidden();
  GateTerms line = calibrated_form(reader, x, Calibration::affine);
  const std::vector<double> change = joint_changes(
      reader, weights, x, 2, [&](size_t, const TileMemory& tile, Matrix<double>& features, Matrix<double>& rest) {
        with_gate(reader.layer.gate, [&](auto gate) {
          for (size_t i = 0; i < rest.rows(); i++)
            for (size_t j = 0; j < h; j++) {
              const double l = tile.l(i, j), r = tile.r(i, j);
              features(i, j) = l * r, features(i, h + j) = r;
              rest(i, j) = (static_cast<double>(gate(tile.l(i, j))) - (line.gain[j] * l + line.shift[j])) * r;
            }
        });
      });
  if (change.empty()) return line;  // the lines of the units stand
  for (size_t j = 0; j < h; j++) line.gain[j] += change[j], line.shift[j] += change[h + j];
  return line;
}

Calibration best_kind(const GluLayerView& layer, ConstMatrixView<double> outputs) {
  return outputs.empty() || layer.hidden() > kJointUnits ? Calibration::affine : Calibration::joint;
}

GateTerms best_line(const LayerReader& reader, ConstMatrixView<double> outputs, ConstMatrixView<float> x) {
  return best_kind(reader.layer, outputs) == Calibration::joint ? joint_form(reader, outputs, x)
                                                                : calibrated_form(reader, x, Calibration::affine);
}

void add_layer(const GluModel& model, size_t layer, ConstMatrixView<float> x, StoredCalibration& c) {
  const GluLayerView view = model.layer(layer);
  for (const FormInfo& info : kFormTable) {
    const auto has = form_functions(info.form).has;
    if (info.needs == FormNeeds::data && (!has || has(view)))
      c.terms[info.form].push_back(fit_form(model, info.form, layer, x));
  }
  c.kinds.push_back(best_kind(view, model.logit_weights(layer)));
}

namespace {

// Every list of terms that a file may hold: by its name, where it lies in the calibration.
void each_terms(auto& c, const auto& visit) {
  for (const FormInfo& info : kFormTable)
    if (info.needs == FormNeeds::data) visit(name(info.form), c.terms[info.form]);
  visit("refined", c.refined);
}

}  // namespace

void save_calibration(FileSystem& files, const std::string& path, const StoredCalibration& c) {
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"model", c.model},
                                                 {"data", c.data},
                                                 {"inputs", std::to_string(c.inputs)},
                                                 {"linalg", c.linalg}};
  for (size_t i = 0; i < c.kinds.size(); i++) {
    const std::string layer = "blocks." + std::to_string(i);
    metadata[layer] = name(c.kinds[i]);
    each_terms(c, [&](const std::string& form, const std::vector<GateTerms>& all) {
      if (all.empty()) return;
      const GateTerms& terms = all[i];
      const auto add = [&](const std::string& what, std::span<const double> v) {
        if (!v.empty()) tensors.push_back({layer + "." + form + "." + what, Dtype::f64, {v.size()}, std::as_bytes(v)});
      };
      for (const TermList& list : kTermLists) add(list.name, terms.*list.values);
      if (terms.slope.empty()) return;
      add("slope", terms.slope), add("power", {&terms.power, 1}), add("size", {&terms.size, 1});
    });
  }
  write_sealed_safetensors(files, path, tensors, metadata);
}

StoredCalibration load_calibration(const std::string& path, std::span<const size_t> hidden) {
  const SafetensorsFile file(path);
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    bad_file(path, what, expected, "remove the file: it is made anew");
  };
  const auto text = [&](const std::string& key) {
    const std::string* value = file->find_metadata(key);
    if (!value) refuse("the calibration does not say its " + key, "metadata as glint writes them");
    return *value;
  };
  if (!is_sealed(file))
    refuse("the calibration is damaged: it is not what its checksum says", "the file as glint wrote it");
  if (text("format") != kFormat) refuse("not a calibration", std::string("format ") + kFormat);
  StoredCalibration c{.model = text("model"), .data = text("data")};
  c.linalg = text("linalg");
  const std::string inputs = text("inputs");
  if (inputs.empty() || inputs.size() > 18 || inputs.find_first_not_of("0123456789") != std::string::npos)
    refuse("the number of inputs is \"" + inputs + "\"", "a whole number");
  c.inputs = std::stoull(inputs);
  for (size_t i = 0; i < hidden.size(); i++) {
    const std::string layer = "blocks." + std::to_string(i), kind = text(layer);
    const auto* found = std::find(std::begin(kNames), std::end(kNames), kind);
    if (found == std::end(kNames)) refuse("unknown calibration \"" + kind + "\"", "gain, affine or joint");
    c.kinds.push_back(static_cast<Calibration>(found - kNames));
    const auto numbers = [&](const std::string& what, size_t count) {
      const size_t shape[] = {count};
      const TensorInfo& t = file->at(layer + "." + what, shape, Dtype::f64);
      std::vector<double> v(count);
      std::memcpy(v.data(), t.bytes.data(), t.bytes.size());
      for (const double x : v)
        if (!std::isfinite(x)) refuse(layer + "." + what + " holds a value that is not finite", "finite numbers");
      return v;
    };
    each_terms(c, [&](const std::string& form, std::vector<GateTerms>& all) {
      const auto has = [&](size_t block, const std::string& what) {
        return file->find("blocks." + std::to_string(block) + "." + form + "." + what) != nullptr;
      };
      const auto list = [&](const std::string& what, size_t count) { return numbers(form + "." + what, count); };
      if (!has(0, "gain")) return;
      GateTerms terms;
      for (const TermList& t : kTermLists)
        if (t.values == &GateTerms::gain || has(i, t.name)) terms.*t.values = list(t.name, hidden[i]);
      if (has(i, "slope")) {
        terms.slope = list("slope", hidden[i]);
        terms.power = list("power", 1)[0], terms.size = list("size", 1)[0];
        const bool shrinks = std::ranges::all_of(terms.slope, [](double s) { return s >= 0; });
        if (!shrinks || !(terms.power > 0) || !(terms.size >= 0))
          refuse(layer + "." + form + " does not shrink with the size of the input",
                 "slopes and a size of 0 or more, a power above 0");
      }
      all.push_back(std::move(terms));
    });
  }
  for (size_t i = 0; i < hidden.size(); i++)
    if (i >= c.terms[Form::calibrated].size() ||
        (c.kinds[i] != Calibration::gain && c.terms[Form::calibrated][i].shift.empty()))
      refuse("the calibrated form of layer " + std::to_string(i + 1) + " is not whole", "its gains and shifts");
  return c;
}

}  // namespace glint

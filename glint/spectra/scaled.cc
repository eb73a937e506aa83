#include "glint/spectra/scaled.h"

#include <cmath>

#include "glint/base/error.h"
#include "glint/base/finite.h"
#include "glint/base/statistics.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/even.h"
#include "glint/spectra/unit_fits.h"

namespace glint {
namespace {

// Sums whose ratio is one number of a hidden unit.
struct Ratio {
  double over = 0, under = 0;
  void operator+=(const Ratio& o) { over += o.over, under += o.under; }
  double value(double otherwise) const { return under > 0 ? over / under : otherwise; }
};

void check_finite(const std::vector<Ratio>& ratios) {
  for (size_t j = 0; j < ratios.size(); j++)
    if (!std::isfinite(ratios[j].over + ratios[j].under))
      throw_overflow("the scaled form of hidden unit " + std::to_string(j));
}

std::vector<double> sizes_of(ConstMatrixView<float> x) {
  std::vector<double> sizes(x.rows());
  for (size_t i = 0; i < sizes.size(); i++) sizes[i] = input_size(x.row(i));
  return sizes;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

bool has_scaled_form(const GluLayerView& layer) { return layer.normed || is_even(layer); }

void check_scaled_form(const GluLayerView& layer) {
  if (has_scaled_form(layer)) return;
  bad_argument("form",
               "the scaled form cannot read the gate " + std::string(gate_info(layer.gate.kind).text.name) +
                   " without a norm before the layer",
               "an odd gate, or a model with a norm", "the form `calibrated` reads every gate");
}

GateTerms scaled_form(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x) {
  const GateText& gate = gate_info(reader.layer.gate.kind).text;
  check_scaled_form(reader.layer);
  GateTerms line = weights_form(reader.layer);
  if (reader.layer.gate.kind == GateKind::Identity) return line;

  const std::vector<double> sizes = sizes_of(x);
  const double mean_size = mean(sizes);
  if (!reader.layer.normed && gate.has_params && reader.layer.gate.params.lambda > 0 && mean_size > 0) {
    const std::vector<Ratio> reach =
        unit_sums<Ratio>(reader, x, [](Ratio& sum, size_t, size_t, double l, double r, double) {
          const double product = l * r, square = product * product;
          sum += {square * std::fabs(l), square};
        });
    check_finite(reach);
    for (const Ratio& m : reach) line.slope.push_back(reader.layer.gate.params.lambda * m.value(0) / mean_size);
    line.power = reader.layer.gate.params.p;
    line.size = quantile(sizes, 0.5);
  }
  line.gain = fitted_gains(reader, weights, x, line);
  return line;
}

std::vector<double> fitted_gains(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x,
                                 const GateTerms& line) {
  const size_t h = reader.layer.hidden();
  const std::vector<double> sizes = sizes_of(x);
  // The share of its gain that unit j has at row i.
  const auto shrunk = [&](size_t i, size_t j) {
    return line.slope.empty() ? 1.0 : 1 / gate_code::shrink(line.slope[j] * sizes[i], line.power);
  };
  const std::vector<Ratio> single =
      unit_sums<Ratio>(reader, x, [&](Ratio& sum, size_t i, size_t j, double l, double r, double g) {
        const double rr = r * r, lf = l * shrunk(i, j);
        sum += {rr * g * lf, rr * lf * lf};
      });
  check_finite(single);
  std::vector<double> gain;
  for (const Ratio& r : single) gain.push_back(r.value(1));
  if (weights.empty() || !fits_together(reader.layer, x.rows())) return gain;

  const std::vector<double> change =
      joint_changes(reader, centred_over_classes(weights), x, 1,
                    [&](size_t first, const TileMemory& tile, Matrix<double>& features, Matrix<double>& rest) {
                      with_gate(reader.layer.gate, [&](auto value) {
                        for (size_t i = 0; i < rest.rows(); i++)
                          for (size_t j = 0; j < h; j++) {
                            const double l = tile.l(i, j), r = tile.r(i, j);
                            features(i, j) = l * r * shrunk(first + i, j);
                            rest(i, j) = static_cast<double>(value(tile.l(i, j))) * r - gain[j] * features(i, j);
                          }
                      });
                    });
  for (size_t j = 0; j < change.size(); j++) gain[j] += change[j];
  return gain;
}

bool fits_together(const GluLayerView& layer, size_t samples) {
  return layer.hidden() <= kJointUnits && samples >= kSamplesPerUnit * layer.hidden();
}

Matrix<double> centred_over_classes(ConstMatrixView<double> weights) {
  Matrix<double> out(weights.rows(), weights.cols());
  for (size_t j = 0; j < weights.cols(); j++) {
    double sum = 0;
    for (size_t c = 0; c < weights.rows(); c++) sum += weights(c, j);
    for (size_t c = 0; c < weights.rows(); c++) out(c, j) = weights(c, j) - sum / static_cast<double>(weights.rows());
  }
  return out;
}

}  // namespace glint

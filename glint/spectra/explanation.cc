#include "glint/spectra/explanation.h"

namespace glint {
namespace {

FormSums sums(const UnitForm& form, std::span<const double> x, double residual_logit) {
  FormSums a{.constant = form.constant, .residual_logit = residual_logit};
  for (const double c : contributions(form.spectrum, x)) (c > 0 ? a.positive : a.negative) += c;
  for (size_t i = 0; i < form.linear.size(); i++) a.linear += form.linear[i] * (i < x.size() ? x[i] : 1.0);
  return a;
}

}  // namespace

const FormSums& sums_of(const ClassExplanation& e, FormKind form) {
  if (form == FormKind::scaled) return e.scaled.value();
  return form == FormKind::weights ? e.weights : form == FormKind::local ? e.local : e.calibrated;
}

std::vector<ClassExplanation> explain_classes(const ImageReading& reading, const Activations& a, size_t row,
                                              const GateLine& calibrated, std::span<const size_t> classes,
                                              FormKind chosen, const GateLine* scaled) {
  assert(chosen != FormKind::scaled || scaled);
  const GluLayerView layer = reading.layer(reading.last());
  const Directions all = reading.classes();
  Matrix<double> weights(classes.size(), all.weights.cols());
  std::vector<float> constants;
  for (size_t i = 0; i < classes.size(); i++) {
    std::ranges::copy(all.weights.view().row(classes[i]), weights.view().row_ptr(i));
    if (!all.constants.empty()) constants.push_back(all.constants[classes[i]]);
  }
  const std::span<const float> input = a.inputs.view().row(row);
  const std::vector<double> x(input.begin(), input.end());
  const auto forms = [&](const GateLine& line) {
    return unit_forms(reading.linalg(), reading.pool(), layer, line, weights, constants);
  };
  std::vector<UnitForm> by_weights = forms(weights_form(layer)), by_calibration = forms(calibrated),
                        by_local = forms(local_form(layer, x)), by_size;
  if (scaled) by_size = forms(at_size(*scaled, input_size(input)));
  std::vector<ClassExplanation> out(classes.size());
  for (size_t i = 0; i < classes.size(); i++) {
    ClassExplanation& c = out[i];
    c.index = classes[i];
    c.logit = a.logits(row, classes[i]);
    const double residual = a.residual_logits.span().empty() ? 0 : a.residual_logits(row, classes[i]);
    c.weights = sums(by_weights[i], x, residual);
    c.calibrated = sums(by_calibration[i], x, residual);
    c.local = sums(by_local[i], x, residual);
    if (scaled) c.scaled = sums(by_size[i], x, residual);
    std::vector<UnitForm>& from = chosen == FormKind::weights  ? by_weights
                                  : chosen == FormKind::scaled ? by_size
                                  : chosen == FormKind::local  ? by_local
                                                               : by_calibration;
    c.form = std::move(from[i]);
    c.terms = contributions(c.form.spectrum, x);
    const Spectrum& s = c.form.spectrum;
    for (size_t k = 0; k < s.count(); k++) {
      const double* v = s.vectors.view().row_ptr(k);
      double p = s.width() > x.size() ? v[x.size()] : 0.0;
      for (size_t j = 0; j < x.size(); j++) p += v[j] * x[j];
      c.projections.push_back(p);
    }
  }
  return out;
}

}  // namespace glint

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

std::vector<ClassExplanation> explain_classes(const ImageReading& reading, const Activations& a, size_t row,
                                              PerForm<std::optional<GateTerms>> terms, std::span<const size_t> classes,
                                              Form chosen) {
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
  terms[Form::local] = local_form(layer, x);
  assert(terms[chosen]);
  std::vector<ClassExplanation> out(classes.size());
  for (const FormInfo& f : kFormTable) {
    if (!terms[f.form]) continue;
    std::vector<UnitForm> forms = unit_forms({reading.linalg(), reading.pool(), layer},
                                             at_size(*terms[f.form], input_size(input)), weights, constants);
    for (size_t i = 0; i < classes.size(); i++) {
      const double residual = a.residual_logits.size() == 0 ? 0 : a.residual_logits(row, classes[i]);
      out[i].sums[f.form] = sums(forms[i], x, residual);
      if (f.form == chosen) out[i].form = std::move(forms[i]);
    }
  }
  for (size_t i = 0; i < classes.size(); i++) {
    ClassExplanation& c = out[i];
    c.index = classes[i];
    c.logit = a.logits(row, classes[i]);
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

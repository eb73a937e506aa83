#include "glint/spectra/logit_parts.h"

#include <numeric>

#include "glint/base/error.h"

namespace glint {

double LogitParts::sum() const {
  double total = embedding + constant;
  for (size_t i = 0; i < glu.size(); i++) total += attention[i] + glu[i];
  return total;
}

LogitParts logit_parts(const ResidualTrace& trace, std::span<const double> direction, double constant, double logit) {
  check_argument(direction.size() == trace.stream.cols(), "direction", "a vector of the residual stream");
  const ConstMatrixView<float> stream = trace.stream;
  // Along the direction, less what was there before.
  const auto added = [&](size_t at) {
    double sum = 0;
    for (size_t j = 0; j < direction.size(); j++) {
      const double before = at > 0 ? stream(at - 1, j) : 0;
      sum += direction[j] * (static_cast<double>(stream(at, j)) - before);
    }
    return trace.last_scale * sum;
  };
  LogitParts p{.logit = logit, .embedding = added(0), .attention = {}, .glu = {}, .constant = constant};
  for (size_t i = 0; i < trace.layers(); i++) {
    p.attention.push_back(added(2 * i + 1));
    p.glu.push_back(added(2 * i + 2));
  }
  return p;
}

GluShare glu_share(const LayerReader& reader, size_t layer, std::span<const double> weights, double constant,
                   const GateTerms& line, const ResidualTrace& trace, double share, const Wanted& wanted) {
  check_argument(layer < trace.layers() && weights.size() == reader.layer.hidden(), "glu_share",
                 "a layer of the trace, and a weight for every hidden unit");
  const ConstMatrixView<float> input = trace.glu_inputs.view().row_range(layer, 1);
  const std::vector<double> x(input.row(0).begin(), input.row(0).end());
  const ConstMatrixView<double> q(weights.data(), 1, weights.size());
  const GateTerms own = at_size(line, input_size(x));
  GluShare s{.layer = layer, .share = share, .form = {}};
  s.scale = trace.last_scale * trace.glu_scale[layer];
  s.form = unit_forms(reader, own, q, {}, wanted)[0];
  const double even = form_outputs(reader, without_linear_part(own), q, input)(0, 0);
  s.quadratic = s.scale * (even - s.form.constant);
  if (has_linear_part(own)) s.linear = s.scale * (form_outputs(reader, own, q, input)(0, 0) - even);
  s.constant = s.scale * (constant + s.form.constant);
  s.rest = share - s.quadratic - s.linear - s.constant;
  s.terms = contributions(s.form.spectrum, x);
  s.others = s.quadratic;
  for (size_t k = 0; k < s.terms.size(); k++) {
    const std::span<const double> v = s.form.spectrum.vectors.view().row(k);
    s.projections.push_back(std::inner_product(x.begin(), x.end(), v.begin(), v.size() > x.size() ? v[x.size()] : 0.0));
    s.terms[k] *= s.scale;
    s.others -= s.terms[k];
  }
  return s;
}

}  // namespace glint

#include "glint/spectra/even.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "glint/base/finite.h"

namespace glint {
namespace {

std::vector<float> negated(std::span<const float> values) {
  std::vector<float> out(values.size());
  std::ranges::transform(values, out.begin(), std::negate<>());
  return out;
}

double share(double even, double odd) { return even + odd > 0 ? even / (even + odd) : 1; }

}  // namespace

bool is_even(const GluLayerView& layer) { return gate_info(layer.gate.kind).text.parity == Parity::odd; }

Matrix<double> mirrored_outputs(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x) {
  const std::vector<float> left = negated(reader.layer.bias_left), right = negated(reader.layer.bias_right);
  GluLayerView mirror = reader.layer;
  mirror.bias_left = left, mirror.bias_right = right;
  Matrix<float> minus(x.rows(), x.cols());
  for (size_t i = 0; i < x.rows(); i++) std::ranges::transform(x.row(i), minus.view().row_ptr(i), std::negate<>());
  return layer_outputs({reader.linalg, reader.pool, mirror}, weights, minus);
}

EvenShare even_share(ConstMatrixView<double> outputs, ConstMatrixView<double> mirrored) {
  assert(outputs.rows() == mirrored.rows() && outputs.cols() == mirrored.cols());
  const size_t n = outputs.rows();
  EvenShare out;
  double all_even = 0, all_odd = 0;
  for (size_t u = 0; u < outputs.cols(); u++) {
    double mean = 0, even = 0, odd = 0;
    for (size_t i = 0; i < n; i++) mean += (outputs(i, u) + mirrored(i, u)) / 2;
    mean /= static_cast<double>(std::max<size_t>(n, 1));
    for (size_t i = 0; i < n; i++) {
      const double e = (outputs(i, u) + mirrored(i, u)) / 2 - mean, o = (outputs(i, u) - mirrored(i, u)) / 2;
      even += e * e, odd += o * o;
    }
    out.unit.push_back(share(even, odd));
    all_even += even, all_odd += odd;
  }
  if (!std::isfinite(all_even + all_odd)) throw_overflow("the even share of a layer");
  out.all = share(all_even, all_odd);
  return out;
}

EvenShare even_share(const LayerReader& reader, ConstMatrixView<double> weights, ConstMatrixView<float> x) {
  if (is_even(reader.layer)) return {.all = 1, .unit = std::vector<double>(weights.rows(), 1.0)};
  return even_share(layer_outputs(reader, weights, x), mirrored_outputs(reader, weights, x));
}

}  // namespace glint

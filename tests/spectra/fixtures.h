// What the tests of the spectra share: golden values, random matrices, and a layer that owns its weights.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "glint/base/rng.h"
#include "glint/spectra/forms.h"

namespace glint::fixtures {

inline nlohmann::json golden(const std::string& name = "spectra.json") {
  std::ifstream file(std::string(GLINT_GOLDEN_DIR) + "/" + name);
  return nlohmann::json::parse(file);
}

template <class T>
Matrix<T> to_matrix(const nlohmann::json& rows) {
  Matrix<T> m(rows.size(), rows.empty() ? 0 : rows[0].size());
  for (size_t r = 0; r < m.rows(); r++)
    for (size_t c = 0; c < m.cols(); c++) m(r, c) = static_cast<T>(rows[r][c].get<double>());
  return m;
}

template <class T = double>
Matrix<T> random_matrix(size_t rows, size_t cols, uint32_t sub) {
  Matrix<T> m(rows, cols);
  const Rng rng(17, Stream::test, sub);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = static_cast<T>(rng.normal(i));
  return m;
}

inline Matrix<double> random_symmetric(size_t n, uint32_t sub) {
  Matrix<double> m = random_matrix(n, n, sub);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) m(i, j) = m(j, i);
  return m;
}

// Row i is column i of an orthogonal matrix.
inline Matrix<double> random_orthonormal(const LinearAlgebra& linalg, size_t n, uint32_t sub) {
  return eigh(linalg, random_symmetric(n, sub)).vectors;
}

// sum_k values[k] v_k v_k', exactly symmetric.
inline Matrix<double> compose(std::span<const double> values, const Matrix<double>& vectors) {
  const size_t n = vectors.cols();
  Matrix<double> m(n, n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < values.size(); k++) sum += values[k] * vectors(k, i) * vectors(k, j);
      m(i, j) = m(j, i) = sum;
    }
  return m;
}

inline double norm(std::span<const double> v) {
  double s = 0;
  for (double x : v) s += x * x;
  return std::sqrt(s);
}

inline double dot(std::span<const double> a, std::span<const double> b) {
  double s = 0;
  for (size_t i = 0; i < a.size(); i++) s += a[i] * b[i];
  return s;
}

struct Layer {
  Matrix<float> left, right;
  std::vector<float> bias_left, bias_right;
  Gate gate;
  GluLayerView view() const { return {left, right, bias_left, bias_right, gate}; }
};

inline Layer random_layer(size_t hidden, size_t inputs, bool bias, GateKind kind, uint32_t sub = 100) {
  Layer layer{
      random_matrix<float>(hidden, inputs, sub), random_matrix<float>(hidden, inputs, sub + 1), {}, {}, Gate{kind, {}}};
  for (float& w : layer.left.span()) w /= std::sqrt(static_cast<float>(inputs));
  for (float& w : layer.right.span()) w /= std::sqrt(static_cast<float>(inputs));
  if (!bias) return layer;
  const Matrix<float> b = random_matrix<float>(2, hidden, sub + 2);
  layer.bias_left.assign(b.view().row(0).begin(), b.view().row(0).end());
  layer.bias_right.assign(b.view().row(1).begin(), b.view().row(1).end());
  return layer;
}

inline Matrix<double> widened(const WeightRows& w) {
  Matrix<double> out(w.rows(), w.cols());
  Matrix<float> buffer;
  w.widen(0, out, buffer);
  return out;
}

// The output of the layer itself, in double from the definitions.
inline double exact_output(const GluLayerView& layer, std::span<const double> q, std::span<const double> x) {
  const Matrix<double> left = widened(layer.left), right = widened(layer.right);
  double sum = 0;
  for (size_t h = 0; h < layer.hidden(); h++) {
    double l = layer.bias_left.empty() ? 0 : layer.bias_left[h], r = layer.bias_right.empty() ? 0 : layer.bias_right[h];
    for (size_t i = 0; i < layer.inputs(); i++) l += left(h, i) * x[i];
    for (size_t i = 0; i < layer.inputs(); i++) r += right(h, i) * x[i];
    sum += q[h] * gate_info(layer.gate.kind).value(l, layer.gate.params) * r;
  }
  return sum;
}

inline std::vector<LinalgBackend> backends() { return {LinalgBackend::openblas, LinalgBackend::eigen}; }

}  // namespace glint::fixtures

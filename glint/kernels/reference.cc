#include "glint/kernels/reference.h"

#include <cassert>
#include <cmath>

#include "glint/base/rng.h"

namespace glint::reference {
namespace {

// y += f x. Without the bounds check of each element, so that the shapes of training can be tested.
void add_scaled(double f, std::span<const double> x, std::span<double> y) {
  for (size_t j = 0; j < x.size(); j++) y[j] += f * x[j];
}

}  // namespace

Matrix<double> multiply(View a, View b) {
  assert(a.cols() == b.rows());
  Matrix<double> c(a.rows(), b.cols());
  for (size_t i = 0; i < a.rows(); i++)
    for (size_t k = 0; k < a.cols(); k++) add_scaled(a(i, k), b.row(k), c.view().row(i));
  return c;
}

Matrix<double> multiply_tn(View a, View b) {
  assert(a.rows() == b.rows());
  Matrix<double> c(a.cols(), b.cols());
  for (size_t k = 0; k < a.rows(); k++)
    for (size_t i = 0; i < a.cols(); i++) add_scaled(a(k, i), b.row(k), c.view().row(i));
  return c;
}

Matrix<double> transpose(View a) {
  Matrix<double> t(a.cols(), a.rows());
  for (size_t i = 0; i < a.rows(); i++)
    for (size_t j = 0; j < a.cols(); j++) t(j, i) = a(i, j);
  return t;
}

Matrix<double> gate_forward(const Gate& gate, View z) {
  const GateInfo& info = gate_info(gate.kind);
  const size_t h = z.cols() / 2;
  Matrix<double> y(z.rows(), h);
  for (size_t i = 0; i < z.rows(); i++)
    for (size_t j = 0; j < h; j++) y(i, j) = info.value(z(i, j), gate.params) * z(i, h + j);
  return y;
}

Matrix<double> gate_backward(const Gate& gate, View z, View dy) {
  const GateInfo& info = gate_info(gate.kind);
  const size_t h = z.cols() / 2;
  Matrix<double> dz(z.rows(), z.cols());
  for (size_t i = 0; i < z.rows(); i++) {
    for (size_t j = 0; j < h; j++) {
      dz(i, j) = dy(i, j) * z(i, h + j) * info.slope(z(i, j), gate.params);
      dz(i, h + j) = dy(i, j) * info.value(z(i, j), gate.params);
    }
  }
  return dz;
}

Xent softmax_xent(View logits, std::span<const uint32_t> labels, double scale) {
  Xent out{std::vector<double>(logits.rows()), std::vector<uint8_t>(logits.rows()),
           Matrix<double>(logits.rows(), logits.cols())};
  for (size_t i = 0; i < logits.rows(); i++) {
    size_t top = 0;
    for (size_t j = 1; j < logits.cols(); j++)
      if (logits(i, j) > logits(i, top)) top = j;
    double total = 0;
    for (size_t j = 0; j < logits.cols(); j++) total += std::exp(logits(i, j) - logits(i, top));
    out.loss[i] = std::log(total) - (logits(i, labels[i]) - logits(i, top));
    out.hit[i] = top == labels[i];
    for (size_t j = 0; j < logits.cols(); j++) {
      const double s = std::exp(logits(i, j) - logits(i, top)) / total;
      out.dlogits(i, j) = scale * (s - (j == labels[i] ? 1 : 0));
    }
  }
  return out;
}

Norm rmsnorm_forward(View x, double eps) {
  Norm out{Matrix<double>(x.rows(), x.cols()), std::vector<double>(x.rows())};
  for (size_t i = 0; i < x.rows(); i++) {
    double squares = 0;
    for (size_t j = 0; j < x.cols(); j++) squares += x(i, j) * x(i, j);
    out.inverse[i] = 1 / std::sqrt(squares / static_cast<double>(x.cols()) + eps);
    for (size_t j = 0; j < x.cols(); j++) out.y(i, j) = x(i, j) * out.inverse[i];
  }
  return out;
}

Matrix<double> rmsnorm_backward(View y, std::span<const double> inverse, View dy) {
  Matrix<double> dx(y.rows(), y.cols());
  for (size_t i = 0; i < y.rows(); i++) {
    double dot = 0;
    for (size_t j = 0; j < y.cols(); j++) dot += dy(i, j) * y(i, j);
    const double mean = dot / static_cast<double>(y.cols());
    for (size_t j = 0; j < y.cols(); j++) dx(i, j) = inverse[i] * (dy(i, j) - y(i, j) * mean);
  }
  return dx;
}

Matrix<double> add_rows(View x, View y) {
  Matrix<double> out(y.rows(), y.cols());
  for (size_t i = 0; i < y.rows(); i++)
    for (size_t j = 0; j < y.cols(); j++) out(i, j) = y(i, j) + x(i, j);
  return out;
}

Matrix<double> add_bias(std::span<const double> bias, View y) {
  Matrix<double> out(y.rows(), y.cols());
  for (size_t i = 0; i < y.rows(); i++)
    for (size_t j = 0; j < y.cols(); j++) out(i, j) = y(i, j) + bias[j];
  return out;
}

std::vector<double> column_sums(View x, std::span<const double> start) {
  std::vector<double> sums(start.begin(), start.end());
  for (size_t i = 0; i < x.rows(); i++)
    for (size_t j = 0; j < x.cols(); j++) sums[j] += x(i, j);
  return sums;
}

double sum(std::span<const double> x) {
  double total = 0;
  for (const double v : x) total += v;
  return total;
}

double sum_squares(std::span<const double> x) {
  double total = 0;
  for (const double v : x) total += v * v;
  return total;
}

void adamw(const AdamwStep& s, std::span<const double> g, std::span<double> m, std::span<double> v,
           std::span<double> p) {
  const double beta1 = s.beta1, beta2 = s.beta2, lr = s.lr;
  for (size_t i = 0; i < g.size(); i++) {
    const double grad = s.grad_scale * g[i];
    m[i] = beta1 * m[i] + s.rest1 * grad;
    v[i] = beta2 * v[i] + s.rest2 * grad * grad;
    p[i] = p[i] * (1 - lr * s.decay) -
           lr * (m[i] / s.correction1) / (std::sqrt(v[i] / s.correction2) + static_cast<double>(s.eps));
  }
}

std::vector<double> noisy_pixels(const NoiseKey& key, double std, std::span<const uint8_t> pixels) {
  const Rng rng(key.seed, Stream::noise, key.epoch);
  std::vector<double> out(pixels.size());
  for (size_t i = 0; i < pixels.size(); i++) {
    out[i] = pixels[i] / 255.0;
    if (std != 0) out[i] += std * rng.normal((uint64_t{key.sample} << 34) + i);
  }
  return out;
}

Matrix<double> linear_forward(View x, View w) { return multiply(x, transpose(w)); }

LayerGradient linear_backward(View x, View w, View dy) { return {multiply(dy, w), multiply_tn(dy, x)}; }

GluOutput glu_forward(const Gate& gate, View x, View w) {
  Matrix<double> z = linear_forward(x, w);
  Matrix<double> y = gate_forward(gate, z);
  return {std::move(z), std::move(y)};
}

LayerGradient glu_backward(const Gate& gate, View x, View w, View z, View dy) {
  return linear_backward(x, w, gate_backward(gate, z, dy));
}

double loss(View logits, std::span<const uint32_t> labels) {
  return sum(softmax_xent(logits, labels, 1).loss) / static_cast<double>(logits.rows());
}

}  // namespace glint::reference

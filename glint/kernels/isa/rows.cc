// Kernels along rows: softmax with cross-entropy, RMSNorm, sums.
#include "glint/kernels/isa/reduce.h"

namespace glint::GLINT_ISA {
namespace {

void softmax_xent(size_t rows, size_t n, const float* logits, size_t stride, const uint32_t* labels, float scale,
                  float* dlogits, size_t d_stride, float* loss, uint8_t* hit) {
  for (size_t i = 0; i < rows; i++) {
    const float* x = logits + i * stride;
    const size_t label = labels[i];
    const float top = row_max(n, x);
    const float total = reduce<float>(n, [&](size_t j) { return exp_below_zero(x[j] - top); });
    // -log softmax = log(total) - (x - top). NaN logits give a NaN loss: nothing here hides them.
    loss[i] = static_cast<float>(vmath::log(static_cast<double>(total))) - (x[label] - top);
    if (total != total) loss[i] = total;
    if (hit != nullptr) {
      size_t first = 0;  // the first of equal maxima, as argmax elsewhere
      while (first + 1 < n && !(x[first] == top)) first++;
      hit[i] = first == label && x[first] == top;
    }
    if (dlogits == nullptr) continue;
    float* d = dlogits + i * d_stride;
    const float factor = scale / total;
    for (size_t j = 0; j < n; j++) d[j] = exp_below_zero(x[j] - top) * factor;
    d[label] -= scale;
  }
}

void rmsnorm_forward(size_t rows, size_t n, const float* x, size_t x_stride, float eps, float* y, size_t y_stride,
                     float* inverse) {
  for (size_t i = 0; i < rows; i++) {
    const float* in = x + i * x_stride;
    float* out = y + i * y_stride;
    const float mean = reduce<float>(n, [&](size_t j) { return in[j] * in[j]; }) / static_cast<float>(n);
    const float inv = 1.0f / __builtin_sqrtf(mean + eps);
    for (size_t j = 0; j < n; j++) out[j] = in[j] * inv;
    inverse[i] = inv;
  }
}

void rmsnorm_backward(size_t rows, size_t n, const float* y, size_t y_stride, const float* inverse, const float* dy,
                      size_t dy_stride, float* dx, size_t dx_stride) {
  for (size_t i = 0; i < rows; i++) {
    const float* out = y + i * y_stride;
    const float* d = dy + i * dy_stride;
    float* in = dx + i * dx_stride;
    const float mean = reduce<float>(n, [&](size_t j) { return d[j] * out[j]; }) / static_cast<float>(n);
    for (size_t j = 0; j < n; j++) in[j] = inverse[i] * (d[j] - out[j] * mean);
  }
}

void add_rows(size_t rows, size_t n, const float* x, size_t x_stride, float* y, size_t y_stride) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) y[i * y_stride + j] += x[i * x_stride + j];
}

void add_bias(size_t rows, size_t n, const float* bias, float* y, size_t y_stride) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) y[i * y_stride + j] += bias[j];
}

void column_sums(size_t rows, size_t n, const float* x, size_t x_stride, float* sums) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) sums[j] += x[i * x_stride + j];
}

double sum(size_t n, const float* x) {
  return reduce<double>(n, [&](size_t j) { return static_cast<double>(x[j]); });
}

double sum_squares(size_t n, const float* x) {
  return reduce<double>(n, [&](size_t j) { return static_cast<double>(x[j]) * x[j]; });
}

}  // namespace

void fill_rows(Kernels& table) {
  table.softmax_xent = &softmax_xent;
  table.rmsnorm_forward = &rmsnorm_forward;
  table.rmsnorm_backward = &rmsnorm_backward;
  table.add_rows = &add_rows;
  table.add_bias = &add_bias;
  table.column_sums = &column_sums;
  table.sum = &sum;
  table.sum_squares = &sum_squares;
}

}  // namespace glint::GLINT_ISA

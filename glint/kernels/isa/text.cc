// Kernels of the language model: rotary positions, causal softmax, cross-entropy over a vocabulary.
#include "glint/kernels/isa/reduce.h"

namespace glint::GLINT_ISA {
namespace {

void rotary(size_t rows, size_t heads, size_t half, const float* __restrict cos, const float* __restrict sin, bool back,
            float* __restrict x, size_t stride) {
  const float sign = back ? -1.0f : 1.0f;
  for (size_t i = 0; i < rows; i++, cos += half, sin += half) {
    for (size_t h = 0; h < heads; h++) {
      float* __restrict a = x + i * stride + 2 * h * half;
      float* __restrict b = a + half;
      for (size_t j = 0; j < half; j++) {
        const float s = sign * sin[j], left = a[j], right = b[j];
        a[j] = left * cos[j] - right * s;
        b[j] = right * cos[j] + left * s;
      }
    }
  }
}

// x becomes exp(x - top); returns the sum.
GLINT_INLINE float exp_row(size_t n, float* x, float top) {
  return reduce<float>(n, [&](size_t j) {
    const float e = exp_below_zero(x[j] - top);
    x[j] = e;
    return e;
  });
}

// The columns to compute so that no scalar loop remains for the last of n: whole vectors where there is room.
GLINT_INLINE size_t whole(size_t n, size_t width) {
  const size_t up = (n + kParts - 1) / kParts * kParts;
  return up < width ? up : n < width ? width : n;
}

void causal_softmax(size_t rows, size_t visible, size_t width, float* x, size_t stride, float* __restrict lse,
                    float* __restrict inverse) {
  for (size_t i = 0; i < rows; i++, x += stride) {
    const size_t n = visible + i < width ? visible + i : width, computed = whole(n, width);
    // What the row does not see adds exp(-87) to a sum of at least 1: nothing.
    for (size_t j = n; j < computed; j++) x[j] = -__builtin_inff();
    const float top = row_max(computed, x);
    const float total = exp_row(computed, x, top);
    for (size_t j = n; j < width; j++) x[j] = 0;
    lse[i] = top;
    inverse[i] = total;
  }
  // The rest for all rows at once, as vectors.
  for (size_t i = 0; i < rows; i++) {
    const float total = inverse[i];
    const float log = static_cast<float>(vmath::log(static_cast<double>(total)));
    lse[i] = total == total ? lse[i] + log : total;
    inverse[i] = 1.0f / total;
  }
}

void causal_softmax_backward(size_t rows, size_t visible, size_t width, const float* lse, const float* dot,
                             float* __restrict x, float* __restrict dp, size_t stride) {
  for (size_t i = 0; i < rows; i++, x += stride, dp += stride) {
    const size_t n = visible + i < width ? visible + i : width, computed = whole(n, width);
    const float shift = lse[i], mean = dot[i];
    for (size_t j = 0; j < computed; j++) {
      // Rounding may leave x a little above lse; exp is good for that as well.
      const float p = exp_below_zero(x[j] - shift);
      x[j] = p;
      dp[j] = p * (dp[j] - mean);
    }
    for (size_t j = n; j < width; j++) x[j] = dp[j] = 0;
  }
}

void row_dots(size_t rows, size_t n, const float* a, size_t a_stride, const float* b, size_t b_stride, float* dots) {
  for (size_t i = 0; i < rows; i++, a += a_stride, b += b_stride)
    dots[i] = reduce<float>(n, [&](size_t j) { return a[j] * b[j]; });
}

void scale_rows(size_t rows, size_t n, const float* factor, const float* x, size_t x_stride, float* y,
                size_t y_stride) {
  for (size_t i = 0; i < rows; i++, x += x_stride, y += y_stride) {
    const float f = factor[i];
    GLINT_IVDEP
    for (size_t j = 0; j < n; j++) y[j] = f * x[j];
  }
}

void exp_rows(size_t rows, size_t n, float* x, size_t stride, float* top, float* sum) {
  for (size_t i = 0; i < rows; i++, x += stride) {
    top[i] = row_max(n, x);
    sum[i] = exp_row(n, x, top[i]);
  }
}

void xent_from_blocks(size_t rows, size_t blocks, size_t stride, const float* top, float* sum, const float* target,
                      float* loss) {
  for (size_t i = 0; i < rows; i++) {
    float largest = top[i], total = 0;
    for (size_t b = 1; b < blocks; b++) largest = top[b * stride + i] > largest ? top[b * stride + i] : largest;
    for (size_t b = 0; b < blocks; b++) total += sum[b * stride + i] * exp_below_zero(top[b * stride + i] - largest);
    loss[i] = static_cast<float>(vmath::log(static_cast<double>(total))) - (target[i] - largest);
    if (total != total) loss[i] = total;
    const float share = 1.0f / total;
    for (size_t b = 0; b < blocks; b++) sum[b * stride + i] = exp_below_zero(top[b * stride + i] - largest) * share;
  }
}

}  // namespace

void fill_text(Kernels& table) {
  table.rotary = &rotary;
  table.causal_softmax = &causal_softmax;
  table.causal_softmax_backward = &causal_softmax_backward;
  table.row_dots = &row_dots;
  table.scale_rows = &scale_rows;
  table.exp_rows = &exp_rows;
  table.xent_from_blocks = &xent_from_blocks;
}

}  // namespace glint::GLINT_ISA

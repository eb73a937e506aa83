// The fused gate of a GLU, forward and backward: one pass each over l and r. One loop per gate,
// made from the table of gates.
#include "glint/kernels/gelu_float.h"
#include "glint/kernels/isa/level.h"

namespace glint::GLINT_ISA {
namespace {

template <class G>
void forward(const GateParams& params, size_t rows, size_t h, const float* left, size_t l_stride, const float* right,
             size_t r_stride, float* y, size_t y_stride) {
  with_functor<G>(params, [&](const auto gate) {
    for (size_t i = 0; i < rows; i++) {
      const float* __restrict l = left + i * l_stride;
      const float* __restrict r = right + i * r_stride;
      float* __restrict out = y + i * y_stride;
      for (size_t j = 0; j < h; j++) out[j] = gate(l[j]).value * r[j];
    }
  });
}

template <class G>
void backward(const GateParams& params, size_t rows, size_t h, const float* left, size_t l_stride, const float* right,
              size_t r_stride, const float* dy, size_t dy_stride, float* d_left, size_t dl_stride, float* d_right,
              size_t dr_stride) {
  with_functor<G>(params, [&](const auto gate) {
    for (size_t i = 0; i < rows; i++) {
      const float* l = left + i * l_stride;
      const float* r = right + i * r_stride;
      const float* d = dy + i * dy_stride;
      float* dl = d_left + i * dl_stride;
      float* dr = d_right + i * dr_stride;
      // dl may be l and dr may be r: every element is read before the same element is written.
      GLINT_IVDEP
      for (size_t j = 0; j < h; j++) {
        const ValueAndSlope g = gate(l[j]);
        const float grad = d[j];
        const float by_slope = grad * r[j] * g.slope, by_value = grad * g.value;
        dl[j] = by_slope;
        dr[j] = by_value;
      }
    }
  });
}

template <class G>
void apply(const GateParams& params, size_t n, const float* __restrict l, float* __restrict value,
           float* __restrict slope) {
  with_functor<G>(params, [&](const auto gate) {
    if (slope == nullptr) {
      for (size_t j = 0; j < n; j++) value[j] = gate(l[j]).value;
    } else if (value == nullptr) {
      for (size_t j = 0; j < n; j++) slope[j] = gate(l[j]).slope;
    } else {
      for (size_t j = 0; j < n; j++) {
        const ValueAndSlope g = gate(l[j]);
        value[j] = g.value;
        slope[j] = g.slope;
      }
    }
  });
}

template <class G>
void fill_gate(Kernels& table, GateKind kind) {
  table.glu_forward[static_cast<int>(kind)] = &forward<G>;
  table.glu_backward[static_cast<int>(kind)] = &backward<G>;
  table.gate_apply[static_cast<int>(kind)] = &apply<G>;
}

}  // namespace

void fill_glu(Kernels& table) {
#define GLINT_FILL(G) fill_gate<G>(table, GateKind::G);
  GLINT_GATES(GLINT_FILL)
#undef GLINT_FILL
  fill_gate<GeluFloat>(table, kGeluFloat);
}

}  // namespace glint::GLINT_ISA

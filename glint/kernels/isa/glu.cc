// The fused gate of a GLU, forward and backward: one pass each over l and r. A loop a gate, made from the
// table of gates.
#include "glint/kernels/isa/level.h"

namespace glint::GLINT_ISA {
namespace {

template <class G>
void forward(const GateParams& params, size_t rows, size_t h, const float* z, size_t z_stride, float* y,
             size_t y_stride) {
  with_functor<G>(params, [&](const auto gate) {
    for (size_t i = 0; i < rows; i++) {
      const float* __restrict l = z + i * z_stride;
      const float* __restrict r = l + h;
      float* __restrict out = y + i * y_stride;
      for (size_t j = 0; j < h; j++) out[j] = gate(l[j]).value * r[j];
    }
  });
}

template <class G>
void backward(const GateParams& params, size_t rows, size_t h, const float* z, size_t z_stride,
              const float* dy, size_t dy_stride, float* dz, size_t dz_stride) {
  with_functor<G>(params, [&](const auto gate) {
    for (size_t i = 0; i < rows; i++) {
      const float* l = z + i * z_stride;
      const float* r = l + h;
      const float* d = dy + i * dy_stride;
      float* dl = dz + i * dz_stride;
      float* dr = dl + h;
      // dz may be z itself: every element is read before the same element is written.
      GLINT_IVDEP
      for (size_t j = 0; j < h; j++) {
        const ValueAndSlope g = gate(l[j]);
        const float grad = d[j];
        const float left = grad * r[j] * g.slope, right = grad * g.value;
        dl[j] = left;
        dr[j] = right;
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
}

}  // namespace glint::GLINT_ISA

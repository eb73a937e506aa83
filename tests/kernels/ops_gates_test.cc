// The fused gates of a GLU: operations of the table.
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kGateRows = 5;

struct GateInput {
  Gate gate;  // options as floats hold them
  Shape shape;
  Guarded<float> z, dy;
  Matrix<double> z_double, dy_double;

  GateInput(const Gate& g, const Shape& s)
      : gate{g.kind, as_floats(g.params)},
        shape(s),
        z(random_matrix(1, s.rows, 2 * s.cols, 3), s.pad),
        dy(random_matrix(2, s.rows, s.cols), s.pad + 1),
        z_double(to_double(z.view())),
        dy_double(to_double(dy.view())) {}
};

// y = gate r: the gate within 4 ulp (8 u), one product (1 u); a denormal gate is off by up to 4 kTiny.
Case forward_case(const Gate& gate, const Shape& shape) {
  const auto in = std::make_shared<GateInput>(gate, shape);
  Case test;
  test.run = [in](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y(in->shape.rows, in->shape.cols, in->shape.pad);
    for_row_tiles(pool, in->shape.rows, kGateRows, [&](size_t first, size_t count, size_t) {
      target.kernels().glu_forward[static_cast<int>(in->gate.kind)](
          in->gate.params, count, in->shape.cols, in->z.view().row_ptr(first), in->z.view().stride(),
          in->z.view().row_ptr(first) + in->shape.cols, in->z.view().stride(), y.view().row_ptr(first),
          y.view().stride());
    });
    return std::vector<Output>{output("y", y)};
  };
  Matrix<double> y = reference::gate_forward(in->gate, in->z_double);
  Matrix<double> bound = y;
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++)
      bound(i, j) =
          (kValueError + 1.01 * kU) * std::fabs(y(i, j)) + 4 * kTiny * (1 + std::fabs(in->z_double(i, shape.cols + j)));
  test.expected.push_back({std::move(y), std::move(bound)});
  return test;
}

// dl = dy r slope: the slope within its bound, three products (3 u). dr = dy gate as above. With `in_place`,
// dz is z.
Case backward_case(const Gate& gate, const Shape& shape, bool in_place) {
  const auto in = std::make_shared<GateInput>(gate, shape);
  Case test;
  test.run = [in, in_place](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> dz = in_place ? in->z : Guarded<float>(in->shape.rows, 2 * in->shape.cols, in->shape.pad + 2);
    const ConstMatrixView<float> z = in_place ? ConstMatrixView<float>(dz.view()) : std::as_const(in->z).view();
    for_row_tiles(pool, in->shape.rows, kGateRows, [&](size_t first, size_t count, size_t) {
      target.kernels().glu_backward[static_cast<int>(in->gate.kind)](
          in->gate.params, count, in->shape.cols, z.row_ptr(first), z.stride(), z.row_ptr(first) + in->shape.cols,
          z.stride(), in->dy.view().row_ptr(first), in->dy.view().stride(), dz.view().row_ptr(first),
          dz.view().stride(), dz.view().row_ptr(first) + in->shape.cols, dz.view().stride());
    });
    return std::vector<Output>{output("dz", dz)};
  };
  Matrix<double> dz = reference::gate_backward(in->gate, in->z_double, in->dy_double);
  Matrix<double> bound = dz;
  const size_t h = shape.cols;
  for (size_t i = 0; i < shape.rows; i++) {
    for (size_t j = 0; j < h; j++) {
      const double dy = std::fabs(in->dy_double(i, j)), dyr = dy * std::fabs(in->z_double(i, h + j));
      bound(i, j) = 3 * kU * std::fabs(dz(i, j)) + 4 * kTiny +
                    1.01 * dyr * slope_bound(gate_info(in->gate.kind), in->z_double(i, j), in->gate.params);
      bound(i, h + j) = (kValueError + 1.01 * kU) * std::fabs(dz(i, h + j)) + 4 * kTiny * (1 + dy);
    }
  }
  test.expected.push_back({std::move(dz), std::move(bound)});
  return test;
}

}  // namespace

std::vector<Op> gate_ops() {
  std::vector<std::pair<std::string, Gate>> gates;
  for (int i = 0; i < kGateCount; i++) gates.emplace_back(gate_names()[i], Gate{static_cast<GateKind>(i), {}});
  gates.emplace_back("sqs_p2", Gate{GateKind::Sqs, {.c = 0.5, .lambda = 0.5, .p = 2}});
  gates.emplace_back("sqs_unshrunk", Gate{GateKind::Sqs, {.c = 0.5, .lambda = 0, .p = 1}});
  std::vector<Op> ops;
  for (const auto& [name, gate] : gates) {
    ops.push_back({"glu_forward_" + name, every_isa(), row_shapes(0),
                   [gate = gate](const Shape& s) { return forward_case(gate, s); }});
    ops.push_back({"glu_backward_" + name, every_isa(), row_shapes(0),
                   [gate = gate](const Shape& s) { return backward_case(gate, s, false); }});
    ops.push_back({"glu_backward_in_place_" + name, every_isa(), row_shapes(0, false),
                   [gate = gate](const Shape& s) { return backward_case(gate, s, true); }});
  }
  return ops;
}

}  // namespace glint::model_testing

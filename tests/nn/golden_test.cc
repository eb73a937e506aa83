// One GLU layer against PyTorch: tests/golden/glu.json, made by make_glu.py in float64.
#include <fstream>
#include <nlohmann/json.hpp>

#include "glint/kernels/reference.h"
#include "glint/nn/glu.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

nlohmann::json golden() {
  std::ifstream file(std::string(GLINT_GOLDEN_DIR) + "/glu.json");
  return nlohmann::json::parse(file);
}

Matrix<double> matrix(const nlohmann::json& rows) {
  Matrix<double> m(rows.size(), rows.at(0).size());
  for (size_t i = 0; i < m.rows(); i++)
    for (size_t j = 0; j < m.cols(); j++) m(i, j) = rows.at(i).at(j).get<double>();
  return m;
}

Gate gate_of(const nlohmann::json& c) {
  Gate gate{parse_gate(c.at("gate").get<std::string>()), {}};
  const nlohmann::json& p = c.at("params");
  gate.params = {p.value("c", gate.params.c), p.value("lambda", gate.params.lambda), p.value("p", gate.params.p)};
  return gate;
}

// Relative to the largest number of the tensor.
template <class T>
void expect_near(const Matrix<T>& got, const Matrix<double>& want, double relative, const std::string& what) {
  ASSERT_EQ(got.rows(), want.rows()) << what;
  ASSERT_EQ(got.cols(), want.cols()) << what;
  double largest = 0;
  for (const double v : want.span()) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < want.size(); i++)
    EXPECT_LE(std::fabs(static_cast<double>(got.span()[i]) - want.span()[i]), relative * largest)
        << what << ", element " << i;
}

TEST(Golden, EveryGateIsThere) {
  std::vector<bool> seen(kGateCount);
  const nlohmann::json g = golden();
  for (const auto& c : g.at("cases")) seen[static_cast<size_t>(gate_of(c).kind)] = true;
  for (int i = 0; i < kGateCount; i++)
    EXPECT_TRUE(seen[static_cast<size_t>(i)]) << gate_names()[static_cast<size_t>(i)];
}

TEST(Golden, DoubleReference) {
  const nlohmann::json g = golden();
  const Matrix<double> x = matrix(g.at("x")), w = matrix(g.at("w")), dy = matrix(g.at("dy"));
  for (const auto& c : g.at("cases")) {
    const Gate gate = gate_of(c);
    const reference::GluOutput out = reference::glu_forward(gate, x, w);
    const reference::LayerGradient grad = reference::glu_backward(gate, x, w, out.z, dy);
    const std::string what = c.at("gate");
    expect_near(out.y, matrix(c.at("y")), 1e-12, what + " y");
    expect_near(grad.dx, matrix(c.at("dx")), 1e-12, what + " dx");
    expect_near(grad.dw, matrix(c.at("dw")), 1e-12, what + " dW");
  }
}

// 7 to 12 terms a sum and about ten roundings around it: 25 u is 1.5e-6 of sum|terms|, which is here at most
// five times the largest result; together below 1e-5.
TEST(Golden, FloatKernels) {
  const nlohmann::json g = golden();
  const Matrix<float> x = to_float(matrix(g.at("x"))), w = to_float(matrix(g.at("w"))),
                      dy = to_float(matrix(g.at("dy")));
  ThreadPool pool(2);
  Scratch scratch(2);
  for (const Isa isa : runnable_isas(cpu())) {
    const Products products(kernels(isa));
    const Compute compute{products, pool, scratch};
    for (const auto& c : g.at("cases")) {
      const Gate gate = gate_of(c);
      PackedWeights packed(products, w.rows(), w.cols());
      packed.pack_all(compute, w);
      Matrix<float> z(x.rows(), w.rows()), y(x.rows(), w.rows() / 2), dx(x.rows(), x.cols()), dw(w.rows(), w.cols());
      glu_layer_forward(compute, gate, packed, x, z, y);
      glu_layer_backward(compute, gate, packed, x, z, dy, dx, dw);
      const std::string what = c.at("gate").get<std::string>() + " on " + std::string(name(isa));
      expect_near(y, matrix(c.at("y")), 1e-5, what + " y");
      expect_near(dx, matrix(c.at("dx")), 1e-5, what + " dx");
      expect_near(dw, matrix(c.at("dw")), 1e-5, what + " dW");
    }
  }
}

}  // namespace
}  // namespace glint::model_testing

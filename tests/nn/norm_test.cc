// The RMS norm as a pair: against the double reference, finite differences, and PyTorch
// (tests/golden/norm.json).
#include "glint/nn/norm.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/nn/layers.h"

namespace glint::model_testing {
namespace {

struct Pair {
  Guarded<float> u, dx;
  Matrix<float> inverse;
};

// Rows of different size; one so small that eps matters.
Matrix<float> rows_of(size_t rows, size_t d) {
  Matrix<float> x = random_matrix(1, rows, d);
  for (size_t i = 0; i < rows; i++)
    for (float& v : x.view().row(i)) v *= i % 4 == 1 ? 1e-4f : i % 4 == 2 ? 1000.0f : 1.0f;
  return x;
}

Pair run(const Kernels& k, ConstMatrixView<float> x, ConstMatrixView<float> du) {
  Pair p{{x.rows(), x.cols(), 3}, {du, 5}, {1, x.rows()}};
  norm_forward(k, x, p.u.view(), p.inverse.span());
  norm_backward(k, p.u.view(), p.inverse.span(), p.dx.view(), p.dx.view());  // in place
  return p;
}

// u: the mean square is off by (d + 2) u, the inverse root by half of that and four roundings. dx: the mean
// of du u is off by (d + 2) u of mean|du u| and by what u is off; then a product, a difference and a product.
void expect_near(const Pair& got, const Matrix<double>& u, const Matrix<double>& dx, std::span<const double> inverse,
                 const Matrix<double>& du, const std::string& what) {
  ASSERT_TRUE(got.u.intact() && got.dx.intact()) << what;
  const double d = static_cast<double>(u.cols()), relative = kU * ((d + 3) / 2 + 4);
  for (size_t i = 0; i < u.rows(); i++) {
    double size = 0;
    for (size_t j = 0; j < u.cols(); j++) size += std::fabs(u(i, j) * du(i, j)) / d;
    for (size_t j = 0; j < u.cols(); j++) {
      ASSERT_NEAR(got.u.view()(i, j), u(i, j), relative * std::fabs(u(i, j)) + kTiny) << what;
      const double terms = std::fabs(du(i, j)) + 3 * std::fabs(u(i, j)) * size;
      ASSERT_NEAR(got.dx.view()(i, j), dx(i, j), (2 * relative + 3 * kU) * inverse[i] * terms) << what;
    }
  }
}

TEST(Norm, MatchesTheReference) {
  for (const Isa isa : runnable_isas(cpu()))
    for (const auto& [rows, d] : {std::pair<size_t, size_t>{0, 3}, {1, 1}, {5, 7}, {6, 64}, {9, 133}}) {
      const Matrix<float> x = rows_of(rows, d), du = random_matrix(2, rows, d);
      const reference::Norm want = reference::rmsnorm_forward(to_double(x), kNormEps);
      const Matrix<double> dx = reference::rmsnorm_backward(want.y, want.inverse, to_double(du));
      expect_near(run(kernels(isa), x, du), want.y, dx, want.inverse, to_double(du),
                  std::string(name(isa)) + " " + std::to_string(rows) + " x " + std::to_string(d));
    }
}

// The gradient of <u, du> by central differences of the reference. A row of length 1e-4 takes steps of its
// own size: with steps of 1e-5 |x| the differences are right to 1e-9 of the gradient's size.
TEST(Norm, BackwardIsTheGradient) {
  const Matrix<float> x = rows_of(5, 9), du = random_matrix(2, 5, 9);
  const Matrix<double> weight = to_double(du);
  const Pair got = run(kernels(cpu().best), x, du);
  for (size_t i = 0; i < x.rows(); i++) {
    double length = 0, largest = 0;
    for (const float v : x.view().row(i)) length = std::max(length, std::fabs(static_cast<double>(v)));
    for (const float v : std::as_const(got.dx).view().row(i))
      largest = std::max(largest, std::fabs(static_cast<double>(v)));
    for (size_t j = 0; j < x.cols(); j++) {
      const double step = 1e-5 * length;
      const auto loss = [&](double moved) {
        Matrix<double> at = to_double(x);
        at(i, j) += moved;
        const reference::Norm norm = reference::rmsnorm_forward(at, kNormEps);
        double total = 0;
        for (size_t c = 0; c < at.cols(); c++) total += norm.y(i, c) * weight(i, c);
        return total;
      };
      EXPECT_NEAR(got.dx.view()(i, j), (loss(step) - loss(-step)) / (2 * step), 30 * kU * largest) << i << ", " << j;
    }
  }
}

TEST(Norm, MatchesPyTorch) {
  std::ifstream file(std::string(GLINT_GOLDEN_DIR) + "/norm.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const auto matrix = [&](const char* key) {
    const nlohmann::json& rows = golden.at(key);
    Matrix<double> m(rows.size(), rows.at(0).size());
    for (size_t i = 0; i < m.rows(); i++)
      for (size_t j = 0; j < m.cols(); j++) m(i, j) = rows.at(i).at(j).get<double>();
    return m;
  };
  const Matrix<double> x = matrix("x"), du = matrix("du"), u = matrix("u"), dx = matrix("dx");
  // PyTorch's eps is the double 1e-8; ours is the float next to it, 6e-17 away.
  const reference::Norm reference = reference::rmsnorm_forward(x, 1e-8);
  const Matrix<double> back = reference::rmsnorm_backward(reference.y, reference.inverse, du);
  for (size_t i = 0; i < x.size(); i++) {
    EXPECT_NEAR(reference.y.span()[i], u.span()[i], 1e-14 * std::fabs(u.span()[i]));
    EXPECT_NEAR(back.span()[i], dx.span()[i], 1e-12 * reference.inverse[i / x.cols()]);
  }
  for (const Isa isa : runnable_isas(cpu()))
    expect_near(run(kernels(isa), to_float(x), to_float(du)), u, dx, reference.inverse, du,
                "PyTorch, " + std::string(name(isa)));
}

TEST(Norm, ZerosStayZeros) {
  const Matrix<float> zero(2, 5), du = random_matrix(2, 2, 5);
  for (const Isa isa : runnable_isas(cpu())) {
    const Pair got = run(kernels(isa), zero, du);
    for (size_t j = 0; j < 5; j++) EXPECT_EQ(got.u.view()(1, j), 0.0f);
    EXPECT_FLOAT_EQ(got.inverse(0, 1), 1e4f);
  }
}

}  // namespace
}  // namespace glint::model_testing

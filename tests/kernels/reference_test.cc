// The reference's backward passes against finite differences of its forward passes, in double.
#include "glint/kernels/reference.h"

#include <functional>

#include "tests/kernels/testing.h"

namespace glint::model_testing {
namespace {

Matrix<double> random_double(uint32_t what, size_t rows, size_t cols, double scale = 1) {
  return to_double(random_matrix(what, rows, cols, scale));
}

double dot(const Matrix<double>& a, const Matrix<double>& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); i++) total += a.span()[i] * b.span()[i];
  return total;
}

// d f / d x by central differences of fourth order: truncation h^4 / 30 of the fifth derivative, rounding
// 2^-53 / h. With h = 1e-3 both are far below 1e-7 of the largest gradient.
void expect_gradient(const std::function<double(const Matrix<double>&)>& f, const Matrix<double>& x,
                     const Matrix<double>& gradient, const std::string& what, double h = 1e-3) {
  ASSERT_EQ(x.size(), gradient.size());
  double largest = 0;
  for (const double g : gradient.span()) largest = std::max(largest, std::fabs(g));
  ASSERT_GT(largest, 0) << what;
  for (size_t i = 0; i < x.size(); i++) {
    const auto at = [&](double step) {
      Matrix<double> moved = x;
      moved.span()[i] += step;
      return f(moved);
    };
    const double numeric = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    EXPECT_LE(std::fabs(numeric - gradient.span()[i]), 1e-7 * largest) << what << ", element " << i;
  }
}

TEST(ReferenceGradients, Linear) {
  const Matrix<double> x = random_double(1, 4, 6), w = random_double(2, 5, 6), dy = random_double(3, 4, 5);
  const reference::LayerGradient g = reference::linear_backward(x, w, dy);
  expect_gradient([&](const auto& v) { return dot(reference::linear_forward(v, w), dy); }, x, g.dx, "dx");
  expect_gradient([&](const auto& v) { return dot(reference::linear_forward(x, v), dy); }, w, g.dw, "dW");
}

void check_glu(const Gate& gate) {
  constexpr double kStep = 1e-3;
  // No pre-activation may cross 0, where gates jump or bend: take the first inputs that keep away from it.
  for (uint32_t attempt = 0; attempt < 100; attempt++) {
    const Matrix<double> x = random_double(100 + attempt, 4, 6), w = random_double(200 + attempt, 10, 6, 0.6);
    const Matrix<double> dy = random_double(3, 4, 5);
    const reference::GluOutput out = reference::glu_forward(gate, x, w);
    double nearest = 1;
    for (size_t i = 0; i < 4; i++)
      for (size_t j = 0; j < 5; j++) nearest = std::min(nearest, std::fabs(out.z(i, j)));
    if (nearest < 20 * kStep) continue;  // a step moves z by at most 2 kStep max(|x|, |w|)
    const reference::LayerGradient g = reference::glu_backward(gate, x, w, out.z, dy);
    // Powers p < 1 have large derivatives near 0: a smaller step.
    const double h = kStep / 10;
    expect_gradient([&](const auto& v) { return dot(reference::glu_forward(gate, v, w).y, dy); }, x, g.dx, "dx", h);
    expect_gradient([&](const auto& v) { return dot(reference::glu_forward(gate, x, v).y, dy); }, w, g.dw, "dW", h);
    return;
  }
  FAIL() << "no inputs away from 0";
}

TEST(ReferenceGradients, GluLayerWithEveryGate) {
  for (int i = 0; i < kGateCount; i++) {
    SCOPED_TRACE(gate_names()[i]);
    check_glu({static_cast<GateKind>(i), {}});
  }
  for (const GateParams& g : {GateParams{0.5, 0.5, 2}, GateParams{-0.3, 3, 0.5}, GateParams{0.5, 0, 1}}) {
    SCOPED_TRACE("p = " + std::to_string(g.p));
    check_glu({GateKind::Sqs, g});
  }
}

TEST(ReferenceGradients, Loss) {
  const Matrix<double> logits = random_double(1, 5, 10, 2);
  const std::vector<uint32_t> labels = {0, 9, 3, 3, 7};
  const reference::Xent xent = reference::softmax_xent(logits, labels, 1.0 / 5);
  expect_gradient([&](const auto& v) { return reference::loss(v, labels); }, logits, xent.dlogits, "dlogits");
  // A softmax sums to 1: the gradient of a row sums to 0.
  for (size_t i = 0; i < 5; i++) EXPECT_NEAR(reference::sum(xent.dlogits.view().row(i)), 0, 1e-15);
}

TEST(ReferenceGradients, RmsNorm) {
  const double eps = 1e-2;  // large enough to matter
  const Matrix<double> x = random_double(1, 3, 7), dy = random_double(2, 3, 7);
  const reference::Norm norm = reference::rmsnorm_forward(x, eps);
  const Matrix<double> dx = reference::rmsnorm_backward(norm.y, norm.inverse, dy);
  expect_gradient([&](const auto& v) { return dot(reference::rmsnorm_forward(v, eps).y, dy); }, x, dx, "dx");
}

TEST(ReferenceGradients, Attention) {
  const Matrix<double> q = random_double(1, 5, 4), k = random_double(2, 5, 4), v = random_double(3, 5, 4),
                       dy = random_double(4, 5, 4);
  const double s = 0.7;
  const reference::AttentionGradient g = reference::attention_backward(q, k, v, s, dy);
  const auto f = [&](const auto& a, const auto& b, const auto& c) {
    return dot(reference::attention_forward(a, b, c, s), dy);
  };
  expect_gradient([&](const auto& x) { return f(x, k, v); }, q, g.dq, "dq");
  expect_gradient([&](const auto& x) { return f(q, x, v); }, k, g.dk, "dk");
  expect_gradient([&](const auto& x) { return f(q, k, x); }, v, g.dv, "dv");
}

// The gradient of a rotation is the rotation back: <R x, y> = <x, R' y>.
TEST(ReferenceGradients, Rotary) {
  const Matrix<double> x = random_double(1, 3, 12), y = random_double(2, 3, 12), cos = random_double(3, 3, 2),
                       sin = random_double(4, 3, 2);
  EXPECT_NEAR(dot(reference::rotary(x, 3, cos, sin, false), y), dot(x, reference::rotary(y, 3, cos, sin, true)), 1e-12);
}

// By hand: t = 1, beta 0.9 and 0.99, g = 2 from zero moments. m = 0.2, v = 0.04; corrected 2 and 4: a step of
// lr.
TEST(Reference, AdamwFirstStepIsTheLearningRate) {
  const AdamwStep step = {.lr = 0.5f,
                          .beta1 = 0.9f,
                          .beta2 = 0.99f,
                          .eps = 0,
                          .decay = 0.25f,
                          .rest1 = 0.1f,
                          .rest2 = 0.01f,
                          .correction1 = 1 - 0.9f,
                          .correction2 = 1 - 0.99f,
                          .grad_scale = 1};
  std::vector<double> g = {2, -3}, m(2), v(2), p = {8, 8};
  reference::adamw(step, g, m, v, p);
  EXPECT_NEAR(m[0], 0.2, 1e-7);
  EXPECT_NEAR(v[0], 0.04, 1e-7);
  EXPECT_NEAR(p[0], 8 * (1 - 0.125) - 0.5, 1e-6);
  EXPECT_NEAR(p[1], 8 * (1 - 0.125) + 0.5, 1e-6);
}

TEST(Reference, ProductsByHand) {
  Matrix<double> a(2, 2), b(2, 2);
  for (size_t i = 0; i < 4; i++) a.span()[i] = static_cast<double>(i + 1), b.span()[i] = static_cast<double>(i + 5);
  const std::vector<double> ab = {19, 22, 43, 50}, atb = {26, 30, 38, 44};
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(reference::multiply(a, b).span()[i], ab[i]);
    EXPECT_EQ(reference::multiply_tn(a, b).span()[i], atb[i]);
  }
}

}  // namespace
}  // namespace glint::model_testing

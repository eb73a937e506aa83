// Causal attention and rotary positions against the double reference, on every level.
#include "glint/nn/attention.h"

#include "glint/kernels/reference.h"
#include "glint/model/rotary_scaling.h"
#include "glint/nn/rotary.h"
#include "tests/kernels/testing.h"

namespace glint {
namespace {

using namespace model_testing;

double largest(const Matrix<double>& m) {
  double v = 0;
  for (const double x : m.span()) v = std::max(v, std::fabs(x));
  return v;
}
// The largest length of a row.
double longest(const Matrix<double>& m) {
  double v = 0;
  for (const double x : reference::row_dots(m, m)) v = std::max(v, std::sqrt(x));
  return v;
}

void expect_near(ConstMatrixView<float> got, const Matrix<double>& want, double bound, const std::string& what) {
  for (size_t i = 0; i < want.rows(); i++)
    for (size_t j = 0; j < want.cols(); j++)
      ASSERT_NEAR(got(i, j), want(i, j), bound) << what << " at " << i << ", " << j;
}

Matrix<double> head_part(ConstMatrixView<float> m, size_t first, size_t count) {
  return to_double(m.col_range(first, count));
}

RotaryTable turns(size_t context, size_t n) { return {context, rotary_frequencies(10000, {}, n)}; }

// A score is off by (n + 1) u |q| |k|, n the width of a head; with e that error, p is off by p (2 e + (t + 6)
// u). y adds t u, dp (n + 1) u |dy| |v|; ds is off by its factors' errors, and its sums by t u each.
// Heads that share keys and values add their dk and dv.
void check(const Kernels& k, size_t t, size_t heads, size_t kv_heads, size_t n) {
  const size_t d = heads * n, kv = kv_heads * n, all = d + 2 * kv, group = heads / kv_heads;
  const float s = 0.6f;
  const Attention attention(k, heads, kv_heads, n, t + 3, s, true);
  Guarded<float> qkv(random_matrix(1, t, all), 5), dy(random_matrix(2, t, d), 3), y(t, d, 1), d_qkv(t, all, 2);
  Matrix<float> lse(heads, t + 3), scratch(1, attention.scratch_floats());
  attention.forward(std::as_const(qkv).view(), y.view(), lse, scratch.span());
  attention.backward(std::as_const(qkv).view(), y.view(), lse, std::as_const(dy).view(), d_qkv.view(), scratch.span());
  EXPECT_TRUE(y.intact() && d_qkv.intact() && qkv.intact() && dy.intact());
  Matrix<double> dk(t, n), dv(t, n);
  double dk_bound = 0, dv_bound = 0;
  for (size_t h = 0; h < heads; h++) {
    const size_t at = d + h / group * n;
    const Matrix<double> q = head_part(qkv.view(), h * n, n), key = head_part(qkv.view(), at, n),
                         v = head_part(qkv.view(), at + kv, n), g = head_part(dy.view(), h * n, n);
    const double e = kU * (static_cast<double>(n) + 1) * longest(q) * longest(key);
    const double p = 2 * e + kU * (2 * static_cast<double>(t + n) + 20);
    expect_near(y.view().col_range(h * n, n), reference::attention_forward(q, key, v, s), p * s * largest(v), "y");
    const reference::AttentionGradient want = reference::attention_backward(q, key, v, s, g);
    const double dp = 2 * s * longest(g) * longest(v), rows = std::sqrt(static_cast<double>(t));
    expect_near(d_qkv.view().col_range(h * n, n), want.dq, 3 * p * dp * largest(key), "dq");
    if (h % group == 0) dk = dv = Matrix<double>(t, n), dk_bound = dv_bound = 0;
    for (size_t i = 0; i < dk.size(); i++) dk.span()[i] += want.dk.span()[i], dv.span()[i] += want.dv.span()[i];
    dk_bound += 3 * p * dp * largest(q) * rows, dv_bound += 3 * p * s * largest(g) * rows;
    if (h % group + 1 < group) continue;
    expect_near(d_qkv.view().col_range(at, n), dk, dk_bound, "dk");
    expect_near(d_qkv.view().col_range(at + kv, n), dv, dv_bound, "dv");
  }
}

TEST(Attention, MatchesTheReference) {
  for (const Isa isa : runnable_isas(cpu()))
    for (const size_t t : {1, 2, 23, 24, 25, 61, 130})
      for (const auto& [heads, kv_heads, n] :
           {std::tuple<size_t, size_t, size_t>{1, 1, 4}, {3, 3, 6}, {2, 2, 32}, {2, 2, 20}, {1, 1, 48}, {4, 2, 16},
            {3, 1, 20}}) {
        SCOPED_TRACE(std::string(name(isa)) + ": " + std::to_string(t) + " tokens, " + std::to_string(heads) +
                     " heads of " + std::to_string(n) + ", " + std::to_string(kv_heads) + " of keys");
        check(kernels(isa), t, heads, kv_heads, n);
        if (HasFatalFailure()) return;
      }
}

// What comes later cannot change what came before, not even by a rounding.
TEST(Attention, NoLookAhead) {
  const size_t t = 70, n = 32, changed = 37;
  for (const Isa isa : runnable_isas(cpu())) {
    const Attention attention(kernels(isa), 1, 1, n, t, 1, false);
    Matrix<float> qkv = random_matrix(1, t, 3 * n), y(t, n), other(t, n), lse(1, t),
                  scratch(1, attention.scratch_floats());
    attention.forward(qkv, y, lse, scratch.span());
    for (size_t i = changed; i < t; i++)
      for (float& v : qkv.view().row(i)) v = 100 - v;
    attention.forward(qkv, other, lse, scratch.span());
    EXPECT_EQ(std::memcmp(y.data(), other.data(), changed * n * sizeof(float)), 0);
    EXPECT_NE(std::memcmp(y.view().row_ptr(changed), other.view().row_ptr(changed), n * sizeof(float)), 0);
  }
}

// Scores that differ by hundreds: all the weight on one key, and no overflow.
TEST(Attention, LargeScores) {
  const size_t t = 30, n = 16;
  for (const Isa isa : runnable_isas(cpu())) {
    const Attention attention(kernels(isa), 1, 1, n, t, 1, false);
    Matrix<float> qkv(t, 3 * n), y(t, n), lse(1, t), scratch(1, attention.scratch_floats());
    for (size_t i = 0; i < t; i++) {
      qkv(i, 0) = 100;                                         // q
      qkv(i, n) = i == 4 ? 50.0f : static_cast<float>(i % 3);  // k
      qkv(i, 2 * n) = static_cast<float>(i);                   // v
    }
    attention.forward(qkv, y, lse, scratch.span());
    for (size_t i = 4; i < t; i++) EXPECT_EQ(y(i, 0), 4.0f);
    EXPECT_EQ(lse(0, 20), 5000.0f);
  }
}

TEST(Rotary, TurnsByTheFormula) {
  const size_t heads = 3, n = 10, half = n / 2, d = heads * n, t = 12, first = 5;
  const RotaryTable table = turns(20, n);
  for (const Isa isa : runnable_isas(cpu())) {
    Matrix<float> x = random_matrix(1, t, 3 * d), y = x;
    table.forward(kernels(isa), heads, heads, first, y);
    for (size_t i = 0; i < t; i++)
      for (size_t part = 0; part < 3; part++)
        for (size_t h = 0; h < heads; h++)
          for (size_t j = 0; j < half; j++) {
            const size_t at = part * d + h * n + j;
            const double angle = static_cast<double>(first + i) * std::pow(10000.0, -2.0 * static_cast<double>(j) / n);
            const double a = x(i, at), b = x(i, at + half), scale = part == 0 ? 1 / std::sqrt(n) : 1;
            const double left = part == 2 ? a : scale * (a * std::cos(angle) - b * std::sin(angle));
            const double right = part == 2 ? b : scale * (b * std::cos(angle) + a * std::sin(angle));
            const double bound = part == 2 ? 0 : 5 * kU * (std::fabs(a) + std::fabs(b));
            ASSERT_NEAR(y(i, at), left, bound) << i << ", " << part << ", " << j;
            ASSERT_NEAR(y(i, at + half), right, bound) << i << ", " << part << ", " << j;
          }
  }
}

// A score depends on the distance of query and key alone: that is what the positions are for.
TEST(Rotary, ScoresDependOnTheDistance) {
  const size_t n = 16;
  const RotaryTable table = turns(300, n);
  const Kernels& k = kernels(cpu().best);
  const auto score = [&](size_t query, size_t key) {
    Matrix<float> a = random_matrix(1, 1, 3 * n), b = a;
    table.forward(k, 1, 1, query, a);
    table.forward(k, 1, 1, key, b);
    double total = 0;
    for (size_t j = 0; j < n; j++) total += static_cast<double>(a(0, j)) * b(0, n + j);
    return total;
  };
  for (const size_t distance : {0, 1, 7, 100})
    for (const size_t at : {1, 50, 199})
      EXPECT_NEAR(score(at + distance, at), score(distance, 0), 100 * kU) << distance << " at " << at;
  EXPECT_GT(std::fabs(score(7, 0) - score(0, 0)), 1e-3);
}

TEST(Rotary, BackwardIsTheTranspose) {
  const size_t heads = 2, n = 8, d = heads * n, t = 6;
  const RotaryTable table = turns(t, n);
  const Kernels& k = kernels(cpu().best);
  Matrix<float> x = random_matrix(1, t, 3 * d), y = random_matrix(2, t, 3 * d), rx = x, ry = y;
  table.forward(k, heads, heads, 0, rx);
  table.backward(k, heads, heads, 0, ry);
  double left = 0, right = 0, size = 0;
  for (size_t i = 0; i < x.size(); i++) {
    left += static_cast<double>(rx.span()[i]) * y.span()[i];
    right += static_cast<double>(x.span()[i]) * ry.span()[i];
    size += std::fabs(static_cast<double>(x.span()[i]) * y.span()[i]);
  }
  EXPECT_NEAR(left, right, 20 * kU * size);
}

}  // namespace
}  // namespace glint

// Kernels along rows: operations of the table. Sums of n terms in float have an error of at most n u
// sum|term| in any order (n - 1 additions, one rounding of the term).
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kRowTile = 5;

struct RowInput {
  Shape shape;
  Guarded<float> a, b;
  Matrix<double> a_double, b_double;
  std::vector<uint32_t> labels;

  RowInput(const Shape& s, double scale)
      : shape(s),
        a(random_matrix(1, s.rows, s.cols, scale), s.pad),
        b(random_matrix(2, s.rows, s.cols), s.pad + 1),
        labels(s.rows) {
    if (s.rows > 0)
      for (float& v : a.view().row(0)) v = 0.5f;  // all equal: the first is the largest
    a_double = to_double(a.view());
    b_double = to_double(b.view());
    const Rng rng(5, Stream::test);
    for (size_t i = 1; i < s.rows; i++) labels[i] = static_cast<uint32_t>(rng.below(std::max<size_t>(s.cols, 1), i));
  }
};

enum class Gradient { none, apart, in_place };

// With d = max - x: exp is off by 2 u (1 ulp) and by its argument's rounding, d u, which weighs d exp(-d) in
// the sum; the sum of n terms by n u. loss = log total + d_label: the relative error of total, and a rounding
// each of log, d_label and the result. dlogits: exp, total, the quotient, the product and the subtraction.
// exp is not followed below exp(-87) < 2e-38.
Case xent_case(const Shape& shape, double spread, float scale, Gradient gradient) {
  const auto in = std::make_shared<RowInput>(shape, spread);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    const bool in_place = gradient == Gradient::in_place;
    Guarded<float> d = in_place ? in->a : Guarded<float>(shape.rows, shape.cols, shape.pad + 2);
    Guarded<float> loss(shape.rows, 1, 0);
    Guarded<uint8_t> hit(shape.rows, 1, 0);
    const ConstMatrixView<float> x = in_place ? ConstMatrixView<float>(d.view()) : std::as_const(in->a).view();
    for_row_tiles(pool, shape.rows, kRowTile, [&](size_t first, size_t count, size_t) {
      target.kernels().softmax_xent(count, shape.cols, x.row_ptr(first), x.stride(), in->labels.data() + first, scale,
                                    gradient == Gradient::none ? nullptr : d.view().row_ptr(first), d.view().stride(),
                                    loss.view().row_ptr(first), hit.view().row_ptr(first));
    });
    std::vector<Output> out = {output("loss", loss), output("hit", hit)};
    if (gradient != Gradient::none) out.push_back(output("dlogits", d));
    return out;
  };
  reference::Xent want = reference::softmax_xent(in->a_double, in->labels, scale);
  const double n = static_cast<double>(shape.cols);
  Matrix<double> loss_bound(shape.rows, 1), d_bound(shape.rows, shape.cols), hit(shape.rows, 1);
  for (size_t i = 0; i < shape.rows; i++) {
    const std::span<const double> x = std::as_const(in->a_double).view().row(i);
    const double top = *std::max_element(x.begin(), x.end());
    double total = 0, weighed = 0;
    for (const double v : x) total += std::exp(v - top), weighed += (top - v) * std::exp(v - top);
    const double total_error = n + 3 + weighed / total;  // relative, in u
    const size_t label = in->labels[i];
    loss_bound(i, 0) =
        kU * (total_error + std::log(total) + (top - x[label]) + std::fabs(want.loss[i])) + n * 2e-38 + kTiny;
    hit(i, 0) = want.hit[i];
    for (size_t j = 0; j < shape.cols; j++) {
      const double s = std::exp(x[j] - top) / total;
      d_bound(i, j) =
          scale * (kU * s * (total_error + 4 + top - x[j]) + 2e-38) + (j == label ? 2 * kU * scale : 0) + kTiny;
    }
  }
  test.expected.push_back({column(want.loss), std::move(loss_bound)});
  test.expected.push_back({std::move(hit), Matrix<double>(shape.rows, 1)});
  if (gradient != Gradient::none) test.expected.push_back({std::move(want.dlogits), std::move(d_bound)});
  return test;
}

// The mean square is off by (n + 2) u, its root by half of that; then sum with eps, root, quotient, product.
Case norm_forward_case(const Shape& shape) {
  const auto in = std::make_shared<RowInput>(shape, 2);
  const float eps = 1e-8f;
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y(shape.rows, shape.cols, shape.pad + 2), inverse(shape.rows, 1, 0);
    const ConstMatrixView<float> x = std::as_const(in->a).view();
    for_row_tiles(pool, shape.rows, kRowTile, [&](size_t first, size_t count, size_t) {
      target.kernels().rmsnorm_forward(count, shape.cols, x.row_ptr(first), x.stride(), eps, y.view().row_ptr(first),
                                       y.view().stride(), inverse.view().row_ptr(first));
    });
    return std::vector<Output>{output("y", y), output("inverse", inverse)};
  };
  reference::Norm want = reference::rmsnorm_forward(in->a_double, eps);
  const double relative = kU * ((static_cast<double>(shape.cols) + 3) / 2 + 4);
  const auto bound = [&](double v) { return relative * std::fabs(v) + kTiny; };
  Matrix<double> inverse = column(want.inverse), y_bound = map(want.y, bound), inverse_bound = map(inverse, bound);
  test.expected.push_back({std::move(want.y), std::move(y_bound)});
  test.expected.push_back({std::move(inverse), std::move(inverse_bound)});
  return test;
}

// The mean of dy y is off by (n + 2) u mean|dy y|; then a product, a difference and a product.
Case norm_backward_case(const Shape& shape) {
  const auto in = std::make_shared<RowInput>(shape, 1);
  const auto inverse = std::make_shared<Matrix<float>>(random_matrix(3, shape.rows, 1));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> dx(shape.rows, shape.cols, shape.pad + 2);
    const ConstMatrixView<float> y = std::as_const(in->a).view(), dy = std::as_const(in->b).view();
    for_row_tiles(pool, shape.rows, kRowTile, [&](size_t first, size_t count, size_t) {
      target.kernels().rmsnorm_backward(count, shape.cols, y.row_ptr(first), y.stride(), inverse->data() + first,
                                        dy.row_ptr(first), dy.stride(), dx.view().row_ptr(first), dx.view().stride());
    });
    return std::vector<Output>{output("dx", dx)};
  };
  const Matrix<double> inv = to_double(*inverse);
  Matrix<double> want = reference::rmsnorm_backward(in->a_double, inv.span(), in->b_double), bound = want;
  const double n = static_cast<double>(shape.cols);
  for (size_t i = 0; i < shape.rows; i++) {
    double size = 0;
    for (size_t j = 0; j < shape.cols; j++) size += std::fabs(in->a_double(i, j) * in->b_double(i, j)) / n;
    for (size_t j = 0; j < shape.cols; j++)
      bound(i, j) = kU * std::fabs(inv(i, 0)) *
                        (3 * std::fabs(in->b_double(i, j)) + (n + 5) * std::fabs(in->a_double(i, j)) * size) +
                    kTiny;
  }
  test.expected.push_back({std::move(want), std::move(bound)});
  return test;
}

// y += x, y += bias: one rounding.
Case add_case(const Shape& shape, bool bias) {
  const auto in = std::make_shared<RowInput>(shape, 1);
  const auto vector = std::make_shared<Matrix<float>>(random_matrix(3, 1, shape.cols));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y = in->b;
    const ConstMatrixView<float> x = std::as_const(in->a).view();
    for_row_tiles(pool, shape.rows, kRowTile, [&](size_t first, size_t count, size_t) {
      if (bias)
        target.kernels().add_bias(count, shape.cols, vector->data(), y.view().row_ptr(first), y.view().stride());
      else
        target.kernels().add_rows(count, shape.cols, x.row_ptr(first), x.stride(), y.view().row_ptr(first),
                                  y.view().stride());
    });
    return std::vector<Output>{output("y", y)};
  };
  Matrix<double> want = bias ? reference::add_bias(to_double(*vector).span(), in->b_double)
                             : reference::add_rows(in->a_double, in->b_double);
  Matrix<double> bound = map(want, [](double v) { return kU * std::fabs(v); });
  test.expected.push_back({std::move(want), std::move(bound)});
  return test;
}

// Tiles are of columns here: a column is summed by one thread, in the order of its rows, onto what is there.
Case column_case(const Shape& shape) {
  const auto in = std::make_shared<RowInput>(shape, 1);
  const auto start = std::make_shared<Matrix<float>>(random_matrix(3, 1, shape.cols));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> sums(*start, 0);
    for_row_tiles(pool, shape.cols, 24, [&](size_t first, size_t count, size_t) {
      target.kernels().column_sums(shape.rows, count, std::as_const(in->a).view().data() + first, in->a.view().stride(),
                                   sums.view().data() + first);
    });
    return std::vector<Output>{output("sums", sums)};
  };
  const Matrix<double> s = to_double(*start);
  const auto row = [&](const std::vector<double>& v, double factor) {
    Matrix<double> m(1, v.size());
    for (size_t j = 0; j < v.size(); j++) m(0, j) = factor * v[j];
    return m;
  };
  test.expected.push_back({row(reference::column_sums(in->a_double, s.span()), 1),
                           row(reference::column_sums(absolute(in->a_double), absolute(s).span()),
                               kU * static_cast<double>(shape.rows + 1))});
  return test;
}

}  // namespace

std::vector<Op> row_ops() {
  const std::vector<Shape> any = row_shapes(0), some = row_shapes(1);
  return {
      {"softmax_xent", every_isa(), some, [](const Shape& s) { return xent_case(s, 3, 0.125f, Gradient::apart); }},
      {"softmax_xent_in_place", every_isa(), some,
       [](const Shape& s) { return xent_case(s, 3, 1.0f / 512, Gradient::in_place); }},
      {"softmax_xent_loss_only", every_isa(), some, [](const Shape& s) { return xent_case(s, 3, 1, Gradient::none); }},
      {"softmax_xent_wide", every_isa(), some, [](const Shape& s) { return xent_case(s, 60, 1, Gradient::apart); }},
      {"rmsnorm_forward", every_isa(), some, [](const Shape& s) { return norm_forward_case(s); }},
      {"rmsnorm_backward", every_isa(), some, [](const Shape& s) { return norm_backward_case(s); }},
      {"add_rows", every_isa(), any, [](const Shape& s) { return add_case(s, false); }},
      {"add_bias", every_isa(), any, [](const Shape& s) { return add_case(s, true); }},
      {"column_sums", every_isa(), any, [](const Shape& s) { return column_case(s); }},
  };
}

namespace {

TEST(SoftmaxXent, SpecialLogits) {
  constexpr float kInf = HUGE_VALF, kNan = NAN;
  const float x[][3] = {{1, kNan, 2}, {kNan, 1, 2}, {kInf, 0, 0}, {-kInf, 0, 0}, {1e38f, -1e38f, 0}, {7, 7, 1}};
  const uint32_t labels[] = {2, 2, 0, 0, 0, 1};
  for (const Isa isa : runnable_isas(cpu())) {
    float loss[6], d[6][3];
    uint8_t hit[6];
    kernels(isa).softmax_xent(6, 3, x[0], 3, labels, 1, d[0], 3, loss, hit);
    EXPECT_TRUE(std::isnan(loss[0]) && std::isnan(loss[1])) << "NaN must not be hidden";
    EXPECT_TRUE(std::isnan(loss[2])) << "inf - inf";
    EXPECT_EQ(loss[3], kInf);
    EXPECT_EQ(loss[4], 0.0f);
    EXPECT_EQ(d[4][0], 0.0f);
    for (const float v : {d[0][0], d[0][1], d[0][2], d[1][0], d[1][2]}) EXPECT_TRUE(std::isnan(v));
    EXPECT_EQ(hit[4], 1);
    EXPECT_EQ(hit[5], 0) << "the first of equal maxima counts";
  }
}

TEST(NoisyPixels, NormalsHaveTheirMoments) {
  std::vector<uint8_t> pixels(100'000);
  std::vector<float> out(pixels.size());
  for (const Isa isa : runnable_isas(cpu())) {
    kernels(isa).noisy_pixels({9, 1, 2}, 1, pixels.size(), pixels.data(), out.data());
    const double n = static_cast<double>(out.size());
    // Six standard errors: 1 / sqrt n for the mean, sqrt(2 / n) for the variance.
    EXPECT_NEAR(kernels(isa).sum(out.size(), out.data()) / n, 0, 6 / std::sqrt(n));
    EXPECT_NEAR(kernels(isa).sum_squares(out.size(), out.data()) / n, 1, 6 * std::sqrt(2 / n));
  }
}

}  // namespace
}  // namespace glint::model_testing

// Sums, AdamW and noise: operations of the table.
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kTile = 24;  // not a multiple of any vector

// Partial sums of fixed tiles, added in order. In double: any order of n additions is within (n - 1) 2^-53
// sum|x|, for the kernel and for the reference alike. Squares of floats are exact in double.
Case sum_case(const Shape& shape, bool squares) {
  const auto x = std::make_shared<Matrix<float>>(random_matrix(1, 1, shape.cols));
  Case test;
  test.run = [x, squares](const Target& target, ThreadPool& pool, Scratch&) {
    const size_t n = x->cols();
    std::vector<double> part((n + kTile - 1) / kTile);
    for_row_tiles(pool, n, kTile, [&](size_t first, size_t count, size_t) {
      const auto sum = squares ? target.kernels().sum_squares : target.kernels().sum;
      part[first / kTile] = sum(count, x->data() + first);
    });
    Guarded<double> total(1, 2, 0);
    total.view()(0, 0) = 0;
    for (const double p : part) total.view()(0, 0) += p;
    total.view()(0, 1) = (squares ? target.kernels().sum_squares : target.kernels().sum)(n, x->data());
    return std::vector<Output>{output("sums", total)};
  };
  const Matrix<double> d = to_double(*x);
  const double value = squares ? reference::sum_squares(d.span()) : reference::sum(d.span());
  const double size = squares ? value : reference::sum(absolute(d).span());
  Matrix<double> want(1, 2), bound(1, 2);
  for (size_t i = 0; i < 2; i++) {
    want(0, i) = value;
    bound(0, i) = 2 * static_cast<double>(shape.cols) * 0x1p-53 * size;
  }
  test.expected.push_back({std::move(want), std::move(bound)});
  return test;
}

// Roundings, in u: m: g' (1), its product (1), beta1 m (1), the sum (1); v: g' twice (2), square, product,
// sum (3); p: keep (2) and its product (1), the sum (1); the update: step (1), sqrt v (2.5 + 1), root (2),
// two products, a sum, a quotient (4), and what m is off by.
Case adamw_case(const Shape& shape, const AdamwStep& step) {
  const size_t n = shape.cols;
  struct Input {
    Matrix<float> g, m, v, p;
  };
  const auto in = std::make_shared<Input>(
      Input{random_matrix(1, 1, n), random_matrix(2, 1, n, 0.1), random_matrix(3, 1, n, 0.1), random_matrix(4, 1, n)});
  for (float& v : in->v.span()) v = v * v;
  Case test;
  test.run = [in, step](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> m(in->m, 0), v(in->v, 0), p(in->p, 0);
    for_row_tiles(pool, in->g.cols(), kTile, [&](size_t first, size_t count, size_t) {
      target.kernels().adamw(step, count, in->g.data() + first, m.view().data() + first, v.view().data() + first,
                             p.view().data() + first);
    });
    return std::vector<Output>{output("m", m), output("v", v), output("p", p)};
  };
  const Matrix<double> g = to_double(in->g), m0 = to_double(in->m), p0 = to_double(in->p);
  Matrix<double> m = m0, v = to_double(in->v), p = p0;
  reference::adamw(step, g.span(), m.span(), v.span(), p.span());
  Matrix<double> em(1, n), ev(1, n), ep(1, n);
  for (size_t i = 0; i < n; i++) {
    const double beta1 = step.beta1, grad = step.grad_scale * g(0, i);
    em(0, i) = 4 * kU * (std::fabs(beta1 * m0(0, i)) + std::fabs(step.rest1 * grad)) + kTiny;
    ev(0, i) = 6 * kU * v(0, i) + kTiny;
    const double per_m = step.lr / step.correction1 / (std::sqrt(v(0, i) / step.correction2) + step.eps);
    ep(0, i) =
        kU * (4 * std::fabs(p0(0, i)) + 12 * std::fabs(per_m * m(0, i)) + std::fabs(p(0, i))) + 1.01 * per_m * em(0, i);
  }
  test.expected.push_back({std::move(m), std::move(em)});
  test.expected.push_back({std::move(v), std::move(ev)});
  test.expected.push_back({std::move(p), std::move(ep)});
  return test;
}

// Rows are samples. pixel / 255: the rounded 1/255 and a product (2 u). The normal is radius cos: the
// logarithm has 1e-7 absolute or 4 u relative error, its root half of that; the angle 2 u, the polynomials 2
// u, a product: within 10 u of the largest radius, sqrt(48 ln 2) = 5.77. Then std times it and the sum.
Case noise_case(const Shape& shape, float std) {
  const auto pixels = std::make_shared<std::vector<uint8_t>>(shape.rows * shape.cols);
  const Rng rng(4, Stream::test);
  for (size_t i = 0; i < pixels->size(); i++) (*pixels)[i] = static_cast<uint8_t>(rng.bits(i));
  const auto key = [](size_t row) {
    return NoiseKey{0x123456789abcdef0u, 5, static_cast<uint32_t>(3 * row + 0x20000000u)};
  };
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> out(shape.rows, shape.cols, shape.pad);
    for_row_tiles(pool, shape.rows, 1, [&](size_t row, size_t, size_t) {
      target.kernels().noisy_pixels(key(row), std, shape.cols, pixels->data() + row * shape.cols,
                                    out.view().row_ptr(row));
    });
    return std::vector<Output>{output("out", out)};
  };
  Matrix<double> want(shape.rows, shape.cols), bound(shape.rows, shape.cols);
  for (size_t i = 0; i < shape.rows; i++) {
    const std::span<const uint8_t> row(pixels->data() + i * shape.cols, shape.cols);
    const std::vector<double> values = reference::noisy_pixels(key(i), std, row);
    for (size_t j = 0; j < shape.cols; j++) {
      want(i, j) = values[j];
      bound(i, j) = kU * (2 * row[j] / 255.0 + 12 * 5.77 * std + std::fabs(values[j]));
    }
  }
  test.expected.push_back({std::move(want), std::move(bound)});
  return test;
}

}  // namespace

std::vector<Op> update_ops() {
  const AdamwStep first = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.1f, 0.1f, 0.001f, 0.1f, 0.001f, 1};
  const AdamwStep later = {3e-4f, 0.9f, 0.95f, 1e-8f, 0, 0.1f, 0.05f, 1, 1, 0.25f};
  std::vector<Shape> images;
  for (size_t n = 0; n <= 67; n++) images.push_back({3, n, 0, n % 4});
  for (const size_t rows : {0, 1, 512}) images.push_back({rows, 784, 0, 3});
  return {
      {"sum", every_isa(), flat_shapes(), [](const Shape& s) { return sum_case(s, false); }},
      {"sum_squares", every_isa(), flat_shapes(), [](const Shape& s) { return sum_case(s, true); }},
      {"adamw_first_step", every_isa(), flat_shapes(), [=](const Shape& s) { return adamw_case(s, first); }},
      {"adamw_clipped", every_isa(), flat_shapes(), [=](const Shape& s) { return adamw_case(s, later); }},
      {"pixels", every_isa(), images, [](const Shape& s) { return noise_case(s, 0); }},
      {"noisy_pixels", every_isa(), images, [](const Shape& s) { return noise_case(s, 1); }},
      {"noisy_pixels_strong", every_isa(), images, [](const Shape& s) { return noise_case(s, 7.5f); }},
  };
}

}  // namespace glint::model_testing

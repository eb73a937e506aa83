// Kernels of the language model: operations of the table. exp is off by 2 u (1 ulp) and by the rounding of
// its argument d, d u; it is not followed below exp(-87) < 2e-38. Sums of n terms are off by n u sum|term|.
#include "glint/kernels/reference.h"
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kTileRows = 5;
constexpr double kFloor = 2e-38;

std::vector<double> doubles(ConstMatrixView<float> m) {
  const Matrix<double> d = to_double(m);
  return {d.span().begin(), d.span().end()};
}

// The products are right to u of their size, and so is their sum: 3 u (|a| + |b|).
Case rotary_case(const Shape& shape, bool back) {
  const size_t heads = 1 + shape.rows % 3, half = shape.cols;
  const auto x = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, 2 * half * heads), shape.pad);
  const auto cos = std::make_shared<Matrix<float>>(random_matrix(2, shape.rows, half)),
             sin = std::make_shared<Matrix<float>>(random_matrix(3, shape.rows, half));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y = *x;
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().rotary(count, heads, half, cos->view().row_ptr(first), sin->view().row_ptr(first), back,
                              y.view().row_ptr(first), y.view().stride());
    });
    return std::vector<Output>{output("x", y)};
  };
  const Matrix<double> in = to_double(std::as_const(*x).view()), c = to_double(*cos), s = to_double(*sin);
  // |a cos| + |b sin| comes out of one of the two directions in either half.
  Matrix<double> bound = reference::rotary(absolute(in), heads, absolute(c), absolute(s), false);
  const Matrix<double> other = reference::rotary(absolute(in), heads, absolute(c), absolute(s), true);
  for (size_t i = 0; i < bound.size(); i++)
    bound.span()[i] = 3 * kU * std::max(std::fabs(bound.span()[i]), std::fabs(other.span()[i])) + kTiny;
  test.expected.push_back({reference::rotary(in, heads, c, s, back), std::move(bound)});
  return test;
}

// Rows see from `visible` to visible + rows - 1 columns of the width.
size_t first_visible(const Shape& s) { return s.cols > s.rows ? s.cols - s.rows + 1 : 1; }

Case softmax_case(const Shape& shape, double spread) {
  const size_t visible = first_visible(shape);
  const auto x = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, shape.cols, spread), shape.pad);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> e = *x, lse(shape.rows, 1, 0), inverse(shape.rows, 1, 0);
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().causal_softmax(count, visible + first, shape.cols, e.view().row_ptr(first), e.view().stride(),
                                      lse.view().row_ptr(first), inverse.view().row_ptr(first));
    });
    return std::vector<Output>{output("e", e), output("lse", lse), output("inverse", inverse)};
  };
  const Matrix<double> in = to_double(std::as_const(*x).view());
  reference::CausalSoftmax want = reference::causal_softmax(in, visible);
  Matrix<double> e_bound = want.e, lse_bound(shape.rows, 1), inverse_bound(shape.rows, 1);
  for (size_t i = 0; i < shape.rows; i++) {
    const size_t n = std::min(visible + i, shape.cols);
    double weighed = 0, top = in(i, 0);
    for (size_t j = 0; j < n; j++) top = std::max(top, in(i, j));
    for (size_t j = 0; j < shape.cols; j++) {
      const double e = want.e(i, j), d = e > 0 ? -std::log(e) : 0;
      weighed += d * e;
      e_bound(i, j) = j < n ? kU * e * (3 + top - in(i, j)) + kFloor : 0;
    }
    const double relative = kU * (static_cast<double>(n) + 3 + weighed * want.inverse[i]) + 1e-36;
    lse_bound(i, 0) = relative + kU * (std::fabs(want.lse[i]) + std::fabs(want.lse[i] - top));
    inverse_bound(i, 0) = (relative + kU) * want.inverse[i];
  }
  test.expected.push_back({std::move(want.e), std::move(e_bound)});
  test.expected.push_back({column(want.lse), std::move(lse_bound)});
  test.expected.push_back({column(want.inverse), std::move(inverse_bound)});
  return test;
}

Case softmax_backward_case(const Shape& shape) {
  const size_t visible = first_visible(shape);
  const auto x = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, shape.cols, 3), shape.pad);
  const auto dp = std::make_shared<Guarded<float>>(random_matrix(2, shape.rows, shape.cols), shape.pad);
  const auto dot = std::make_shared<Matrix<float>>(random_matrix(3, shape.rows, 1));
  const Matrix<double> in = to_double(std::as_const(*x).view()), d_in = to_double(std::as_const(*dp).view());
  const auto lse = std::make_shared<Matrix<float>>(to_float(column(reference::causal_softmax(in, visible).lse)));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> p = *x, ds = *dp;
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().causal_softmax_backward(count, visible + first, shape.cols, lse->data() + first,
                                               dot->data() + first, p.view().row_ptr(first), ds.view().row_ptr(first),
                                               p.view().stride());
    });
    return std::vector<Output>{output("p", p), output("ds", ds)};
  };
  const std::vector<double> shift = doubles(*lse), mean = doubles(*dot);
  reference::CausalGradient want = reference::causal_softmax_backward(in, visible, shift, mean, d_in);
  Matrix<double> p_bound = want.p, ds_bound = want.ds;
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      const double relative = kU * (3 + std::fabs(in(i, j) - shift[i])), p = want.p(i, j);
      const bool seen = j < std::min(visible + i, shape.cols);
      p_bound(i, j) = seen ? relative * p + kFloor : 0;
      ds_bound(i, j) = seen ? (p * (relative + 2 * kU) + kFloor) * (std::fabs(d_in(i, j)) + std::fabs(mean[i])) : 0;
    }
  test.expected.push_back({std::move(want.p), std::move(p_bound)});
  test.expected.push_back({std::move(want.ds), std::move(ds_bound)});
  return test;
}

Case dots_case(const Shape& shape) {
  const auto a = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, shape.cols), shape.pad),
             b = std::make_shared<Guarded<float>>(random_matrix(2, shape.rows, shape.cols), shape.pad + 1);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> dots(shape.rows, 1, 0);
    const ConstMatrixView<float> x = std::as_const(*a).view(), y = std::as_const(*b).view();
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().row_dots(count, shape.cols, x.row_ptr(first), x.stride(), y.row_ptr(first), y.stride(),
                                dots.view().row_ptr(first));
    });
    return std::vector<Output>{output("dots", dots)};
  };
  const Matrix<double> x = to_double(std::as_const(*a).view()), y = to_double(std::as_const(*b).view());
  const double n = static_cast<double>(shape.cols);
  test.expected.push_back({column(reference::row_dots(x, y)), map(column(reference::row_dots(absolute(x), absolute(y))),
                                                                  [=](double v) { return (n + 1) * kU * v + kTiny; })});
  return test;
}

Case scale_case(const Shape& shape, bool in_place) {
  const auto x = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, shape.cols), shape.pad);
  const auto factor = std::make_shared<Matrix<float>>(random_matrix(2, shape.rows, 1));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> y = in_place ? *x : Guarded<float>(shape.rows, shape.cols, shape.pad + 1);
    const ConstMatrixView<float> from = in_place ? ConstMatrixView<float>(y.view()) : std::as_const(*x).view();
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().scale_rows(count, shape.cols, factor->data() + first, from.row_ptr(first), from.stride(),
                                  y.view().row_ptr(first), y.view().stride());
    });
    return std::vector<Output>{output("y", y)};
  };
  Matrix<double> want = reference::scale_rows(doubles(*factor), to_double(std::as_const(*x).view()));
  Matrix<double> bound = map(want, [](double v) { return kU * std::fabs(v) + kTiny; });
  test.expected.push_back({std::move(want), std::move(bound)});
  return test;
}

Case exp_case(const Shape& shape) {
  const auto x = std::make_shared<Guarded<float>>(random_matrix(1, shape.rows, shape.cols, 4), shape.pad);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> e = *x, top(shape.rows, 1, 0), sum(shape.rows, 1, 0);
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().exp_rows(count, shape.cols, e.view().row_ptr(first), e.view().stride(),
                                top.view().row_ptr(first), sum.view().row_ptr(first));
    });
    return std::vector<Output>{output("e", e), output("top", top), output("sum", sum)};
  };
  const Matrix<double> in = to_double(std::as_const(*x).view());
  reference::ExpRows want = reference::exp_rows(in);
  Matrix<double> e_bound = want.e, sum_bound(shape.rows, 1);
  for (size_t i = 0; i < shape.rows; i++)
    for (size_t j = 0; j < shape.cols; j++) {
      e_bound(i, j) = kU * want.e(i, j) * (3 + want.top[i] - in(i, j)) + kFloor;
      sum_bound(i, 0) += e_bound(i, j) + kU * static_cast<double>(shape.cols) * want.e(i, j);
    }
  test.expected.push_back({std::move(want.e), std::move(e_bound)});
  test.expected.push_back({column(want.top), Matrix<double>(shape.rows, 1)});
  test.expected.push_back({column(want.sum), std::move(sum_bound)});
  return test;
}

// rows: of a chunk; cols: blocks.
Case blocks_case(const Shape& shape) {
  const auto top = std::make_shared<Matrix<float>>(random_matrix(1, shape.cols, shape.rows, 3)),
             sum = std::make_shared<Matrix<float>>(random_matrix(2, shape.cols, shape.rows)),
             target_logit = std::make_shared<Matrix<float>>(random_matrix(3, shape.rows, 1));
  for (float& v : sum->span()) v = 1 + std::fabs(v);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<float> share(*sum, 0), loss(shape.rows, 1, 0);
    for_row_tiles(pool, shape.rows, kTileRows, [&](size_t first, size_t count, size_t) {
      target.kernels().xent_from_blocks(count, shape.cols, shape.rows, top->data() + first, share.view().data() + first,
                                        target_logit->data() + first, loss.view().row_ptr(first));
    });
    return std::vector<Output>{output("loss", loss), output("share", share)};
  };
  const Matrix<double> t = to_double(*top), s = to_double(*sum);
  const std::vector<double> logit = doubles(*target_logit);
  reference::BlockXent want = reference::xent_from_blocks(t, s, logit);
  Matrix<double> loss_bound(shape.rows, 1), share_bound = want.share;
  for (size_t i = 0; i < shape.rows; i++) {
    double largest = t(0, i), weighed = 0;
    for (size_t b = 0; b < shape.cols; b++) largest = std::max(largest, t(b, i));
    for (size_t b = 0; b < shape.cols; b++) weighed += s(b, i) * want.share(b, i) * (largest - t(b, i));
    const double relative = kU * (static_cast<double>(shape.cols) + 4 + weighed) + kFloor;
    const double lse = want.loss[i] + logit[i];
    loss_bound(i, 0) =
        relative + kU * (std::fabs(lse - largest) + std::fabs(logit[i] - largest) + std::fabs(want.loss[i]));
    for (size_t b = 0; b < shape.cols; b++)
      share_bound(b, i) = want.share(b, i) * (relative + kU * (5 + largest - t(b, i))) + kFloor;
  }
  test.expected.push_back({column(want.loss), std::move(loss_bound)});
  test.expected.push_back({std::move(want.share), std::move(share_bound)});
  return test;
}

}  // namespace

std::vector<Op> text_ops() {
  std::vector<Shape> any = row_shapes(0, false), some = row_shapes(1, false), strips = {{24, 256}, {24, 272, 0, 16}};
  for (const Shape& s : some)
    if (s.rows <= s.cols) strips.push_back(s);
  return {
      {"rotary", every_isa(), some, [](const Shape& s) { return rotary_case(s, false); }},
      {"rotary_back", every_isa(), some, [](const Shape& s) { return rotary_case(s, true); }},
      {"causal_softmax", every_isa(), strips, [](const Shape& s) { return softmax_case(s, 3); }},
      {"causal_softmax_wide", every_isa(), strips, [](const Shape& s) { return softmax_case(s, 60); }},
      {"causal_softmax_backward", every_isa(), strips, [](const Shape& s) { return softmax_backward_case(s); }},
      {"row_dots", every_isa(), any, [](const Shape& s) { return dots_case(s); }},
      {"scale_rows", every_isa(), any, [](const Shape& s) { return scale_case(s, false); }},
      {"scale_rows_in_place", every_isa(), any, [](const Shape& s) { return scale_case(s, true); }},
      {"exp_rows", every_isa(), some, [](const Shape& s) { return exp_case(s); }},
      {"xent_from_blocks", every_isa(), some, [](const Shape& s) { return blocks_case(s); }},
  };
}

}  // namespace glint::model_testing

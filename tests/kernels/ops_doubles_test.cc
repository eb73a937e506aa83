// Products in double of a few vectors with many rows: operations of the table. A sum of n products, in any
// order, is off by (n + 2) 2^-53 sum|w x|; the reference sums in long double.
#include "tests/kernels/ops.h"

namespace glint::model_testing {
namespace {

constexpr size_t kTileOfRows = 5;  // four and one

template <class T>
Matrix<T> random_of(uint32_t what, size_t rows, size_t cols) {
  Matrix<T> m(rows, cols);
  const Rng rng(21, Stream::test, what);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = static_cast<T>(rng.normal(i));
  return m;
}

// want = start + a b', with its bound.
template <class A, class B>
Expected sums_of_products(const Matrix<double>& start, size_t count, const A& a, const B& b) {
  Expected e{Matrix<double>(start.rows(), start.cols()), Matrix<double>(start.rows(), start.cols())};
  for (size_t i = 0; i < start.rows(); i++)
    for (size_t j = 0; j < start.cols(); j++) {
      long double sum = start(i, j), sizes = std::fabs(start(i, j));
      for (size_t t = 0; t < count; t++) {
        const long double p = static_cast<long double>(a(i, t)) * static_cast<long double>(b(t, j));
        sum += p, sizes += std::fabs(p);
      }
      e.value(i, j) = static_cast<double>(sum);
      e.bound(i, j) = (static_cast<double>(count) + 3) * 0x1p-53 * static_cast<double>(sizes);
    }
  return e;
}

template <class T>
Case double_dots_case(const Shape& s) {
  const auto w = std::make_shared<Guarded<T>>(random_of<T>(1, s.rows, s.depth).view(), s.pad);
  const auto x = std::make_shared<Guarded<double>>(random_of<double>(2, s.cols, s.depth).view(), s.pad);
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<double> out(s.cols, s.rows, s.pad);
    for_row_tiles(pool, s.rows, kTileOfRows, [&](size_t first, size_t count, size_t) {
      const ConstMatrixView<T> rows = std::as_const(*w).view().row_range(first, count);
      const DoubleRows<T> g{count, s.depth, s.cols, rows.data(), rows.stride()};
      const ConstMatrixView<double> vectors = std::as_const(*x).view();
      double* to = out.view().data() + first;
      if constexpr (std::is_same_v<T, float>)
        target.kernels().double_dots_f32(g, vectors.data(), vectors.stride(), to, out.view().stride());
      else
        target.kernels().double_dots_f64(g, vectors.data(), vectors.stride(), to, out.view().stride());
    });
    return std::vector<Output>{output("out", out)};
  };
  test.expected.push_back(sums_of_products(
      Matrix<double>(s.cols, s.rows), s.depth, [&](size_t i, size_t t) { return x->view()(i, t); },
      [&](size_t t, size_t r) { return w->view()(r, t); }));
  return test;
}

// Tiles of columns, as its callers cut it.
template <class T>
Case double_add_case(const Shape& s) {
  constexpr size_t kColumns = 33;
  const auto w = std::make_shared<Guarded<T>>(random_of<T>(3, s.rows, s.depth).view(), s.pad);
  const auto c = std::make_shared<Matrix<double>>(random_of<double>(4, s.cols, s.rows));
  const auto start = std::make_shared<Matrix<double>>(random_of<double>(5, s.cols, s.depth));
  Case test;
  test.run = [=](const Target& target, ThreadPool& pool, Scratch&) {
    Guarded<double> y(std::as_const(*start).view(), s.pad);
    for_row_tiles(pool, s.depth, kColumns, [&](size_t first, size_t count, size_t) {
      const ConstMatrixView<T> rows = std::as_const(*w).view();
      const DoubleRows<T> g{s.rows, count, s.cols, rows.data() + first, rows.stride()};
      double* to = y.view().data() + first;
      if constexpr (std::is_same_v<T, float>)
        target.kernels().double_add_f32(g, c->data(), s.rows, to, y.view().stride());
      else
        target.kernels().double_add_f64(g, c->data(), s.rows, to, y.view().stride());
    });
    return std::vector<Output>{output("y", y)};
  };
  test.expected.push_back(sums_of_products(
      *start, s.rows, [&](size_t i, size_t t) { return (*c)(i, t); },
      [&](size_t t, size_t j) { return w->view()(t, j); }));
  return test;
}

}  // namespace

std::vector<Op> double_ops() {
  std::vector<Shape> shapes;
  for (size_t depth = 1; depth <= 70; depth++) shapes.push_back({1 + depth % 23, 1 + depth % 9, depth, depth % 4});
  for (const size_t vectors : {1, 4, 5, 8}) shapes.push_back({35, vectors, 1061, 3});  // several stretches
  shapes.push_back({0, 3, 9, 0});
  return {{"double_dots_f32", every_isa(), shapes, double_dots_case<float>},
          {"double_dots_f64", every_isa(), shapes, double_dots_case<double>},
          {"double_add_f32", every_isa(), shapes, double_add_case<float>},
          {"double_add_f64", every_isa(), shapes, double_add_case<double>}};
}

}  // namespace glint::model_testing

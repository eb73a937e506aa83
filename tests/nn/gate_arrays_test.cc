// Gates over arrays: the same values as the kernels give row by row, at any number of threads.
#include "glint/nn/gate_arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace glint {
namespace {

Matrix<float> random_values(size_t rows, size_t cols, unsigned seed) {
  Matrix<float> m(rows, cols);
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, 3);
  for (float& v : m.span()) v = normal(generator);
  return m;
}

TEST(GateArrays, LongArraysAreCutWithoutAChange) {
  const Kernels& k = kernels(detect_cpu().best);
  ThreadPool pool(3);
  const Gate gate{GateKind::Sqs, {}};
  const Matrix<float> h = random_values(1, 3 * kLongArray + 17, 1);
  Matrix<float> one(1, h.cols()), many(1, h.cols()), slope(1, h.cols());
  gate_array(k, nullptr, gate, h.span(), one.span(), {});
  gate_array(k, &pool, gate, h.span(), many.span(), slope.span());
  for (size_t i = 0; i < h.size(); i++) ASSERT_EQ(one.data()[i], many.data()[i]) << i;
  EXPECT_THROW(gate_array(k, nullptr, gate, h.span(), one.span().first(3), {}), Error);
}

TEST(GateArrays, HalvesOfRowsAreReadWhereTheyLie) {
  const Kernels& k = kernels(detect_cpu().best);
  ThreadPool pool(3);
  for (const size_t rows : {size_t{1}, size_t{7}, size_t{400}}) {
    const size_t h = 333;
    const Gate gate{GateKind::Gelu, {}};
    const Matrix<float> z = random_values(rows, 2 * h, 2), dy = random_values(rows, h, 3);
    const ConstMatrixView<float> l = z.view().col_range(0, h), r = z.view().col_range(h, h);
    Matrix<float> y(rows, h), dz(rows, 2 * h), value(1, h), slope(1, h);
    glu_array(k, &pool, gate, l, r, y);
    glu_array_backward(k, &pool, gate, l, r, dy, dz.view().col_range(0, h), dz.view().col_range(h, h));
    for (size_t i = 0; i < rows; i++) {
      gate_array(k, nullptr, gate, l.row(i), value.span(), slope.span());
      for (size_t j = 0; j < h; j++) {
        ASSERT_EQ(y(i, j), value(0, j) * r(i, j));
        ASSERT_EQ(dz(i, j), dy(i, j) * r(i, j) * slope(0, j));
        ASSERT_EQ(dz(i, h + j), dy(i, j) * value(0, j));
      }
    }
  }
}

TEST(GateArrays, DoublesAreTheFormula) {
  ThreadPool pool(2);
  const Gate gate{GateKind::Silu, {}};
  Matrix<double> l(2, 40000), r(2, 40000), y(2, 40000), dl(2, 40000), dr(2, 40000);
  for (size_t i = 0; i < l.size(); i++) l.data()[i] = std::sin(0.1 * static_cast<double>(i)) * 4, r.data()[i] = 2;
  glu_array(&pool, gate, l, r, y);
  glu_array_backward(&pool, gate, l, r, y, dl, dr);
  const GateInfo& info = gate_info(gate.kind);
  for (size_t i = 0; i < l.size(); i++) {
    const double value = info.value(l.data()[i], gate.params);
    ASSERT_EQ(y.data()[i], value * 2);
    ASSERT_EQ(dl.data()[i], y.data()[i] * 2 * info.slope(l.data()[i], gate.params));
    ASSERT_EQ(dr.data()[i], y.data()[i] * value);
  }
  const Matrix<double> other(1, 3);
  EXPECT_THROW(glu_array(&pool, gate, l, other, y), Error);
}

TEST(GateArrays, GradientsAreTheSlopesTimesWhatComesBack) {
  const Kernels& k = kernels(detect_cpu().best);
  ThreadPool pool(4);
  for (const size_t n : {size_t{1}, size_t{5000}, 2 * kLongArray + 3}) {
    const Gate gate{GateKind::Silu, {}};
    const Matrix<float> h = random_values(1, n, 4), dy = random_values(1, n, 5);
    Matrix<float> slope(1, n), dh(1, n);
    gate_array(k, nullptr, gate, h.span(), {}, slope.span());
    Matrix<double> h2(1, n), dy2(1, n), dh2(1, n);
    for (size_t i = 0; i < n; i++) h2.data()[i] = h.data()[i], dy2.data()[i] = dy.data()[i];
    for (const size_t most : {size_t{0}, size_t{1}, size_t{3}}) {
      gate_array_backward(k, {&pool, most}, gate, h.span(), dy.span(), dh.span());
      gate_array_backward({&pool, most}, gate, h2.span(), dy2.span(), dh2.span());
      for (size_t i = 0; i < n; i++) {
        ASSERT_EQ(dh.data()[i], slope.data()[i] * dy.data()[i]) << i;
        ASSERT_EQ(dh2.data()[i], dy2.data()[i] * gate_info(gate.kind).slope(h2.data()[i], gate.params));
      }
    }
    EXPECT_THROW(gate_array_backward(k, nullptr, gate, h.span(), dy.span(), dh.span().first(0)), Error);
  }
}

TEST(GateArrays, NoMoreThreadsThanAllowed) {
  const Kernels& k = kernels(detect_cpu().best);
  ThreadPool pool(4);
  const Gate gate{GateKind::Sqs, {}};
  for (const size_t rows : {size_t{1}, size_t{37}, size_t{1000}}) {
    const Matrix<float> l = random_values(rows, 2048, 6), r = random_values(rows, 2048, 7);
    Matrix<float> one(rows, 2048), some(rows, 2048);
    glu_array(k, nullptr, gate, l, r, one);
    for (const size_t most : {size_t{1}, size_t{2}, size_t{3}, size_t{9}}) {
      glu_array(k, {&pool, most}, gate, l, r, some);
      for (size_t i = 0; i < one.size(); i++) ASSERT_EQ(one.data()[i], some.data()[i]) << i;
    }
  }
}

}  // namespace
}  // namespace glint

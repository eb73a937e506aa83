// What the tests of layers share: the products they run on, and how near to the reference a product must be.
#pragma once

#include "glint/kernels/bf16.h"
#include "glint/kernels/reference.h"
#include "glint/nn/compute.h"
#include "tests/kernels/testing.h"

namespace glint::model_testing {

inline std::vector<std::pair<std::string, Products>> every_product() {
  std::vector<std::pair<std::string, Products>> all;
  for (const Isa isa : runnable_isas(cpu())) all.emplace_back(name(isa), Products(kernels(isa)));
  all.emplace_back("bf16 emulated", Products(kernels(cpu().best), Bf16Unit::emulated));
  const Bf16Unit best = best_bf16(cpu());
  if (best != Bf16Unit::none) all.emplace_back("bf16 " + std::string(name(best)), Products(kernels(cpu().best), best));
  return all;
}

// An operand as the product sees it.
inline Matrix<double> operand(const Products& products, ConstMatrixView<float> m) {
  Matrix<double> d = to_double(m);
  if (products.precision() == Precision::f32) return d;
  return map(std::move(d), [](double v) { return from_bf16(to_bf16(static_cast<float>(v))); });
}

// got = a b (tn: a^T b) + before, within (k + 3) u of |a| |b| + |before|: see ops_products_test.cc.
inline void expect_product(const Matrix<float>& got, const Matrix<double>& a, const Matrix<double>& b, bool tn,
                           const std::string& what, const Matrix<float>* before = nullptr) {
  const Matrix<double> want = tn ? reference::multiply_tn(a, b) : reference::multiply(a, b);
  const Matrix<double> size =
      tn ? reference::multiply_tn(absolute(a), absolute(b)) : reference::multiply(absolute(a), absolute(b));
  const double k = static_cast<double>(tn ? a.rows() : a.cols());
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); i++) {
    const double start = before ? before->span()[i] : 0;
    ASSERT_LE(std::fabs(got.span()[i] - (want.span()[i] + start)), (k + 3) * kU * (size.span()[i] + std::fabs(start)))
        << what << ", row " << i / want.cols() << ", column " << i % want.cols();
  }
}

inline bool same_bytes(const Matrix<float>& a, const Matrix<float>& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace glint::model_testing

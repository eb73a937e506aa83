#include "glint/spectra/compare.h"

#include <algorithm>
#include <numbers>
#include <numeric>

#include "fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

const LinearAlgebra& linalg() {
  static const LinearAlgebra la;
  return la;
}

double total(ConstMatrixView<double> weight, std::span<const uint32_t> partner) {
  double sum = 0;
  for (size_t i = 0; i < partner.size(); i++) sum += weight(i, partner[i]);
  return sum;
}

TEST(BestMatching, WhatIsNoNumberIsSaidAndNotLookedForWithoutEnd) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    Matrix<double> weight = random_matrix(4, 4, 1);
    weight(2, 1) = bad;
    EXPECT_THROW(best_matching(weight), Error);
  }
}

TEST(BestMatching, AgreesWithTryingEverything) {
  const nlohmann::json g = golden()["matching"];
  EXPECT_EQ(best_matching(to_matrix<double>(g["weight"])), g["partner"].get<std::vector<uint32_t>>());
  for (uint32_t trial = 0; trial < 50; trial++) {
    const Matrix<double> weight = random_matrix(6, 6, 600 + trial);
    std::vector<uint32_t> order(6);
    std::iota(order.begin(), order.end(), 0u);
    double best = -1e300;
    do best = std::max(best, total(weight, order));
    while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(total(weight, best_matching(weight)), best, 1e-12);
  }
}

TEST(BestMatching, EmptyAndTies) {
  EXPECT_TRUE(best_matching(Matrix<double>(0, 0)).empty());
  EXPECT_TRUE(best_matching(Matrix<double>(0, 3)).empty());
  std::vector<uint32_t> partner = best_matching(Matrix<double>(5, 5));  // all equal: any permutation
  std::sort(partner.begin(), partner.end());
  EXPECT_EQ(partner, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

TEST(BestMatching, LargeOnesKeepTheirOptimum) {
  // Optimal by duality: weight(i, j) = u_i + v_j - slack with slack 0 only on a known permutation.
  const size_t n = 200;
  const std::vector<uint32_t> hidden = Rng(5, Stream::test).permutation(n);
  Matrix<double> weight = random_matrix(n, n, 700);
  const Matrix<double> potentials = random_matrix(2, n, 701);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      weight(i, j) = potentials(0, i) + potentials(1, j) - (hidden[i] == j ? 0 : 0.01 + std::fabs(weight(i, j)));
  EXPECT_EQ(best_matching(weight), hidden);
}

TEST(PrincipalAngles, AgreeWithNumpy) {
  const nlohmann::json g = golden()["angles"];
  const std::vector<double> expected = g["angles"].get<std::vector<double>>();
  const Matrix<double> a = to_matrix<double>(g["a"]), b = to_matrix<double>(g["b"]);
  const std::vector<double> got = principal_angles(a, b), swapped = principal_angles(b, a);
  ASSERT_EQ(got.size(), 3u);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_NEAR(got[i], expected[i], 1e-12);
    EXPECT_NEAR(swapped[i], expected[i], 1e-12);
  }
}

TEST(PrincipalAngles, KnownRotationsToRounding) {
  // Each of three orthonormal vectors is turned by its angle towards a direction outside the span.
  const Matrix<double> basis = random_orthonormal(linalg(), 20, 610);
  const std::vector<double> angles = {1e-12, 1e-5, 0.3, 1.2, std::numbers::pi / 2};
  Matrix<double> a(5, 20), b(5, 20);
  for (size_t k = 0; k < 5; k++)
    for (size_t i = 0; i < 20; i++) {
      a(k, i) = basis(k, i);
      b(k, i) = std::cos(angles[k]) * basis(k, i) + std::sin(angles[k]) * basis(10 + k, i);
    }
  // The rows of b mixed among themselves span the same space.
  const Matrix<double> mix = random_matrix(5, 5, 611);
  Matrix<double> mixed(5, 20);
  linalg().gemm(Op::plain, Op::plain, 1.0, mix, b, 0.0, mixed);
  const std::vector<double> got = principal_angles(a, b), got_mixed = principal_angles(a, mixed);
  ASSERT_EQ(got.size(), 5u);
  for (size_t k = 0; k < 5; k++) {
    EXPECT_NEAR(got[k], angles[k], 1e-14);
    EXPECT_NEAR(got_mixed[k], angles[k], 1e-12);
  }
}

TEST(PrincipalAngles, DependentRowsAddNoDimension) {
  Matrix<double> a = random_matrix(3, 8, 620), b = random_matrix(2, 8, 621);
  for (size_t i = 0; i < 8; i++) a(2, i) = a(0, i) - 2 * a(1, i);
  EXPECT_EQ(principal_angles(a, a).size(), 2u);
  for (double angle : principal_angles(a, a)) EXPECT_NEAR(angle, 0, 1e-13);
  EXPECT_EQ(principal_angles(a, b).size(), 2u);
  EXPECT_TRUE(principal_angles(Matrix<double>(2, 8), b).empty()) << "zero vectors span nothing";
  EXPECT_TRUE(principal_angles(Matrix<double>(0, 8), b).empty());
}

TEST(Similarity, IgnoresSignAndLength) {
  Matrix<double> a = random_matrix(4, 9, 630), b = a;
  for (size_t k = 0; k < 4; k++)
    for (size_t i = 0; i < 9; i++) b(k, i) *= k % 2 ? -1e-170 : 3e150;
  const Matrix<double> s = similarity(linalg(), a, b);
  for (size_t k = 0; k < 4; k++) EXPECT_NEAR(s(k, k), 1, 1e-14);
  EXPECT_LT(s(0, 1), 0.999);
  const Matrix<double> zero = similarity(linalg(), a, Matrix<double>(2, 9));
  for (double c : zero.span()) EXPECT_EQ(c, 0);
}

TEST(CompareUnits, IdenticalSetsGiveOne) {
  const Spectrum s = eigh(linalg(), random_symmetric(30, 640));
  const UnitComparison c = compare_units(linalg(), {s.values, s.vectors}, {s.values, s.vectors}, 6);
  for (const SideComparison* side : {&c.positive, &c.negative}) {
    ASSERT_EQ(side->rank_matched.size(), 6u);
    for (size_t i = 0; i < 6; i++) {
      EXPECT_NEAR(side->rank_matched[i], 1, 1e-13);
      EXPECT_NEAR(side->best_matched[i], 1, 1e-13);
      EXPECT_NEAR(side->subspace[i], 1, 1e-13);
      EXPECT_EQ(side->partner[i], i);
    }
  }
}

TEST(CompareUnits, PermutedVectorsAreMatchedAgainAndSpanTheSame) {
  const Spectrum s = eigh(linalg(), random_symmetric(30, 641));
  const std::vector<uint32_t> order = {2, 0, 3, 1};
  Matrix<double> a(4, 30), b(4, 30);
  for (size_t k = 0; k < 4; k++)
    for (size_t i = 0; i < 30; i++) {
      a(k, i) = s.vectors(k, i);
      b(order[k], i) = -s.vectors(k, i);
    }
  const SideComparison c = compare_sides(linalg(), a, b);
  EXPECT_EQ(c.partner, order);
  for (size_t k = 0; k < 4; k++) {
    EXPECT_NEAR(c.best_matched[k], 1, 1e-13);
    EXPECT_NEAR(c.rank_matched[k], 0, 1e-13);
  }
  EXPECT_NEAR(c.subspace[0], 0, 1e-13);
  EXPECT_NEAR(c.subspace[3], 1, 1e-13);
}

TEST(CompareUnits, VectorsMixedInsideASubspaceHaveOnlyTheSubspaceInCommon) {
  const Matrix<double> basis = random_orthonormal(linalg(), 12, 642);
  const double c = std::cos(0.7), s = std::sin(0.7);
  Matrix<double> a(2, 12), b(2, 12);
  for (size_t i = 0; i < 12; i++) {
    a(0, i) = basis(0, i), a(1, i) = basis(1, i);
    b(0, i) = c * basis(0, i) + s * basis(1, i);
    b(1, i) = -s * basis(0, i) + c * basis(1, i);
  }
  const SideComparison got = compare_sides(linalg(), a, b);
  EXPECT_NEAR(got.rank_matched[0], c, 1e-13);
  EXPECT_NEAR(got.subspace[0], c, 1e-13);
  EXPECT_NEAR(got.subspace[1], 1, 1e-13);
}

TEST(CompareUnits, SidesAreCutToWhatBothHave) {
  const Matrix<double> basis = random_orthonormal(linalg(), 6, 643);
  const std::vector<double> a = {5, 4, 0, -1, -2, -3}, b = {3, 0, 0, 0, -1, -2};
  const UnitComparison c = compare_units(linalg(), {a, basis}, {b, basis}, 4);
  EXPECT_EQ(c.positive.rank_matched.size(), 1u);
  EXPECT_EQ(c.negative.rank_matched.size(), 2u);
  EXPECT_NEAR(c.negative.rank_matched[0], 1, 1e-13) << "strongest negative first: the last rows";
}

}  // namespace
}  // namespace glint

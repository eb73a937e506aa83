#include "glint/spectra/readability.h"

#include <cmath>

#include "fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

TEST(LeadingVectors, AreTwoAboveAndOneBelow) {
  EXPECT_EQ(leading_vectors(std::vector<double>{5, 3, 1, -2, -4}), (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(leading_vectors(std::vector<double>{5, -1, -2}), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(leading_vectors(std::vector<double>{5, 4, 3}), (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(leading_vectors(std::vector<double>{0, 0}).empty());
  const LinearAlgebra linalg;
  const Spectrum s = eigh(linalg, random_symmetric(6, 3)), few = leading_spectrum(s);
  ASSERT_EQ(few.count(), 3u);
  EXPECT_EQ(few.values, (std::vector<double>{s.values[0], s.values[1], s.values[5]}));
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(few.vectors(2, i), s.vectors(5, i));
}

TEST(DistinctPictures, CountsWhatIsNotAlike) {
  const LinearAlgebra linalg;
  const Matrix<double> basis = random_orthonormal(linalg, 7, 20);
  EXPECT_NEAR(distinct_pictures(linalg, basis), 7, 1e-9);
  Matrix<double> same(5, 7);
  for (size_t r = 0; r < 5; r++)
    for (size_t i = 0; i < 7; i++) same(r, i) = basis(2, i) * (r % 2 ? -1e-200 : 1e200);  // length, sign
  EXPECT_NEAR(distinct_pictures(linalg, same), 1, 1e-9);
  // Two alike and one apart: eigenvalues 2 and 1 of 3. A picture that is 0 does not count.
  Matrix<double> three(4, 7);
  for (size_t i = 0; i < 7; i++) three(0, i) = three(2, i) = basis(0, i), three(3, i) = 4 * basis(1, i);
  EXPECT_NEAR(distinct_pictures(linalg, three), std::exp(-(2 / 3.0) * std::log(2 / 3.0) + std::log(3.0) / 3), 1e-9);
  EXPECT_EQ(distinct_pictures(linalg, Matrix<double>(3, 7)), 0);
}

TEST(StrongestPairScores, AreTwoTermsOfTheForm) {
  Spectrum s{.values = {4, 1, -3}, .vectors = Matrix<double>(3, 3), .groups = {0, 1, 2}};
  for (size_t k = 0; k < 3; k++) s.vectors(k, k) = 1;
  Matrix<float> x(2, 3);
  x(0, 0) = 2, x(0, 1) = 100, x(0, 2) = 1;
  const std::vector<double> scores = strongest_pair_scores(s, x);
  EXPECT_EQ(scores[0], 4 * 4 - 3 * 1);
  EXPECT_EQ(scores[1], 0);
  // With biases the input has a last entry 1.
  EXPECT_EQ(strongest_pair_scores(s, x.view().col_range(0, 2))[1], -3);
}

TEST(AreaUnderCurve, IsTheShareOfPairsInTheRightOrder) {
  const std::vector<uint8_t> last_two = {0, 0, 1, 1};
  EXPECT_EQ(area_under_curve(std::vector<double>{1, 2, 3, 4}, last_two), 1);
  EXPECT_EQ(area_under_curve(std::vector<double>{4, 3, 2, 1}, last_two), 0);
  EXPECT_EQ(area_under_curve(std::vector<double>{1, 1, 1, 1}, last_two), 0.5);
  EXPECT_EQ(area_under_curve(std::vector<double>{1, 3, 2, 4}, last_two), 0.75);
  EXPECT_TRUE(std::isnan(area_under_curve(std::vector<double>{1, 2}, std::vector<uint8_t>{1, 1})));
  EXPECT_TRUE(std::isnan(area_under_curve({}, {})));
  // All pairs, with many ties.
  const Rng rng(5, Stream::test, 77);
  std::vector<double> scores;
  std::vector<uint8_t> group;
  for (size_t i = 0; i < 60; i++)
    scores.push_back(static_cast<double>(rng.below(9, 2 * i))), group.push_back(rng.below(3, 2 * i + 1) == 0);
  double right = 0, pairs = 0;
  for (size_t i = 0; i < 60; i++)
    for (size_t j = 0; j < 60; j++)
      if (group[i] && !group[j]) right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0, pairs++;
  EXPECT_NEAR(area_under_curve(scores, group), right / pairs, 1e-12);
}

TEST(Likeness, LooksThroughSignsAndOrder) {
  const LinearAlgebra linalg;
  const Matrix<double> basis = random_orthonormal(linalg, 5, 30);
  const auto leading = [&](std::initializer_list<size_t> rows, double sign) {
    LeadingVectors v{.values = {2, 1, -1}, .vectors = Matrix<double>(3, 5)};
    size_t at = 0;
    for (const size_t r : rows) {
      for (size_t i = 0; i < 5; i++) v.vectors(at, i) = sign * basis(r, i);
      at++;
    }
    return v;
  };
  EXPECT_NEAR(likeness(linalg, leading({0, 1, 2}, 1), leading({0, 1, 2}, -3)), 1, 1e-12);
  EXPECT_NEAR(likeness(linalg, leading({0, 1, 2}, 1), leading({1, 0, 2}, 1)), 1, 1e-12);
  // The one below 0 is compared with that below 0 alone.
  EXPECT_NEAR(likeness(linalg, leading({0, 1, 2}, 1), leading({0, 2, 1}, 1)), 1 / 3.0, 1e-12);
  EXPECT_NEAR(likeness(linalg, leading({0, 1, 2}, 1), leading({3, 4, 0}, 1)), 0, 1e-12);
  EXPECT_TRUE(std::isnan(likeness(linalg, {}, {})));
}

}  // namespace
}  // namespace glint

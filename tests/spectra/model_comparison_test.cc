#include "glint/spectra/model_comparison.h"

#include <cmath>

#include "fixtures.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

class ModelComparison : public ::testing::Test {
 protected:
  OneImageModel one{1}, other{2};
};

TEST_F(ModelComparison, AModelIsLikeItself) {
  for (const CompareSpace space : {CompareSpace::input, CompareSpace::pixels}) {
    const ModelVectors v = model_vectors(one.reading, one.reading.classes(), weights_lines(one.reading), space, 4);
    const PairComparison c = compare_models(one.linalg, one.machine.pool, v, v, 4);
    ASSERT_EQ(c.size(), 3u);
    for (const Measure m : kMeasures)
      for (const Spread& s : by_rank({&c, 1}, m, Side::both)) {
        EXPECT_NEAR(s.min, 1, 1e-12);
        EXPECT_NEAR(s.sd, 0, 1e-12);
      }
  }
}

TEST_F(ModelComparison, KeepsTheStrongestOfEachSign) {
  const Directions units = one.reading.classes();
  const ModelVectors v = model_vectors(one.reading, units, weights_lines(one.reading), CompareSpace::input, 2);
  const std::vector<Spectrum> all =
      interaction_spectra({one.linalg, one.machine.pool, one.reading.layer(0)}, units.weights);
  for (size_t u = 0; u < 3; u++) {
    const std::vector<double>& s = all[u].values;
    ASSERT_GT(s[1], 0);
    ASSERT_LT(s[s.size() - 2], 0);
    EXPECT_EQ(v.values[u], (std::vector<double>{s[0], s[1], s[s.size() - 2], s.back()}));
    for (size_t i = 0; i < v.vectors[u].cols(); i++) EXPECT_EQ(v.vectors[u](3, i), all[u].vectors(s.size() - 1, i));
  }
}

TEST_F(ModelComparison, OtherWeightsAreLessAlike) {
  const auto vectors = [&](const OneImageModel& m) {
    return model_vectors(m.reading, m.reading.classes(), weights_lines(m.reading), CompareSpace::pixels, 3);
  };
  const PairComparison c = compare_models(one.linalg, one.machine.pool, vectors(one), vectors(other), 3);
  EXPECT_LT(by_rank({&c, 1}, Measure::rank_matched, Side::both)[0].mean, 0.95);
}

TEST_F(ModelComparison, RandomDirectionsAreOrthonormalAndAlikeByChanceOnly) {
  const std::vector<GateTerms> lines = weights_lines(one.reading);
  const ModelVectors a = random_vectors(one.reading, 40, lines, CompareSpace::input, 4, 7);
  const ModelVectors b = random_vectors(one.reading, 40, lines, CompareSpace::input, 4, 8);
  ASSERT_EQ(a.vectors[0].rows(), 8u);
  for (size_t r = 0; r < 8; r++)
    for (size_t q = 0; q < 8; q++) {
      double product = 0;
      for (size_t i = 0; i < a.vectors[0].cols(); i++) product += a.vectors[0](r, i) * a.vectors[0](q, i);
      EXPECT_NEAR(product, r == q ? 1 : 0, 1e-13);
    }
  // E|cos| of independent directions in d dimensions is near sqrt(2 / (pi d)); 80 values of sd below 0.6 of
  // that: six standard errors are 0.4 of it.
  const PairComparison c = compare_models(one.linalg, one.machine.pool, a, b, 4);
  const double expected = std::sqrt(2 / (3.14159265 * static_cast<double>(a.vectors[0].cols())));
  EXPECT_NEAR(by_rank({&c, 1}, Measure::rank_matched, Side::both)[0].mean, expected, 0.45 * expected);
}

// Two pairs, two units, by hand.
TEST(ByRank, MeansAndSpreads) {
  const auto unit = [](std::vector<double> up, std::vector<double> down) {
    UnitComparison u;
    u.positive.rank_matched = up, u.negative.rank_matched = down;
    return u;
  };
  const std::vector<PairComparison> pairs = {{unit({0.9, 0.5}, {0.7}), unit({0.8}, {})},
                                             {unit({0.6, 0.1}, {0.4}), unit({0.5}, {0.5})}};
  const std::vector<Spread> both = by_rank(pairs, Measure::rank_matched, Side::both);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].n, 7u);
  EXPECT_NEAR(both[0].mean, 4.4 / 7, 1e-15);
  EXPECT_EQ(both[0].min, 0.4);
  EXPECT_NEAR(both[0].pair_sd, (0.8 - 0.5) / std::sqrt(2.0), 1e-15);
  EXPECT_EQ(both[0].pairs, 2u);
  EXPECT_EQ(both[1].n, 2u);
  EXPECT_NEAR(both[1].mean, 0.3, 1e-15);
  EXPECT_NEAR(by_rank(pairs, Measure::rank_matched, Side::negative)[0].mean, 1.6 / 3, 1e-15);
  EXPECT_NEAR(by_rank(pairs, Measure::rank_matched, Side::positive, 1)[0].mean, 0.65, 1e-15);
  EXPECT_TRUE(by_rank(pairs, Measure::subspace, Side::both).empty());
}

}  // namespace
}  // namespace glint

#include "glint/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace glint {
namespace {

constexpr uint64_t kDraws = 1000000;

// The largest value of chi-square with k degrees of freedom that is within 5 sigma: Wilson and Hilferty's
// normal approximation of its cube root. The tests draw from fixed seeds, so they pass always or never.
double chi_square_bound(double k) {
  const double v = 2 / (9 * k);
  return k * std::pow(1 - v + 5 * std::sqrt(v), 3);
}

double chi_square(const std::vector<uint64_t>& counts, double expected) {
  double sum = 0;
  for (uint64_t c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

// tests/golden/philox.py, a second implementation, made the answers.
TEST(Philox, GivesTheKnownAnswers) {
  std::ifstream file(GLINT_GOLDEN_DIR "/philox4x32_7.txt");
  ASSERT_TRUE(file);
  int rounds = 0, lines = 0;
  uint64_t key = 0;
  PhiloxBlock counter, expected;
  file >> std::hex;
  while (file >> rounds >> key && file >> counter[0] >> counter[1] >> counter[2] >> counter[3] >> expected[0] >>
                                      expected[1] >> expected[2] >> expected[3]) {
    ASSERT_EQ(rounds, kPhiloxRounds);
    EXPECT_EQ(philox(counter, key), expected) << "line " << lines + 1;
    lines++;
  }
  EXPECT_EQ(lines, 32);
}

// Which counter word holds what is part of the format: a change would change every trained model.
TEST(Rng, LaysOutItsCounterAsDocumented) {
  const uint64_t seed = 0x0123456789abcdefull, index = (uint64_t{5} << 34) + 4 * 7 + 2;
  const PhiloxBlock block = philox({7, 5, 99, static_cast<uint32_t>(Stream::noise)}, seed);
  EXPECT_EQ(Rng(seed, Stream::noise, 99).bits(index), block[2]);
}

TEST(Rng, IsAFunctionOfSeedStreamSubAndIndex) {
  const Rng a(1, Stream::init, 3), same(1, Stream::init, 3);
  std::vector<uint32_t> forward, backward;
  for (uint64_t i = 0; i < 1000; i++) forward.push_back(a.bits(i));
  for (uint64_t i = 1000; i-- > 0;) backward.push_back(same.bits(i));
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

// Unrelated words agree in 16 +- 2.83 of their 32 bits: over 1000 words within 5 sigma of 16000.
TEST(Rng, ADifferentSeedStreamOrSubGivesUnrelatedNumbers) {
  const Rng base(1, Stream::init, 0);
  const std::map<std::string, Rng> others = {{"seed", Rng(2, Stream::init, 0)},
                                             {"high seed", Rng(1 + (uint64_t{1} << 32), Stream::init, 0)},
                                             {"stream", Rng(1, Stream::shuffle, 0)},
                                             {"sub", Rng(1, Stream::init, 1)}};
  for (const auto& [what, other] : others) {
    int agree = 0;
    for (uint64_t i = 0; i < 1000; i++) agree += 32 - __builtin_popcount(base.bits(i) ^ other.bits(i));
    EXPECT_NEAR(agree, 16000, 5 * std::sqrt(1000 * 32 * 0.25)) << what;
  }
}

TEST(Rng, FarIndicesDoNotRepeatNearOnes) {
  const Rng rng(1, Stream::test);
  std::set<uint32_t> seen;
  for (uint64_t base : {uint64_t{0}, uint64_t{1} << 32, uint64_t{1} << 34, uint64_t{1} << 63})
    for (uint64_t i = 0; i < 8; i++) seen.insert(rng.bits(base + i));
  EXPECT_EQ(seen.size(), 32u);
}

TEST(Rng, EveryBitIsSetHalfOfTheTime) {
  const Rng rng(11, Stream::test);
  std::vector<int> ones(32);
  for (uint64_t i = 0; i < kDraws; i++) {
    const uint32_t word = rng.bits(i);
    for (int b = 0; b < 32; b++) ones[b] += word >> b & 1;
  }
  for (int b = 0; b < 32; b++) EXPECT_NEAR(ones[b], kDraws / 2.0, 5 * std::sqrt(kDraws * 0.25)) << "bit " << b;
}

TEST(Rng, UniformHasTheMomentsOfTheUniform) {
  const Rng rng(42, Stream::test);
  double s1 = 0, s2 = 0, lag = 0, previous = 0.5;
  for (uint64_t i = 0; i < kDraws; i++) {
    const double u = rng.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    s1 += u - 0.5;
    s2 += (u - 0.5) * (u - 0.5);
    lag += (u - 0.5) * (previous - 0.5);
    previous = u;
  }
  const double n = kDraws;  // variances: u 1/12, (u - 1/2)^2 1/180, product of two 1/144
  EXPECT_NEAR(s1 / n, 0, 5 * std::sqrt(1 / (12 * n)));
  EXPECT_NEAR(s2 / n, 1.0 / 12, 5 * std::sqrt(1 / (180 * n)));
  EXPECT_NEAR(lag / n, 0, 5 * std::sqrt(1 / (144 * n)));
}

TEST(Rng, UniformFillsItsCellsEvenly) {
  const Rng rng(43, Stream::test);
  std::vector<uint64_t> cells(1000), pairs(32 * 32);
  for (uint64_t i = 0; i < kDraws; i++) cells[static_cast<size_t>(rng.uniform(i) * 1000)]++;
  EXPECT_LT(chi_square(cells, kDraws / 1000.0), chi_square_bound(999));
  for (uint64_t i = 0; i < kDraws; i += 2)
    pairs[static_cast<size_t>(rng.uniform(i) * 32) * 32 + static_cast<size_t>(rng.uniform(i + 1) * 32)]++;
  EXPECT_LT(chi_square(pairs, kDraws / 2 / 1024.0), chi_square_bound(1023));
}

TEST(Rng, NormalHasTheMomentsOfTheNormal) {
  const Rng rng(44, Stream::noise);
  double m[4] = {}, pair = 0, previous = 0;
  for (uint64_t i = 0; i < kDraws; i++) {
    const double x = rng.normal(i);
    ASSERT_TRUE(std::isfinite(x));
    for (double p = x; double& sum : m) sum += p, p *= x;
    if (i % 2 == 1) pair += x * previous;  // the two of one Box-Muller draw are independent
    previous = x;
  }
  const double n = kDraws;  // variances of x, x^2, x^3, x^4: 1, 2, 15, 96
  EXPECT_NEAR(m[0] / n, 0, 5 * std::sqrt(1 / n));
  EXPECT_NEAR(m[1] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(m[2] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(m[3] / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(pair / (n / 2), 0, 5 * std::sqrt(2 / n));
}

TEST(Rng, NormalFollowsTheDistributionFunction) {
  const Rng rng(45, Stream::noise);
  std::vector<uint64_t> cells(200);
  for (uint64_t i = 0; i < kDraws; i++) {
    const double cdf = 0.5 * std::erfc(-rng.normal(i) / std::sqrt(2.0));
    cells[std::min<size_t>(199, static_cast<size_t>(cdf * 200))]++;
  }
  EXPECT_LT(chi_square(cells, kDraws / 200.0), chi_square_bound(199));
}

TEST(Rng, BelowStaysBelowAndIsEven) {
  const Rng rng(46, Stream::sample);
  std::vector<uint64_t> counts(7);
  for (uint64_t i = 0; i < 70000; i++) {
    const uint64_t v = rng.below(7, i);
    ASSERT_LT(v, 7u);
    counts[v]++;
  }
  EXPECT_LT(chi_square(counts, 10000), chi_square_bound(6));
  for (uint64_t i = 0; i < 100; i++) EXPECT_EQ(rng.below(1, i), 0u);
  bool large = false;
  for (uint64_t i = 0; i < 100; i++) large |= rng.below(uint64_t{1} << 40, i) > (uint64_t{1} << 32);
  EXPECT_TRUE(large) << "bounds above 2^32 use 64 random bits";
}

TEST(Rng, PermutationIsOne) {
  for (uint32_t n : {0u, 1u, 2u, 3u, 100u, 60000u}) {
    std::vector<uint32_t> p = Rng(1, Stream::shuffle).permutation(n);
    ASSERT_EQ(p.size(), n);
    std::sort(p.begin(), p.end());
    for (uint32_t i = 0; i < n; i++) ASSERT_EQ(p[i], i);
  }
}

TEST(Rng, PermutationDependsOnSeedAndEpoch) {
  const auto p = Rng(1, Stream::shuffle, 0).permutation(1000);
  EXPECT_EQ(p, Rng(1, Stream::shuffle, 0).permutation(1000));
  for (const Rng& other : {Rng(2, Stream::shuffle, 0), Rng(1, Stream::shuffle, 1), Rng(1, Stream::test, 0)}) {
    const auto q = other.permutation(1000);
    int agree = 0;  // about one place of two random permutations agrees; 12 would be a chance of 1e-9
    for (size_t i = 0; i < 1000; i++) agree += p[i] == q[i];
    EXPECT_LT(agree, 12);
  }
}

TEST(Rng, PermutationsOfFourAreEquallyLikely) {
  std::map<std::vector<uint32_t>, uint64_t> counts;
  for (uint32_t seed = 0; seed < 24000; seed++) counts[Rng(seed, Stream::shuffle).permutation(4)]++;
  ASSERT_EQ(counts.size(), 24u);
  std::vector<uint64_t> values;
  for (const auto& entry : counts) values.push_back(entry.second);
  EXPECT_LT(chi_square(values, 1000), chi_square_bound(23));
}

}  // namespace
}  // namespace glint

// Pairs of input latents, and how far a latent's activation goes with eigenvectors: against the whole matrix.
#include "glint/spectra/latents.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

struct RandomLatents {
  RandomLatents(size_t latents, bool bias) : left(9, 6), right(9, 6), decoder(latents, 6), q(9) {
    const Rng rng(17, Stream::test);
    uint64_t at = 0;
    const auto fill = [&](std::span<float> values) {
      for (float& v : values) v = static_cast<float>(2 * rng.uniform(at++) - 1);
    };
    fill(left.span()), fill(right.span()), fill(decoder.span());
    for (double& v : q) v = 2 * rng.uniform(at++) - 1;
    if (bias) bias_left.assign(9, 0.5f), bias_right.assign(9, -0.25f);
    std::ranges::fill(decoder.view().row(3), 0.0f);
  }
  GluLayerView view() const {
    return {.left = left, .right = right, .bias_left = bias_left, .bias_right = bias_right, .gate = {}};
  }
  // All pairs from the whole matrix, strongest first.
  std::vector<LatentPair> by_hand(const LinearAlgebra& linalg) const {
    const Matrix<double> form = interaction(linalg, view(), q);
    std::vector<LatentPair> all;
    const auto length = [&](size_t i) {
      double s = 0;
      for (const float v : decoder.view().row(i)) s += static_cast<double>(v) * v;
      return std::sqrt(s);
    };
    for (uint32_t i = 0; i < decoder.rows(); i++)
      for (uint32_t j = i; j < decoder.rows(); j++) {
        if (length(i) == 0 || length(j) == 0) continue;
        double sum = 0;
        for (size_t a = 0; a < 6; a++)
          for (size_t b = 0; b < 6; b++) sum += static_cast<double>(decoder(i, a)) * form(a, b) * decoder(j, b);
        all.push_back({i, j, (i == j ? 1 : 2) * sum / (length(i) * length(j))});
      }
    std::ranges::sort(all, {}, [](const LatentPair& p) { return -std::fabs(p.weight); });
    return all;
  }
  Matrix<float> left, right, decoder;
  std::vector<float> bias_left, bias_right;
  std::vector<double> q;
};

TEST(LatentPairs, AreTheStrongestOfTheWholeMatrix) {
  const LinearAlgebra linalg;
  ThreadPool one(1), two(2);
  // 600 latents are three tiles in each direction.
  for (const auto& [latents, bias] : {std::pair<size_t, bool>(600, false), {40, true}}) {
    const RandomLatents made(latents, bias);
    const std::vector<LatentPair> all = made.by_hand(linalg);
    for (const size_t most : {1, 50, 1500}) {
      const std::vector<LatentPair> got = strongest_pairs({linalg, one, made.view()}, made.q, made.decoder, most);
      ASSERT_EQ(got.size(), std::min<size_t>(most, all.size()));
      for (size_t k = 0; k < got.size(); k++) {
        EXPECT_LE(got[k].first, got[k].second);
        // Sums of 36 products below 1 in double.
        EXPECT_NEAR(std::fabs(got[k].weight), std::fabs(all[k].weight), 1e-13);
      }
      const std::vector<LatentPair> again = strongest_pairs({linalg, two, made.view()}, made.q, made.decoder, most);
      for (size_t k = 0; k < got.size(); k++)
        EXPECT_TRUE(got[k].first == again[k].first && got[k].second == again[k].second &&
                    got[k].weight == again[k].weight);
    }
  }
}

// A latent whose activation is what two eigenvectors say.
TEST(LatentFit, TwoEigenvectorsExplainWhatTheyMake) {
  const size_t n = 400, d = 5;
  const Rng rng(3, Stream::test);
  Matrix<float> x(n, d);
  for (size_t i = 0; i < x.size(); i++) x.data()[i] = static_cast<float>(2 * rng.uniform(i) - 1);
  Spectrum s{.values = {2, 0.1, -1.5}, .vectors = Matrix<double>(3, d), .groups = {0, 1, 2}};
  s.vectors(0, 1) = 1, s.vectors(1, 2) = 1, s.vectors(2, 4) = 1;
  std::vector<float> z(n);
  size_t active = 0;
  for (size_t i = 0; i < n; i++) {
    z[i] = 2 * x(i, 1) * x(i, 1) - 1.5f * x(i, 4) * x(i, 4);
    if (i % 3 == 0) z[i] = 0;
    active += z[i] != 0;
  }
  const LatentFit fit = latent_fit(s.values, s.vectors, x, z);
  EXPECT_DOUBLE_EQ(fit.active, static_cast<double>(active) / n);
  EXPECT_NEAR(fit.two_active, 1, 1e-6);  // z was rounded to float
  EXPECT_LT(fit.one_active, 0.95);
  EXPECT_GT(fit.one_active, 0.3);
  EXPECT_LT(fit.two, 0.95);
  const std::vector<float> still(n, 1.0f);
  EXPECT_TRUE(std::isnan(latent_fit(s.values, s.vectors, x, still).two));
}

}  // namespace
}  // namespace glint

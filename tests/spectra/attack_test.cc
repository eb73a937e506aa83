#include "glint/spectra/attack.h"

#include <algorithm>
#include <cmath>

#include "fixtures.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

constexpr size_t kImages = 60;

Matrix<uint8_t> attack_images() {
  Matrix<uint8_t> m(kImages, 20);
  const Rng rng(3, Stream::test, 900);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = static_cast<uint8_t>(rng.below(256, i));
  return m;
}

std::vector<uint32_t> all_rows() {
  std::vector<uint32_t> rows(kImages);
  for (uint32_t i = 0; i < kImages; i++) rows[i] = i;
  return rows;
}

double length(std::span<const float> v) {
  double squares = 0;
  for (const float e : v) squares += static_cast<double>(e) * e;
  return std::sqrt(squares);
}

TEST(ClassMask, OfOneLayerIsTheEigenMask) {
  for (const bool bias : {false, true}) {
    OneImageModel m(5, 1, bias);
    const Matrix<uint8_t> images = attack_images();
    std::vector<double> mean(20);
    for (size_t r = 0; r < kImages; r++)
      for (size_t i = 0; i < 20; i++) mean[i] += images(r, i) / 255.0 / kImages;
    const Directions units = m.reading.classes();
    const std::vector<GateTerms> lines = weights_lines(m.reading);
    const std::vector<std::vector<double>> means = layer_means(m.reading, images, all_rows());
    const std::vector<Spectrum> spectra =
        interaction_spectra({m.linalg, m.machine.pool, m.reading.layer(0)}, units.weights);
    for (const int push : {1, -1}) {
      const Features f = features(m.linalg, spectra[1].vectors, m.reading.input_map());
      const std::vector<float> expected = eigen_mask(spectra[1].values, f, mean, 3, 2.0, push);
      const std::vector<float> got = class_mask(m.reading, units.weights.view().row(1), lines, means, 3, 2.0, push);
      EXPECT_NEAR(length(got), 2, 1e-6);
      // The mean input passes through the model in float: 60 roundings of 6e-8 of numbers near 1.
      for (size_t i = 0; i < 20; i++) EXPECT_NEAR(got[i], expected[i], 1e-4);
    }
  }
}

// Untruncated, the walk down is the gradient of a bilinear model at the mean image, up to scale.
TEST(ClassMask, OfTwoLayersIsTheGradient) {
  OneImageModel m(6, 2);
  Matrix<uint8_t> images(1, 20);
  for (size_t i = 0; i < 20; i++) images(0, i) = static_cast<uint8_t>(10 * i + 20);
  const std::vector<uint32_t> row = {0};
  const Directions units = m.reading.classes();
  const std::vector<GateTerms> lines = weights_lines(m.reading);
  const std::vector<std::vector<double>> means = layer_means(m.reading, images, row);
  const auto logit = [&](std::span<const double> p) {  // in double, from the weights
    std::vector<double> x(12), y(12);
    for (size_t r = 0; r < 12; r++)
      for (size_t i = 0; i < 20; i++) x[r] += static_cast<double>(m.reading.input_map().matrix(r, i)) * p[i];
    for (size_t layer = 0; layer < 2; layer++) {
      const GluLayerView v = m.reading.layer(layer);
      for (size_t h = 0; h < 12; h++) {
        const PreActivation z = pre_activation(v, h, x);
        y[h] = z.l * z.r;
      }
      x = y;
    }
    double sum = 0;
    for (size_t h = 0; h < 12; h++) sum += units.weights(0, h) * x[h];
    return sum;
  };
  // Of both signs together: up with the supporters, up with less of the opponents.
  const std::vector<float> up = class_mask(m.reading, units.weights.view().row(0), lines, means, 12, 1.0, 1);
  const std::vector<float> down = class_mask(m.reading, units.weights.view().row(0), lines, means, 12, 1.0, -1);
  std::vector<double> p(20), plus = p, minus = p;
  for (size_t i = 0; i < 20; i++) p[i] = images(0, i) / 255.0;
  // Each mask moves its own part of the form; both parts together make the gradient, so it lies in their
  // span.
  std::vector<double> gradient(20);
  for (size_t i = 0; i < 20; i++) {
    plus = minus = p;
    plus[i] += 1e-5, minus[i] -= 1e-5;
    gradient[i] = (logit(plus) - logit(minus)) / 2e-5;
  }
  double uu = 0, ud = 0, dd = 0, gu = 0, gd = 0, gg = 0;
  for (size_t i = 0; i < 20; i++) {
    const double u = static_cast<double>(up[i]), d = static_cast<double>(down[i]), g = gradient[i];
    uu += u * u, ud += u * d, dd += d * d, gu += g * u, gd += g * d, gg += g * g;
  }
  const double det = uu * dd - ud * ud;
  const double a = (gu * dd - gd * ud) / det, b = (gd * uu - gu * ud) / det;
  double rest = 0;
  for (size_t i = 0; i < 20; i++)
    rest += std::pow(gradient[i] - a * static_cast<double>(up[i]) - b * static_cast<double>(down[i]), 2);
  EXPECT_LT(std::sqrt(rest / gg), 1e-4) << "masks are floats, differences are good to 1e-9";
  EXPECT_GT(a, 0) << "towards the class is with the gradient";
  EXPECT_LT(b, 0) << "away from it is against";
}

TEST(Decisions, AMaskOfStrengthZeroChangesNothing) {
  OneImageModel m(7, 1, false, GateKind::Sqs);
  const Matrix<uint8_t> images = attack_images();
  const std::vector<uint32_t> plain = decisions(m.reading, images, all_rows());
  const std::vector<float> mask = random_mask(20, 1, 1);
  EXPECT_EQ(decisions(m.reading, images, all_rows(), mask, 0), plain);
  const Matrix<float> logits = m.reading.run(images, 0).logits;
  for (size_t i = 0; i < kImages; i++) EXPECT_EQ(logits(i, plain[i]), *std::ranges::max_element(logits.view().row(i)));
  EXPECT_TRUE(decisions(m.reading, images, {}).empty());
}

TEST(AttackPoint, CountsByHand) {
  const std::vector<uint32_t> labels = {0, 0, 0, 1, 2}, plain = {0, 0, 1, 1, 0}, masked = {1, 0, 0, 0, 2};
  const AttackPoint away = attack_point(labels, plain, masked, 0, AttackGoal::away);
  EXPECT_EQ(away.eligible, 3u);  // those that were called 0
  EXPECT_NEAR(away.success, 2.0 / 3, 1e-15);
  EXPECT_NEAR(away.accuracy, 3.0 / 5, 1e-15);
  const AttackPoint towards = attack_point(labels, plain, masked, 0, AttackGoal::towards);
  EXPECT_EQ(towards.eligible, 2u);
  EXPECT_EQ(towards.success, 1);
  EXPECT_EQ(attack_point({}, {}, {}, 0, AttackGoal::away).success, 0);
}

}  // namespace
}  // namespace glint

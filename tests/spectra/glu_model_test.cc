// The one way to read models: directions, forms and how far they are the model.
#include "glint/spectra/glu_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.h"
#include "glint/base/error.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

Matrix<uint8_t> some_images(size_t count, size_t pixels) {
  Matrix<uint8_t> images(count, pixels);
  for (size_t i = 0; i < images.size(); i++) images.data()[i] = static_cast<uint8_t>(i * 37 % 251);
  return images;
}

TEST(BothEnds, TakesTheStrongestOfEachSignAndNoZero) {
  const std::vector<double> values = {1, -5, 0, 3, -2, 4};
  const BothEnds two = both_ends(values, 2);
  EXPECT_EQ(two.positive, (std::vector<uint32_t>{5, 3}));
  EXPECT_EQ(two.negative, (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(both_ends(values, 10).positive.size(), 3u);
  EXPECT_TRUE(both_ends({}, 3).negative.empty());
}

TEST(GluModel, ReadsTheModelsOwnSamplesOnly) {
  const OneImageModel m(3);
  const GluModel& model = m.reading;
  const Matrix<uint8_t> images = some_images(5, 20);
  const Activations a = model.activations(0, images.view());
  EXPECT_EQ(a.inputs.rows(), 5u);
  EXPECT_EQ(a.logits.cols(), 3u);
  // Floats are read as they are, bytes as pixels / 255.
  Matrix<float> values(5, 20);
  for (size_t i = 0; i < values.size(); i++) values.data()[i] = static_cast<float>(images.data()[i]) / 255.0f;
  const Activations same = model.activations(0, std::as_const(values).view());
  for (size_t i = 0; i < a.logits.size(); i++) EXPECT_NEAR(same.logits.data()[i], a.logits.data()[i], 1e-4f);
  EXPECT_THROW(model.activations(0, ConstMatrixView<float>(values.data(), 4, 25)), Error);
  const Matrix<uint8_t> other = some_images(5, 21);
  EXPECT_THROW(model.activations(0, other.view()), Error);
  EXPECT_THROW(model.activations(0, std::span<const TokenRow>()), Error);
}

// An eigenvector of a layer with biases has an entry for the bias, which is no output of the layer below.
TEST(GluModel, DirectionsLeaveTheEntryOfTheBiasOut) {
  const OneImageModel m(3, 2, true);
  const GluModel& model = m.reading;
  ASSERT_EQ(model.outputs(0), 12u);
  Matrix<double> vectors(1, 13);
  for (size_t i = 0; i < 13; i++) vectors(0, i) = static_cast<double>(i) + 1;
  const Directions d = model.directions(0, vectors, {"v"});
  ASSERT_EQ(d.weights.cols(), 12u);
  EXPECT_EQ(d.weights(0, 11), 12.0);
  Directions both = model.hidden_unit(0, 4);
  EXPECT_EQ(both.names[0], "hidden unit 5");
  append(both, d);
  EXPECT_EQ(both.count(), 2u);
  EXPECT_EQ(both.weights(0, 4), 1.0);
  EXPECT_EQ(both.weights(1, 11), 12.0);
}

TEST(Read, TellsTheLinearPartFromTheEigenvectors) {
  const OneImageModel m(7, 1, false, GateKind::Silu);
  const Matrix<uint8_t> images = some_images(200, 20);
  const Activations a = m.reading.activations(0, images.view());
  const Directions classes = m.reading.classes();
  const GateTerms plain = weights_lines(m.reading)[0];
  const Reading weights = read(m.reading, classes, plain, a);
  EXPECT_EQ(weights.fidelity.eigenvectors_r2, weights.fidelity.r2);
  EXPECT_EQ(weights.fidelity.each(&Trust::linear_share), std::vector<double>(3, 0.0));

  const GateTerms line =
      calibrated_form({m.linalg, m.reading.pool(), m.reading.layer(0)}, a.inputs, Calibration::affine);
  const Reading calibrated = read(m.reading, classes, line, a);
  EXPECT_GT(calibrated.fidelity.r2, calibrated.fidelity.eigenvectors_r2);
  EXPECT_EQ(weights.fidelity.each(&Trust::quadratic_share), std::vector<double>(3, 1.0));
  for (size_t u = 0; u < 3; u++) {
    const Trust& unit = calibrated.fidelity.units[u];
    EXPECT_NE(unit.linear_share, 0);
    EXPECT_NEAR(unit.linear_share + unit.quadratic_share, 1, 1e-12);
  }
  EXPECT_EQ(form_fidelity(m.reading, classes, line, a).r2, calibrated.fidelity.r2);
}

TEST(Read, GivesAsManyEigenpairsAsAreWanted) {
  const OneImageModel m(7);
  const Matrix<uint8_t> images = some_images(30, 20);
  const Activations a = m.reading.activations(0, images.view());
  const GateTerms line = weights_lines(m.reading)[0];
  const Reading all = read(m.reading, m.reading.classes(), line, a);
  const Reading few = read(m.reading, m.reading.classes(), line, a, {.strongest = 3});
  for (size_t u = 0; u < 3; u++) {
    EXPECT_EQ(all.units[u].spectrum.count(), 12u);
    EXPECT_EQ(few.units[u].spectrum.count(), 3u);
  }
  EXPECT_EQ(few.fidelity.r2, all.fidelity.r2);
}

}  // namespace
}  // namespace glint

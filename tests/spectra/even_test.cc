// Even and odd parts of a layer, and the form of the weights as the even part.
#include "glint/spectra/even.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fixtures.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

// f at x and at its mirror image, in double from the definitions.
struct TwoSides {
  double here = 0, mirrored = 0;
  double size = 0;  // of the terms that were added up: what rounding goes by
};

TwoSides two_sides(const Layer& layer, std::span<const double> q, std::span<const double> x) {
  Layer mirror = layer;
  for (std::vector<float>* bias : {&mirror.bias_left, &mirror.bias_right})
    for (float& b : *bias) b = -b;
  const std::vector<double> minus = [&] {
    std::vector<double> out(x.begin(), x.end());
    for (double& v : out) v = -v;
    return out;
  }();
  TwoSides s{exact_output(layer.view(), q, x), exact_output(mirror.view(), q, minus)};
  for (size_t h = 0; h < q.size(); h++) {
    const PreActivation a = pre_activation(layer.view(), h, x);
    s.size += std::fabs(q[h] * a.r) * (std::fabs(a.l) + 1);
  }
  return s;
}

class EvenPart : public ::testing::TestWithParam<int> {
 protected:
  GateKind kind() const { return static_cast<GateKind>(GetParam()); }
  Parity parity() const { return gate_info(kind()).text.parity; }
  const LinearAlgebra linalg;
  ThreadPool pool{2};
};
INSTANTIATE_TEST_SUITE_P(Gates, EvenPart, ::testing::Range(0, kGateCount), [](const auto& p) {
  std::string name(gate_info(static_cast<GateKind>(p.param)).text.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Half gates: (f(x) + f(-x)) / 2 = x' Q x with the gains of the form; odd gates: f(-x) = f(x). No random l is
// 0.
TEST_P(EvenPart, IsTheFormOfTheWeightsOrTheWholeLayer) {
  ASSERT_NE(parity(), Parity::other) << "the form of the weights has no meaning for such a gate";
  const Matrix<double> q = random_matrix(2, 25, 700), x = random_matrix(40, 18, 701);
  for (const bool bias : {false, true}) {
    const Layer layer = random_layer(25, 18, bias, kind());
    const std::vector<UnitForm> forms = unit_forms({linalg, pool, layer.view()}, weights_form(layer.view()), q);
    for (size_t u = 0; u < 2; u++)
      for (size_t i = 0; i < x.rows(); i++) {
        const TwoSides f = two_sides(layer, q.view().row(u), x.view().row(i));
        if (parity() == Parity::odd)
          EXPECT_NEAR(f.mirrored, f.here, 1e-14 * f.size);
        else
          EXPECT_NEAR((f.here + f.mirrored) / 2, form_value(forms[u], x.view().row(i)), 1e-13 * f.size);
      }
  }
}

TEST_P(EvenPart, TheGainComesFromTheGatesParity) {
  const Layer layer = random_layer(5, 4, false, kind());
  for (const double gain : weights_form(layer.view()).gain) EXPECT_EQ(gain, parity() == Parity::odd ? 1 : 0.5);
}

TEST_P(EvenPart, MirroredOutputsAreThoseOfTheMirrorImage) {
  const Matrix<double> q = random_matrix(2, 25, 702);
  const Matrix<float> x = random_matrix<float>(270, 18, 703);  // more than one tile
  for (const bool bias : {false, true}) {
    const Layer layer = random_layer(25, 18, bias, kind());
    const Matrix<double> mirrored = mirrored_outputs({linalg, pool, layer.view()}, q, x);
    for (size_t i = 0; i < x.rows(); i += 13) {
      const std::vector<double> xi(x.view().row(i).begin(), x.view().row(i).end());
      for (size_t u = 0; u < 2; u++) {
        const TwoSides f = two_sides(layer, q.view().row(u), xi);
        EXPECT_NEAR(mirrored(i, u), f.mirrored, 2e-6 * f.size);
      }
    }
  }
}

// The share of a layer is that of its outputs at inputs and mirror images, counted as one set of data.
TEST_P(EvenPart, ShareIsThatOfDataAndMirrorImages) {
  const Matrix<double> q = random_matrix(3, 25, 704);
  Matrix<float> x = random_matrix<float>(300, 18, 705);
  for (float& v : x.span()) v += 0.7f;  // as pixels: not around 0
  const Layer layer = random_layer(25, 18, true, kind());
  const Matrix<double> here = layer_outputs({linalg, pool, layer.view()}, q, x),
                       there = mirrored_outputs({linalg, pool, layer.view()}, q, x);
  const EvenShare share = even_share({linalg, pool, layer.view()}, q, x);
  ASSERT_EQ(share.unit.size(), 3u);
  double all_even = 0, all_total = 0;
  for (size_t u = 0; u < 3; u++) {
    double mean = 0, even = 0, total = 0;
    for (size_t i = 0; i < 300; i++) mean += (here(i, u) + there(i, u)) / 600;
    for (size_t i = 0; i < 300; i++) {
      const double e = (here(i, u) + there(i, u)) / 2 - mean;
      even += 2 * e * e;
      total += (here(i, u) - mean) * (here(i, u) - mean) + (there(i, u) - mean) * (there(i, u) - mean);
    }
    EXPECT_NEAR(share.unit[u], even / total, 1e-9);
    all_even += even, all_total += total;
  }
  EXPECT_NEAR(share.all, all_even / all_total, 1e-9);
  EXPECT_EQ(share.all == 1, parity() == Parity::odd);
  // No even function of the input is nearer to the outputs there than the even part itself.
  if (parity() != Parity::half_linear) return;
  const Matrix<double> form = form_outputs({linalg, pool, layer.view()}, weights_form(layer.view()), q, x);
  double error = 0;
  for (size_t i = 0; i < here.size(); i++)
    error += std::pow(here.data()[i] - form.data()[i], 2) + std::pow(there.data()[i] - form.data()[i], 2);
  EXPECT_NEAR(1 - error / all_total, share.all, 1e-6);
}

TEST(EvenShare, OfEvenOddAndConstantOutputs) {
  const Matrix<double> y = random_matrix(50, 2, 706);
  Matrix<double> minus = y, constant(50, 2);
  for (double& v : minus.span()) v = -v;
  for (double& v : constant.span()) v = 3;
  EXPECT_EQ(even_share(y, y).all, 1);
  EXPECT_EQ(even_share(y, minus).all, 0);
  EXPECT_EQ(even_share(constant, constant).all, 1);
  EXPECT_EQ(even_share(Matrix<double>(0, 2), Matrix<double>(0, 2)).unit, (std::vector<double>{1, 1}));
}

TEST(EvenShare, StandsInEveryFidelity) {
  for (const GateKind gate : {GateKind::Silu, GateKind::Sqs}) {
    const OneImageModel m(7, 1, true, gate);
    Matrix<uint8_t> images(60, 20);
    for (size_t i = 0; i < images.size(); i++) images.data()[i] = static_cast<uint8_t>(i * 37 % 251);
    const Activations a = m.reading.activations(0, images.view());
    const Directions classes = m.reading.classes();
    const GateTerms line = weights_lines(m.reading)[0];
    const EvenShare share = even_share({m.linalg, m.reading.pool(), m.reading.layer(0)}, classes.weights, a.inputs);
    const Reading reading = read(m.reading, classes, line, a);
    EXPECT_EQ(reading.fidelity.even_share, share.all);
    EXPECT_EQ(reading.fidelity.each(&Trust::even_share), share.unit);
    EXPECT_EQ(form_fidelity(m.reading, classes, line, a).even_share, share.all);
    EXPECT_EQ(share.all < 1, gate == GateKind::Silu);
  }
}

// The fidelity at -x against the model and the form computed there in double, unit by unit. A residual path
// is negated with the layer's input. With an odd gate a form without a linear part is there what it is at x.
TEST(MirroredFidelity, IsThatOfModelAndFormAtTheMirrorImages) {
  for (const GateKind gate : {GateKind::Silu, GateKind::Sqs})
    for (const bool residual : {false, true}) {
      const OneImageModel m(7, 1, true, gate, residual);
      Matrix<uint8_t> images(60, 20);
      for (size_t i = 0; i < images.size(); i++) images.data()[i] = static_cast<uint8_t>(i * 37 % 251);
      const Activations a = m.reading.activations(0, images.view());
      const Directions classes = m.reading.classes();
      GluLayerView mirror = m.reading.layer(0);
      std::vector<float> left(mirror.bias_left.begin(), mirror.bias_left.end()),
          right(mirror.bias_right.begin(), mirror.bias_right.end());
      for (std::vector<float>* bias : {&left, &right})
        for (float& b : *bias) b = -b;
      mirror.bias_left = left, mirror.bias_right = right;
      GateTerms line = weights_lines(m.reading)[0];
      for (const bool shifted : {false, true}) {
        if (shifted) line.shift = std::vector<double>(line.gain.size(), 0.3);
        Matrix<double> own(60, classes.count()), form(60, classes.count());
        for (size_t i = 0; i < 60; i++) {
          std::vector<double> minus;
          for (const float v : a.inputs.view().row(i)) minus.push_back(-static_cast<double>(v));
          for (size_t u = 0; u < classes.count(); u++) {
            const double aside = (classes.constants.empty() ? 0 : classes.constants[u]) -
                                 (a.residual_logits.size() ? a.residual_logits(i, u) : 0);
            own(i, u) = aside + exact_output(mirror, classes.weights.view().row(u), minus);
            form(i, u) = aside;
            for (size_t h = 0; h < mirror.hidden(); h++) {
              const PreActivation p = pre_activation(mirror, h, minus);
              form(i, u) += classes.weights(u, h) * (line.gain[h] * p.l + (shifted ? 0.3 : 0)) * p.r;
            }
          }
        }
        const Fidelity truth = fidelity(own, form);
        const Reading reading = read(m.reading, classes, line, a);
        ASSERT_TRUE(reading.fidelity.mirrored);
        // Pre-activations are sums of 8 products in float: 1e-6 of the values, squared in R2.
        EXPECT_NEAR(reading.fidelity.mirrored->r2, truth.r2, 1e-5 * std::max(1.0, std::fabs(truth.r2)));
        EXPECT_EQ(reading.fidelity.mirrored->agreement, truth.agreement);
        EXPECT_EQ(form_fidelity(m.reading, classes, line, a).mirrored->r2, reading.fidelity.mirrored->r2);
        if (gate != GateKind::Sqs || residual) continue;
        const Fidelity& f = reading.fidelity;
        if (!shifted) {
          EXPECT_EQ(f.mirrored->agreement, f.eigenvectors_agreement);
          EXPECT_NEAR(f.mirrored->r2, f.eigenvectors_r2, 1e-5 * std::max(1.0, std::fabs(f.eigenvectors_r2)));
        } else {
          EXPECT_NE(reading.fidelity.mirrored->r2, reading.fidelity.r2);
        }
      }
    }
}

}  // namespace
}  // namespace glint

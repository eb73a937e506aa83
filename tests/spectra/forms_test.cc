#include "glint/spectra/calibration.h"

#include <algorithm>

#include "fixtures.h"

namespace glint {
namespace {

using namespace fixtures;

class Forms : public testing::TestWithParam<LinalgBackend> {
 protected:
  const LinearAlgebra linalg{GetParam()};
  ThreadPool pool{2};
};
INSTANTIATE_TEST_SUITE_P(Backends, Forms, testing::ValuesIn(backends()),
                         [](const auto& p) { return p.param == LinalgBackend::openblas ? "OpenBlas" : "Eigen"; });

std::vector<Gate> gates() {
  std::vector<Gate> out;
  for (int i = 0; i < kGateCount; i++) out.push_back({static_cast<GateKind>(i), {}});
  out.push_back({GateKind::Sqs, {.c = 0.3, .lambda = 0.7, .p = 2}});
  out.push_back({GateKind::Sqs, {.c = -0.2, .lambda = 2, .p = 0.5}});
  return out;
}

TEST_P(Forms, CalibrationAgreesWithNumpy) {
  const nlohmann::json g = golden()["layer"];
  const Matrix<float> x = to_matrix<float>(g["x"]);
  for (const std::string name : {"sqs", "silu"}) {
    const Layer layer{to_matrix<float>(g["left"]), to_matrix<float>(g["right"]), {}, {}, {parse_gate(name), {}}};
    const GateTerms gain = calibrated_form({linalg, pool, layer.view()}, x, Calibration::gain);
    const GateTerms affine = calibrated_form({linalg, pool, layer.view()}, x, Calibration::affine);
    EXPECT_TRUE(gain.shift.empty());
    // Pre-activations are float sums of ten terms: relative error below 1e-6; the fit is well conditioned.
    for (size_t h = 0; h < layer.left.rows(); h++) {
      EXPECT_NEAR(gain.gain[h], g[name + "_gain"][h].get<double>(), 1e-5);
      EXPECT_NEAR(affine.gain[h], g[name + "_affine_gain"][h].get<double>(), 1e-5);
      EXPECT_NEAR(affine.shift[h], g[name + "_affine_shift"][h].get<double>(), 1e-5);
    }
    const Matrix<double> head = hidden_weights(to_matrix<float>(g["head"]).view());
    const Matrix<double> logits = layer_outputs({linalg, pool, layer.view()}, head, x);
    for (size_t i = 0; i < x.rows(); i++)
      for (size_t u = 0; u < head.rows(); u++) EXPECT_NEAR(logits(i, u), g[name + "_logits"][i][u].get<double>(), 1e-4);
  }
}

TEST_P(Forms, CalibratingTheIdentityChangesNothing) {
  const Layer layer = random_layer(33, 20, true, GateKind::Identity);
  const Matrix<float> x = random_matrix<float>(700, 20, 400);
  for (Calibration c : {Calibration::gain, Calibration::affine}) {
    const GateTerms line = calibrated_form({linalg, pool, layer.view()}, x, c);
    for (double gain : line.gain) EXPECT_EQ(gain, 1);
    for (double shift : line.shift) EXPECT_EQ(shift, 0);
  }
}

TEST_P(Forms, TheAffineLineIsNeverFartherThanTheGainNorTheGainThanTheWeights) {
  const size_t hidden = 25, inputs = 18;
  const Matrix<float> x = random_matrix<float>(500, inputs, 401);
  for (const Gate& gate : gates()) {
    Layer layer = random_layer(hidden, inputs, true, gate.kind);
    layer.gate = gate;
    const auto error = [&](const GateTerms& line, size_t h) {
      double sum = 0;
      for (size_t i = 0; i < x.rows(); i++) {
        std::vector<double> xi(x.view().row(i).begin(), x.view().row(i).end());
        const PreActivation a = pre_activation(layer.view(), h, xi);
        const double shift = line.shift.empty() ? 0 : line.shift[h];
        const double e = (gate_info(gate.kind).value(a.l, gate.params) - line.gain[h] * a.l - shift) * a.r;
        sum += e * e;
      }
      return sum;
    };
    const GateTerms weights = weights_form(layer.view());
    const GateTerms gain = calibrated_form({linalg, pool, layer.view()}, x, Calibration::gain);
    const GateTerms affine = calibrated_form({linalg, pool, layer.view()}, x, Calibration::affine);
    for (size_t h = 0; h < hidden; h++) {
      EXPECT_LE(error(gain, h), error(weights, h) + 1e-6);
      EXPECT_LE(error(affine, h), error(gain, h) + 1e-6);
      GateTerms moved = affine;  // a minimum: any step away is worse
      for (double step : {-0.01, 0.01}) {
        moved.gain[h] = affine.gain[h] + step, moved.shift[h] = affine.shift[h];
        EXPECT_GT(error(moved, h), error(affine, h));
        moved.gain[h] = affine.gain[h], moved.shift[h] = affine.shift[h] + step;
        EXPECT_GT(error(moved, h), error(affine, h));
      }
    }
  }
}

TEST_P(Forms, UnitsThatTheDataNeverMoveKeepTheirWeights) {
  Layer layer = random_layer(4, 6, false, GateKind::Silu);
  for (size_t i = 0; i < 6; i++) layer.right(1, i) = 0, layer.left(2, i) = 0;
  const Matrix<float> x = random_matrix<float>(50, 6, 402);
  for (Calibration c : {Calibration::gain, Calibration::affine}) {
    const GateTerms line = calibrated_form({linalg, pool, layer.view()}, x, c);
    EXPECT_EQ(line.gain[1], 1);
    EXPECT_EQ(line.gain[2], 1);
    EXPECT_LT(line.gain[0], 1);
  }
  const GateTerms none = calibrated_form({linalg, pool, layer.view()}, Matrix<float>(0, 6), Calibration::affine);
  for (double g : none.gain) EXPECT_EQ(g, 1);
}

TEST_P(Forms, LocalFormIsTheLogitOfEveryGate) {
  const size_t hidden = 40, inputs = 24;
  const Matrix<double> w = random_matrix(3, hidden, 403), x = random_matrix(20, inputs, 404);
  for (const Gate& gate : gates())
    for (bool bias : {false, true}) {
      Layer layer = random_layer(hidden, inputs, bias, gate.kind);
      layer.gate = gate;
      for (size_t i = 0; i < inputs; i++) layer.left(5, i) = 0;  // l = 0 exactly when there is no bias
      for (size_t i = 0; i < inputs; i++) layer.left(6, i) *= 1e-9f;
      for (size_t n = 0; n < x.rows(); n++) {
        const GateTerms line = local_form(layer.view(), x.view().row(n));
        const std::vector<UnitForm> forms = unit_forms({linalg, pool, layer.view()}, line, w);
        for (size_t u = 0; u < w.rows(); u++) {
          const double logit = exact_output(layer.view(), w.view().row(u), x.view().row(n));
          EXPECT_NEAR(form_value(forms[u], x.view().row(n)), logit, 1e-6 * std::fabs(logit))
              << gate_info(gate.kind).text.name;
          EXPECT_NEAR(form_value(forms[u], x.view().row(n)), logit, 1e-11);
        }
      }
    }
}

TEST_P(Forms, LocalFormWhereTheGateJumps) {
  Layer layer = random_layer(3, 2, false, GateKind::Sqs);
  layer.gate.params.c = 0.25;
  const Matrix<double> w = random_matrix(1, 3, 405);
  const std::vector<double> zero = {0, 0};
  const GateTerms line = local_form(layer.view(), zero);
  for (size_t h = 0; h < 3; h++) {
    EXPECT_EQ(line.gain[h], 0);
    EXPECT_EQ(line.shift[h], -0.25);
  }
  // As near to 0 as doubles go, on both sides, the gain stays bounded and the line still meets the gate.
  for (double tiny : {1e-3, 1e-8, 1e-300, -1e-3, -1e-8, -1e-300}) {
    const std::vector<double> x = {tiny, 2 * tiny};
    const GateTerms near = local_form(layer.view(), x);
    for (size_t h = 0; h < 3; h++) {
      const double l = pre_activation(layer.view(), h, x).l;
      EXPECT_LE(std::fabs(near.gain[h]), kLocalGain);
      EXPECT_NEAR(near.gain[h] * l + near.shift[h], gate_info(GateKind::Sqs).value(l, layer.gate.params), 1e-16);
    }
  }
}

TEST_P(Forms, OutputsOfAFormAreTheValuesOfItsSpectrum) {
  const size_t hidden = 30, inputs = 17;
  const Matrix<double> w = random_matrix(4, hidden, 406);
  const Matrix<float> x = random_matrix<float>(300, inputs, 407);
  const std::vector<float> constants = {1, -2, 0.5f, 8};
  for (GateKind kind : {GateKind::Sqs, GateKind::Silu})
    for (bool bias : {false, true}) {
      const Layer layer = random_layer(hidden, inputs, bias, kind);
      const GateTerms line = calibrated_form({linalg, pool, layer.view()}, x, Calibration::affine);
      const Matrix<double> outputs = form_outputs({linalg, pool, layer.view()}, line, w, x, constants);
      const std::vector<UnitForm> forms = unit_forms({linalg, pool, layer.view()}, line, w, constants);
      for (size_t i = 0; i < x.rows(); i += 7) {
        const std::vector<double> xi(x.view().row(i).begin(), x.view().row(i).end());
        for (size_t u = 0; u < w.rows(); u++) {
          double size = 1;  // float sums of 17 terms: each product of two pre-activations is off by 1e-6
          for (size_t h = 0; h < hidden; h++) {
            const PreActivation a = pre_activation(layer.view(), h, xi);
            size += std::fabs(w(u, h) * a.r) * (std::fabs(a.l) + 1);
          }
          EXPECT_NEAR(form_value(forms[u], xi), outputs(i, u), 2e-6 * size);
        }
      }
    }
}

TEST_P(Forms, LayerOutputsAreTheLayer) {
  const size_t hidden = 30, inputs = 17;
  const Matrix<double> w = random_matrix(2, hidden, 408);
  const Matrix<float> x = random_matrix<float>(270, inputs, 409);  // more than one tile
  for (const Gate& gate : gates()) {
    Layer layer = random_layer(hidden, inputs, true, gate.kind);
    layer.gate = gate;
    const Matrix<double> outputs = layer_outputs({linalg, pool, layer.view()}, w, x);
    for (size_t i = 0; i < x.rows(); i++) {
      const std::vector<double> xi(x.view().row(i).begin(), x.view().row(i).end());
      for (size_t u = 0; u < 2; u++) EXPECT_NEAR(outputs(i, u), exact_output(layer.view(), w.view().row(u), xi), 1e-4);
    }
  }
}

TEST_P(Forms, BitsDoNotDependOnTheNumberOfThreads) {
  const Layer layer = random_layer(40, 30, true, GateKind::Sqs);
  const Matrix<double> w = random_matrix(3, 40, 410);
  const Matrix<float> x = random_matrix<float>(1500, 30, 411);
  ThreadPool one(1);
  const GateTerms line = calibrated_form({linalg, one, layer.view()}, x, Calibration::affine);
  const Matrix<double> outputs = form_outputs({linalg, one, layer.view()}, line, w, x);
  for (size_t threads : {2u, 3u, 7u}) {
    ThreadPool many(threads);
    const GateTerms again = calibrated_form({linalg, many, layer.view()}, x, Calibration::affine);
    EXPECT_EQ(again.gain, line.gain);
    EXPECT_EQ(again.shift, line.shift);
    EXPECT_TRUE(std::ranges::equal(form_outputs({linalg, many, layer.view()}, line, w, x).span(), outputs.span()));
  }
}

// A layer wide enough for the solver that does not form Q: the same strongest pairs as from the whole
// spectrum.
TEST_P(Forms, FewPairsOfAWideLayerAreTheStrongestOfAll) {
  const Layer layer = random_layer(24, 1100, false, GateKind::Sqs);
  const Matrix<double> w = random_matrix(2, 24, 413);
  const GateTerms line = weights_form(layer.view());
  const std::vector<UnitForm> whole = unit_forms({linalg, pool, layer.view()}, line, w);
  const std::vector<UnitForm> few = unit_forms({linalg, pool, layer.view()}, line, w, {}, {.strongest = 6});
  for (size_t u = 0; u < w.rows(); u++) {
    const UnitForm expected = strongest_terms(whole[u], 6);
    ASSERT_EQ(few[u].spectrum.count(), 6u);
    for (size_t k = 0; k < 6; k++) {
      EXPECT_NEAR(few[u].spectrum.values[k] / expected.spectrum.values[k], 1, 1e-10);
      EXPECT_NEAR(dot(few[u].spectrum.vectors.view().row(k), expected.spectrum.vectors.view().row(k)), 1, 1e-10);
    }
  }
  EXPECT_EQ(unit_forms({linalg, pool, layer.view()}, line, w, {}, {.strongest = 500})[0].spectrum.count(), 500u);
}

TEST_P(Forms, DataThatAreNotFiniteAreANumericError) {
  const Layer layer = random_layer(4, 3, false, GateKind::Sqs);
  Matrix<float> x = random_matrix<float>(9, 3, 412);
  x(4, 1) = std::nanf("");
  try {
    calibrated_form({linalg, pool, layer.view()}, x, Calibration::gain);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::numeric);
  }
}

// All five terms of a form: what eigenvectors, linear part and constant give is what the terms say, at the
// size of every input.
TEST_P(Forms, FiveTermsAreAQuadraticForm) {
  for (const bool biases : {false, true}) {
    const Layer layer = random_layer(9, 6, biases, GateKind::Silu);
    const GluLayerView view = layer.view();
    const Matrix<double> weights = random_matrix(3, 9, 81);
    const Matrix<float> x = random_matrix<float>(11, 6, 82);
    const Matrix<double> numbers = random_matrix(6, 9, 83);
    GateTerms terms;
    for (size_t k = 0; k < std::size(kTermLists); k++)
      (terms.*kTermLists[k].values).assign(numbers.view().row(k).begin(), numbers.view().row(k).end());
    for (size_t h = 0; h < 9; h++) terms.slope.push_back(0.1 * static_cast<double>(h));
    terms.power = 2, terms.size = 1.5;
    const Matrix<double> got = form_outputs({linalg, pool, view}, terms, weights, x);
    for (size_t i = 0; i < x.rows(); i++) {
      const std::vector<double> at(x.view().row(i).begin(), x.view().row(i).end());
      const double size = input_size(at);
      const std::vector<UnitForm> forms = unit_forms({linalg, pool, view}, at_size(terms, size), weights);
      for (size_t u = 0; u < 3; u++) {
        double direct = 0, scale = 0;
        for (size_t h = 0; h < 9; h++) {
          const PreActivation p = pre_activation(view, h, at);
          const double shrunk = std::sqrt(1 + std::pow(terms.slope[h] * size, 2));
          const double value = terms.gain[h] / shrunk * p.l * p.r + terms.square[h] / shrunk * p.l * p.l +
                               terms.left[h] * p.l + terms.shift[h] * p.r + terms.constant[h];
          direct += weights(u, h) * value, scale += std::fabs(weights(u, h) * value);
        }
        EXPECT_NEAR(form_value(forms[u], at), direct, 1e-12 * (1 + scale));
        // Pre-activations of the layer are floats.
        EXPECT_NEAR(got(i, u), direct, 1e-5 * (1 + scale));
      }
    }
    // Few pairs of the same matrix come from products with it, not from the matrix.
    const QuadraticPart q = quadratic_part(weights.view().row(0), terms);
    const Matrix<double> whole = interaction(linalg, view, q);
    Matrix<double> unit(1, view.width()), image(1, view.width());
    for (size_t j = 0; j < view.width(); j++) {
      std::ranges::fill(unit.span(), 0.0), unit(0, j) = 1;
      InteractionOperator({linalg, pool, view}).apply(q, unit, image);
      for (size_t k = 0; k < view.width(); k++) EXPECT_NEAR(image(0, k), whole(j, k), 1e-12);
    }
  }
}

}  // namespace
}  // namespace glint

#include "glint/spectra/scaled.h"

#include <cmath>
#include <limits>

#include "fixtures.h"
#include "glint/base/error.h"
#include "glint/spectra/calibration.h"
#include "glint/spectra/measures.h"
#include "glint/spectra/refine.h"

namespace glint {
namespace {

using namespace fixtures;

class Scaled : public testing::TestWithParam<LinalgBackend> {
 protected:
  const LinearAlgebra linalg{GetParam()};
  ThreadPool pool{2};
};
INSTANTIATE_TEST_SUITE_P(Backends, Scaled, testing::ValuesIn(backends()),
                         [](const auto& p) { return p.param == LinalgBackend::openblas ? "OpenBlas" : "Eigen"; });

GluLayerView normed(GluLayerView view) {
  view.normed = true;
  return view;
}

std::vector<float> floats(const nlohmann::json& j, const char* key) {
  return j.contains(key) ? j[key].get<std::vector<float>>() : std::vector<float>();
}

TEST_P(Scaled, AgreesWithNumpy) {
  for (const nlohmann::json& g : golden("scaled.json")) {
    Layer layer{to_matrix<float>(g["left"]), to_matrix<float>(g["right"]), floats(g, "bias_left"),
                floats(g, "bias_right"), Gate{parse_gate(g["gate"].get<std::string>()), {}}};
    if (g.contains("lam")) layer.gate.params = {.c = g["c"], .lambda = g["lam"], .p = g["p"]};
    const GluLayerView view = g["normed"].get<bool>() ? normed(layer.view()) : layer.view();
    const Matrix<float> x = to_matrix<float>(g["x"]);
    const Matrix<double> head = to_matrix<double>(g["head"]);
    const GateTerms single = scaled_form({linalg, pool, view}, {}, x),
                    line = scaled_form({linalg, pool, view}, head, x);
    ASSERT_EQ(line.slope.empty(), !g.contains("slope"));
    EXPECT_TRUE(line.shift.empty());
    // Pre-activations are float sums of seven terms, and the solve is well conditioned.
    for (size_t h = 0; h < layer.left.rows(); h++) {
      EXPECT_NEAR(single.gain[h], g["single"][h].get<double>(), 1e-5);
      EXPECT_NEAR(line.gain[h], g["gain"][h].get<double>(), 1e-4);
      if (!line.slope.empty()) {
        EXPECT_NEAR(line.slope[h], g["slope"][h].get<double>(), 1e-5);
      }
    }
    if (!line.slope.empty()) {
      EXPECT_NEAR(line.size, g["size"].get<double>(), 1e-6);
      EXPECT_EQ(line.power, g["p"].get<double>());
    }
    const Matrix<double> out = form_outputs({linalg, pool, view}, line, head, x);
    for (size_t i = 0; i < x.rows(); i++)
      for (size_t u = 0; u < head.rows(); u++)
        EXPECT_NEAR(out(i, u), g["outputs"][i][u].get<double>(), 1e-3 * (1 + std::fabs(out(i, u))));
  }
}

// A quadratic form is even, and so is the size of the input: not one bit differs.
TEST_P(Scaled, IsExactlyTheSameOnTheNegativeOfAnInput) {
  const Layer layer = random_layer(24, 10, false, GateKind::Sqs);
  const Matrix<float> x = random_matrix<float>(600, 10, 31);
  Matrix<float> mirror = x;
  for (float& e : mirror.span()) e = -e;
  const Matrix<double> head = random_matrix(5, 24, 32);
  const GateTerms line = scaled_form({linalg, pool, layer.view()}, head, x);
  ASSERT_FALSE(line.slope.empty());
  const Matrix<double> a = form_outputs({linalg, pool, layer.view()}, line, head, x),
                       b = form_outputs({linalg, pool, layer.view()}, line, head, mirror);
  for (size_t i = 0; i < a.size(); i++) ASSERT_EQ(a.data()[i], b.data()[i]) << i;
}

TEST_P(Scaled, BitsDoNotDependOnTheNumberOfThreads) {
  const Layer layer = random_layer(24, 10, true, GateKind::Sqs);
  const Matrix<float> x = random_matrix<float>(1500, 10, 33);
  const Matrix<double> head = random_matrix(5, 24, 34);
  ThreadPool one(1);
  const GateTerms first = scaled_form({linalg, one, layer.view()}, head, x);
  for (const size_t threads : {2, 3, 7}) {
    ThreadPool many(threads);
    const GateTerms line = scaled_form({linalg, many, layer.view()}, head, x);
    EXPECT_EQ(line.gain, first.gain) << threads;
    EXPECT_EQ(line.slope, first.slope) << threads;
    EXPECT_EQ(line.size, first.size) << threads;
  }
}

TEST_P(Scaled, LeavesTheIdentityAsItIs) {
  const Layer layer = random_layer(12, 6, true, GateKind::Identity);
  const Matrix<float> x = random_matrix<float>(300, 6, 35);
  for (const GluLayerView& view : {layer.view(), normed(layer.view())}) {
    const GateTerms line = scaled_form({linalg, pool, view}, random_matrix(3, 12, 36), x);
    EXPECT_EQ(line.gain, std::vector<double>(12, 1.0));
    EXPECT_TRUE(line.slope.empty() && line.shift.empty());
    EXPECT_EQ(line.size, 0);
  }
}

// Behind a norm the size never changes: the same fit is then one gain per unit, the slopes being constants.
TEST_P(Scaled, WithAConstantSizeIsOneGainPerUnit) {
  Layer layer = random_layer(12, 6, false, GateKind::Sqs);
  Matrix<float> x = random_matrix<float>(400, 6, 37);
  for (size_t i = 0; i < x.rows(); i++) {
    const float size = static_cast<float>(input_size(x.view().row(i)));
    for (float& e : x.view().row(i)) e *= 3 / size;
  }
  const Matrix<double> head = random_matrix(4, 12, 38);
  const GateTerms free = scaled_form({linalg, pool, layer.view()}, head, x),
                  held = scaled_form({linalg, pool, normed(layer.view())}, head, x);
  EXPECT_TRUE(held.slope.empty());
  EXPECT_EQ(held.size, 0);
  ASSERT_FALSE(free.slope.empty());
  const GateTerms plain = at_size(free, 3);
  EXPECT_TRUE(plain.slope.empty());
  for (size_t h = 0; h < 12; h++) EXPECT_NEAR(plain.gain[h], held.gain[h], 1e-6);
}

TEST_P(Scaled, UnitsThatNeverMoveAndSizesFarAwayStayFinite) {
  Layer layer = random_layer(8, 6, false, GateKind::Sqs);
  layer.gate.params.p = 3;
  for (size_t i = 0; i < 6; i++) layer.left(3, i) = layer.right(3, i) = 0;
  const Matrix<float> x = random_matrix<float>(400, 6, 39);
  const GateTerms line = scaled_form({linalg, pool, layer.view()}, random_matrix(4, 8, 40), x);
  EXPECT_EQ(line.slope[3], 0);
  EXPECT_EQ(line.gain[3], 1);
  for (const double s : {0.0, 1e-300, 1.0, 1e300, std::numeric_limits<double>::max()})
    for (const double gain : at_size(line, s).gain) EXPECT_TRUE(std::isfinite(gain)) << s;
  EXPECT_EQ(at_size(line, 0).gain, line.gain);
  const GateTerms none = scaled_form({linalg, pool, layer.view()}, {}, x.view().row_range(0, 0));
  EXPECT_EQ(none.gain, std::vector<double>(8, 1.0));
  Matrix<float> black(200, 6);
  EXPECT_EQ(scaled_form({linalg, pool, layer.view()}, random_matrix(4, 8, 41), black).gain,
            std::vector<double>(8, 1.0));
}

// Ten times more samples than unknowns, or none of them is trusted.
TEST_P(Scaled, FitsTheUnitsTogetherOnlyWithEnoughSamples) {
  const Layer layer = random_layer(20, 8, false, GateKind::Sqs);
  const Matrix<double> head = random_matrix(4, 20, 42);
  const Matrix<float> x = random_matrix<float>(200, 8, 43);
  const auto together = [&](size_t rows) {
    const ConstMatrixView<float> some = x.view().row_range(0, rows);
    return scaled_form({linalg, pool, layer.view()}, head, some).gain !=
           scaled_form({linalg, pool, layer.view()}, {}, some).gain;
  };
  EXPECT_TRUE(together(200));
  EXPECT_FALSE(together(199));
}

TEST_P(Scaled, RefusesAGateThatIsNotOddWithoutANorm) {
  const Matrix<float> x = random_matrix<float>(100, 6, 44);
  for (const GateKind kind : {GateKind::Relu, GateKind::Gelu, GateKind::Silu, GateKind::GeluTanh}) {
    const Layer layer = random_layer(8, 6, false, kind);
    EXPECT_FALSE(has_scaled_form(layer.view()));
    try {
      scaled_form({linalg, pool, layer.view()}, {}, x);
      FAIL() << "a reading of what is not even";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
      EXPECT_EQ(e.parts().where, "form");
      EXPECT_NE(e.parts().what.find("norm"), std::string::npos);
    }
    EXPECT_TRUE(has_scaled_form(normed(layer.view())));
    EXPECT_TRUE(scaled_form({linalg, pool, normed(layer.view())}, {}, x).shift.empty());
  }
}

// The spectrum is that at the size of the line; at an input of exactly that size it gives the form's output.
TEST_P(Scaled, IsDecomposedAtItsSize) {
  const Layer layer = random_layer(12, 6, true, GateKind::Sqs);
  Matrix<float> x = random_matrix<float>(400, 6, 45);
  const Matrix<double> head = random_matrix(3, 12, 46);
  const GateTerms line = scaled_form({linalg, pool, layer.view()}, head, x);
  const std::vector<UnitForm> forms = unit_forms({linalg, pool, layer.view()}, line, head),
                              plain = unit_forms({linalg, pool, layer.view()}, at_size(line, line.size), head);
  const float scale = static_cast<float>(line.size / input_size(x.view().row(0)));
  for (float& e : x.view().row(0)) e *= scale;
  const Matrix<double> out = form_outputs({linalg, pool, layer.view()}, line, head, x.view().row_range(0, 1));
  const std::vector<double> input(x.view().row(0).begin(), x.view().row(0).end());
  for (size_t u = 0; u < 3; u++) {
    EXPECT_EQ(forms[u].spectrum.values, plain[u].spectrum.values);
    EXPECT_NEAR(form_value(forms[u], input), out(0, u), 1e-5 * (1 + std::fabs(out(0, u))));
  }
}

struct Refine : testing::Test {
  static constexpr size_t kHidden = 16, kInputs = 8, kClasses = 5;
  const LinearAlgebra linalg;
  ThreadPool pool{2};
  Layer layer = random_layer(kHidden, kInputs, false, GateKind::Sqs);
  Matrix<float> x;
  const Matrix<double> head = random_matrix(kClasses, kHidden, 52);
  Matrix<float> logits{700, kClasses};

  void SetUp() override {
    x = random_matrix<float>(700, kInputs, 51);
    const Matrix<float> length = random_matrix<float>(700, 1, 53);
    for (size_t i = 0; i < x.rows(); i++)
      for (float& e : x.view().row(i)) e *= 0.5f + std::fabs(length(i, 0));
    const Matrix<double> own = layer_outputs({linalg, pool, layer.view()}, head, x);
    for (size_t i = 0; i < own.size(); i++) logits.data()[i] = static_cast<float>(own.data()[i]);
  }
  // Weighted squared error of the centred logits per sample and class, plus the cross-entropy with the
  // model's.
  double objective(const GateTerms& line) {
    const Matrix<double> form = form_outputs({linalg, pool, layer.view()}, line, head, x);
    double sum = 0;
    for (size_t i = 0; i < x.rows(); i++) {
      double own_total = 0, total = 0, shift = 0;
      for (size_t c = 0; c < kClasses; c++) {
        own_total += std::exp(static_cast<double>(logits(i, c))), total += std::exp(form(i, c));
        shift += (form(i, c) - static_cast<double>(logits(i, c))) / kClasses;
      }
      for (size_t c = 0; c < kClasses; c++) {
        const double own = logits(i, c), error = form(i, c) - own - shift;
        sum += kLogitWeight * error * error / kClasses - std::exp(own) / own_total * (form(i, c) - std::log(total));
      }
    }
    return sum / static_cast<double>(x.rows());
  }
  GateTerms refined(ThreadPool& threads) {
    return refined_form({linalg, threads, layer.view()}, head, logits, x,
                        scaled_form({linalg, threads, layer.view()}, head, x));
  }
};

// Downhill, to a place from which no small step of one gain or slope leads farther down.
TEST_F(Refine, EndsWhereTheObjectiveIsSmallest) {
  for (const double p : {1.0, 2.0}) {
    layer.gate.params.p = p;
    SetUp();
    const GateTerms start = scaled_form({linalg, pool, layer.view()}, head, x), line = refined(pool);
    EXPECT_EQ(line.power, 1);
    EXPECT_EQ(line.size, start.size);
    const double best = objective(line);
    EXPECT_LT(best, objective(start));
    for (size_t h = 0; h < kHidden; h++) {
      EXPECT_GE(line.slope[h], 0);
      for (const double factor : {0.97, 1.03}) {
        GateTerms near = line;
        near.gain[h] *= factor;
        EXPECT_GT(objective(near), best - 1e-6);
        near = line, near.slope[h] *= factor;
        EXPECT_GT(objective(near), best - 1e-6);
      }
    }
  }
}

TEST_F(Refine, BitsDoNotDependOnTheNumberOfThreads) {
  ThreadPool one(1);
  const GateTerms first = refined(one);
  for (const size_t threads : {2, 3}) {
    ThreadPool many(threads);
    const GateTerms line = refined(many);
    EXPECT_EQ(line.gain, first.gain) << threads;
    EXPECT_EQ(line.slope, first.slope) << threads;
  }
}

TEST_F(Refine, LeavesTheIdentityAndTooFewSamplesAlone) {
  const GateTerms line = scaled_form({linalg, pool, layer.view()}, head, x);
  const ConstMatrixView<float> few = x.view().row_range(0, 10 * kHidden - 1);
  EXPECT_EQ(refined_form({linalg, pool, layer.view()}, head, logits, few, line).gain, line.gain);
  layer.gate.kind = GateKind::Identity;
  EXPECT_EQ(refined_form({linalg, pool, layer.view()}, head, logits, x, line).gain, line.gain);
}

// Behind a norm there are no slopes to refine.
TEST_F(Refine, OfConstantSizesHasGainsAlone) {
  GluLayerView view = normed(layer.view());
  const GateTerms line = scaled_form({linalg, pool, view}, head, x),
                  better = refined_form({linalg, pool, view}, head, logits, x, line);
  EXPECT_TRUE(better.slope.empty());
  EXPECT_LT(objective(better), objective(line));
}

}  // namespace
}  // namespace glint

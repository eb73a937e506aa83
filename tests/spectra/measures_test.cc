#include "glint/spectra/measures.h"
#include "glint/spectra/calibration.h"

#include <algorithm>
#include <numeric>

#include "fixtures.h"
#include "glint/spectra/attack.h"

namespace glint {
namespace {

using namespace fixtures;

class Measures : public testing::TestWithParam<LinalgBackend> {
 protected:
  const LinearAlgebra linalg{GetParam()};
  ThreadPool pool{2};
  const nlohmann::json g = golden()["layer"];
  const Layer layer{to_matrix<float>(g["left"]), to_matrix<float>(g["right"]), {}, {}, Gate{GateKind::Sqs, {}}};
  const Matrix<float> x = to_matrix<float>(g["x"]);
  const Matrix<double> head = hidden_weights(to_matrix<float>(g["head"]).view());
  const std::vector<uint32_t> labels = g["labels"].get<std::vector<uint32_t>>();
  std::vector<UnitForm> plain_forms() {
    return unit_forms({linalg, pool, layer.view()}, weights_form(layer.view()), head);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Measures, testing::ValuesIn(backends()),
                         [](const auto& p) { return p.param == LinalgBackend::openblas ? "OpenBlas" : "Eigen"; });

TEST_P(Measures, FidelityAgreesWithNumpy) {
  const Matrix<double> model = layer_outputs({linalg, pool, layer.view()}, head, x);
  const Matrix<double> form = form_outputs({linalg, pool, layer.view()}, weights_form(layer.view()), head, x);
  const Fidelity f = fidelity(model, form, labels);
  const nlohmann::json& e = g["fidelity"];
  EXPECT_NEAR(f.correlation, e["correlation"].get<double>(), 1e-6);
  EXPECT_NEAR(f.r2, e["r2"].get<double>(), 1e-5);
  for (size_t u = 0; u < head.rows(); u++)
    EXPECT_NEAR(f.units[u].correlation, e["unit_correlation"][u].get<double>(), 1e-6);
  EXPECT_EQ(f.agreement, e["agreement"].get<double>());
  EXPECT_EQ(f.accuracy_model, e["accuracy_model"].get<double>());
  EXPECT_EQ(f.accuracy_form, e["accuracy_form"].get<double>());
  EXPECT_EQ(f.inputs, x.rows());
}

TEST_P(Measures, TruncationAgreesWithNumpyAndEndsAtTheForm) {
  const std::vector<UnitForm> forms = plain_forms();
  const Matrix<double> form = form_outputs({linalg, pool, layer.view()}, weights_form(layer.view()), head, x);
  const std::vector<uint32_t> decisions = argmax_rows(form);
  const TruncationCurve curve = truncation_curve(linalg, pool, forms, {x, labels, decisions});
  const std::vector<double> expected = g["truncation"].get<std::vector<double>>();
  EXPECT_EQ(curve.accuracy, expected);
  EXPECT_EQ(curve.agreement.back(), 1) << "all terms together are the form";
}

TEST_P(Measures, TruncationKeepsLinearPartsConstantsAndBiases) {
  const Layer biased = random_layer(20, 12, true, GateKind::Silu);
  const Matrix<float> data = random_matrix<float>(150, 12, 500);
  const Matrix<double> w = random_matrix(4, 20, 501);
  const std::vector<float> constants = {0.5f, 0, -0.5f, 2};
  const GateTerms line = calibrated_form({linalg, pool, biased.view()}, data, Calibration::affine);
  const std::vector<UnitForm> forms = unit_forms({linalg, pool, biased.view()}, line, w, constants);
  const std::vector<uint32_t> decisions =
      argmax_rows(form_outputs({linalg, pool, biased.view()}, line, w, data, constants));
  const TruncationCurve curve = truncation_curve(linalg, pool, forms, {data, {}, decisions});
  EXPECT_TRUE(curve.accuracy.empty());
  ASSERT_EQ(curve.agreement.size(), 14u);
  EXPECT_EQ(curve.agreement.back(), 1);
  // Without any quadratic term the decision is that of the linear part.
  size_t same = 0;
  for (size_t i = 0; i < data.rows(); i++) {
    Matrix<double> linear(1, 4);
    for (size_t u = 0; u < 4; u++) {
      linear(0, u) = forms[u].constant + forms[u].linear[12];
      for (size_t j = 0; j < 12; j++) linear(0, u) += forms[u].linear[j] * static_cast<double>(data(i, j));
    }
    same += argmax_rows(linear)[0] == decisions[i];
  }
  EXPECT_EQ(curve.agreement.front(), static_cast<double>(same) / 150);
}

TEST_P(Measures, TruncationIsTheSameAtAnyNumberOfThreads) {
  const std::vector<UnitForm> forms = plain_forms();
  ThreadPool one(1);
  const TruncationCurve expected = truncation_curve(linalg, one, forms, {x, labels, labels});
  for (size_t threads : {2u, 3u, 7u}) {
    ThreadPool many(threads);
    EXPECT_EQ(truncation_curve(linalg, many, forms, {x, labels, labels}).accuracy, expected.accuracy);
  }
}

TEST_P(Measures, RankAndEnergyAgreeWithNumpy) {
  const std::vector<double> values = plain_forms()[0].spectrum.values;
  const SpectrumRank rank = spectrum_rank(values);
  EXPECT_NEAR(rank.entropy, g["entropy_rank"].get<double>(), 1e-10);
  EXPECT_NEAR(rank.participation, g["participation"].get<double>(), 1e-10);
  const std::vector<double> energy = energy_curve(values);
  for (size_t k = 0; k < energy.size(); k++) EXPECT_NEAR(energy[k], g["energy"][k].get<double>(), 1e-12);
}

TEST_P(Measures, SharedDirectionsAreTheSingularVectorsOfTheStack) {
  std::vector<Spectrum> spectra;
  for (UnitForm& f : plain_forms()) spectra.push_back(std::move(f.spectrum));
  const SharedDirections shared = shared_directions(linalg, spectra);
  const std::vector<double> expected = g["shared_values"].get<std::vector<double>>();
  ASSERT_EQ(shared.values.size(), expected.size());
  for (size_t k = 0; k < expected.size(); k++) {
    EXPECT_NEAR(shared.values[k], expected[k], 1e-8 * expected[0]);
    double squares = 0;
    for (size_t u = 0; u < spectra.size(); u++) {
      const Matrix<double> q = compose(spectra[u].values, spectra[u].vectors);
      std::vector<double> qw(q.rows());
      const std::span<const double> w = shared.directions.view().row(k);
      for (size_t i = 0; i < q.rows(); i++) qw[i] = dot(q.view().row(i), w);
      EXPECT_NEAR(shared.share(u, k), norm(qw), 1e-10);
      EXPECT_NEAR(shared.signed_share(u, k), dot(w, qw), 1e-10);
      squares += dot(qw, qw);
    }
    EXPECT_NEAR(squares, shared.values[k] * shared.values[k], 1e-9);
  }
}

TEST(Fidelity, OfEqualShiftedAndConstantLogits) {
  const Matrix<double> y = random_matrix(50, 3, 510);
  Fidelity same = fidelity(y, y);
  EXPECT_EQ(same.r2, 1);
  EXPECT_NEAR(same.correlation, 1, 1e-15);
  EXPECT_EQ(same.agreement, 1);
  Matrix<double> doubled = y;
  for (double& v : doubled.span()) v = 2 * v;
  EXPECT_NEAR(fidelity(y, doubled).correlation, 1, 1e-12) << "scale does not matter to a correlation";
  EXPECT_LT(fidelity(y, doubled).r2, 0.5) << "but it does to R2";
  EXPECT_NEAR(fidelity(y, doubled).r2_scaled, 1, 1e-12) << "until one factor takes it away";
  Matrix<double> shifted = y;  // by another number for every input: no decision changes
  for (size_t i = 0; i < 50; i++)
    for (double& v : shifted.view().row(i)) v += static_cast<double>(i);
  EXPECT_LT(fidelity(y, shifted).r2, 0);
  EXPECT_NEAR(fidelity(y, shifted).r2_centred, 1, 1e-12);
  EXPECT_EQ(fidelity(y, shifted).agreement, 1);
  const Matrix<double> zero(50, 3);
  EXPECT_EQ(fidelity(zero, zero).r2, 1);
  EXPECT_EQ(fidelity(zero, y).r2, 0);
  EXPECT_EQ(fidelity(zero, y).r2_scaled, 1) << "a factor of 0 is one as well";
  EXPECT_GE(fidelity(y, zero).r2_scaled, fidelity(y, zero).r2);
  EXPECT_EQ(fidelity(y, zero).correlation, 0);
  EXPECT_EQ(fidelity(Matrix<double>(0, 3), Matrix<double>(0, 3)).inputs, 0u);
}

// What is added to all outputs of an input decides nothing.
TEST(Fidelity, CentredDoesNotSeeWhatAllOutputsHaveInCommon) {
  const Matrix<double> model = random_matrix(50, 4, 71);
  Matrix<double> form = model;
  for (size_t i = 0; i < form.rows(); i++)
    for (double& v : form.view().row(i)) v += 3.0 * static_cast<double>(i % 7);
  const Fidelity f = fidelity(model, form);
  EXPECT_LT(f.r2, 0);
  EXPECT_NEAR(f.r2_centred, 1, 1e-12);
  EXPECT_EQ(f.agreement, 1);
  form(3, 2) += 1;
  EXPECT_LT(fidelity(model, form).r2_centred, 1 - 1e-3);
}

TEST(SpectrumRank, CountsEqualValues) {
  const std::vector<double> four = {3, 3, -3, -3, 0, 0};
  EXPECT_NEAR(spectrum_rank(four).entropy, 4, 1e-12);
  EXPECT_NEAR(spectrum_rank(four).participation, 4, 1e-12);
  const std::vector<double> zero = {0, 0};
  EXPECT_EQ(spectrum_rank(zero).entropy, 0);
  EXPECT_EQ(spectrum_rank({}).participation, 0);
  const std::vector<double> huge = {1e200, 1e200};
  EXPECT_NEAR(spectrum_rank(huge).participation, 2, 1e-12);
  EXPECT_EQ(energy_curve(zero), (std::vector<double>{1, 1}));
  EXPECT_EQ(energy_curve(std::vector<double>{2, 0, -2, 0}), (std::vector<double>{0.5, 1, 1, 1}));
}

class Masks : public testing::Test {
 protected:
  const LinearAlgebra linalg;
  ThreadPool pool{1};
  const Layer layer = random_layer(40, 16, false, GateKind::Identity);
  const Matrix<float> embed = random_matrix<float>(16, 30, 520);
  const Matrix<float> images = [] {
    Matrix<float> m = random_matrix<float>(200, 30, 521);
    for (float& p : m.span()) p = p * 0.1f + 0.5f;
    return m;
  }();
  const Matrix<double> w = random_matrix(1, 40, 522);
  const UnitForm form = unit_forms({linalg, pool, layer.view()}, weights_form(layer.view()), w)[0];
  const Features maps = features(linalg, form.spectrum.vectors, {embed, false, {}});

  double mean_value(ConstMatrixView<float> pictures) const {
    double sum = 0;
    for (size_t i = 0; i < pictures.rows(); i++) {
      std::vector<double> e(16);
      for (size_t r = 0; r < 16; r++)
        for (size_t c = 0; c < 30; c++) e[r] += static_cast<double>(embed(r, c)) * static_cast<double>(pictures(i, c));
      sum += form_value(form, e);
    }
    return sum / static_cast<double>(pictures.rows());
  }
  double masked(std::span<const float> mask) const {
    Matrix<float> out(images.rows(), images.cols());
    add_mask(images, mask, 1, -100, 100, out);
    return mean_value(out);
  }
  static double length(std::span<const float> mask) {
    return std::sqrt(std::inner_product(mask.begin(), mask.end(), mask.begin(), 0.0));
  }
};

TEST_F(Masks, PushTheOutputFartherThanControlsOfTheSameLength) {
  const std::vector<double> mean = mean_of_rows(images);
  const double before = mean_value(images);
  for (size_t terms : {1u, 4u, 16u})
    for (int push : {1, -1}) {
      const std::vector<float> mask = eigen_mask(form.spectrum.values, maps, mean, terms, 2.0, push);
      EXPECT_NEAR(length(mask), 2, 1e-5);
      const double moved = push * (masked(mask) - before);
      EXPECT_GT(moved, 0);
      for (uint64_t seed = 0; seed < 10; seed++) {
        const std::vector<float> random = random_mask(30, 2.0, seed), shuffled = shuffled_mask(mask, seed);
        EXPECT_NEAR(length(random), 2, 1e-5);
        EXPECT_NEAR(length(shuffled), 2, 1e-5);
        EXPECT_GT(moved, push * (masked(random) - before)) << terms << " terms, seed " << seed;
        EXPECT_GT(moved, push * (masked(shuffled) - before)) << terms << " terms, seed " << seed;
      }
    }
}

TEST_F(Masks, OneTermIsTheEigenvectorsPicture) {
  const std::vector<double> mean = mean_of_rows(images);
  const std::vector<float> mask = eigen_mask(form.spectrum.values, maps, mean, 1, 1.0);
  const std::span<const double> f = maps.maps.view().row(0);
  const double sign = dot(f, mean) > 0 ? 1 : -1;
  for (size_t i = 0; i < mask.size(); i++) EXPECT_NEAR(mask[i], sign * f[i] / norm(f), 1e-6);
}

TEST_F(Masks, AreHeldInsideTheRange) {
  Matrix<float> out(images.rows(), images.cols());
  add_mask(images, random_mask(30, 50, 1), 1, 0, 1, out);
  for (float p : out.span()) {
    EXPECT_GE(p, 0);
    EXPECT_LE(p, 1);
  }
  EXPECT_EQ(random_mask(30, 1, 5), random_mask(30, 1, 5));
  EXPECT_NE(random_mask(30, 1, 5), random_mask(30, 1, 6));
}

TEST_F(Masks, AnOutputWithoutSupportersGivesNoMask) {
  const std::vector<double> negative(16, -1.0);
  for (float m : eigen_mask(negative, maps, mean_of_rows(images), 3, 1.0)) EXPECT_EQ(m, 0);
}

}  // namespace
}  // namespace glint

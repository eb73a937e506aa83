#include "glint/spectra/ablation.h"

#include <cmath>

#include "fixtures.h"
#include "image_fixture.h"

namespace glint {
namespace {

using namespace fixtures;

Matrix<double> rows_of(const Matrix<double>& m, std::initializer_list<size_t> rows) {
  Matrix<double> out(rows.size(), m.cols());
  size_t at = 0;
  for (const size_t r : rows) std::ranges::copy(m.view().row(r), out.view().row_ptr(at++));
  return out;
}

Matrix<uint8_t> ablation_images(size_t count) {
  Matrix<uint8_t> m(count, 20);
  const Rng rng(3, Stream::test, 901);
  for (size_t i = 0; i < m.size(); i++) m.data()[i] = static_cast<uint8_t>(rng.below(256, i));
  return m;
}

TEST(InputBasis, IsOrthonormalAndKeepsTheSpan) {
  const Layer layer = random_layer(4, 6, false, GateKind::Sqs);
  Matrix<double> vectors = random_matrix(3, 6, 7);
  for (size_t i = 0; i < 6; i++) vectors(2, i) = 2 * vectors(0, i) - vectors(1, i);  // nothing new
  const Matrix<double> b = input_basis(layer.view(), vectors);
  ASSERT_EQ(b.rows(), 2u);
  for (size_t r = 0; r < 2; r++)
    for (size_t s = 0; s < 2; s++) EXPECT_NEAR(dot(b.view().row(r), b.view().row(s)), r == s, 1e-14);
  for (size_t r = 0; r < 3; r++) {  // every vector is what it has along the basis
    std::vector<double> rest(vectors.view().row(r).begin(), vectors.view().row(r).end());
    for (size_t s = 0; s < 2; s++) {
      const double p = dot(rest, b.view().row(s));
      for (size_t i = 0; i < 6; i++) rest[i] -= p * b(s, i);
    }
    EXPECT_LT(norm(rest), 1e-13);
  }
}

TEST(InputBasis, TheConstantOfALayerWithBiasesIsNoInput) {
  const Layer layer = random_layer(4, 3, true, GateKind::Sqs);
  Matrix<double> vectors(2, 4);
  vectors(0, 1) = 0.6, vectors(0, 3) = 0.8;  // half an input, half the constant
  vectors(1, 3) = 1;                         // the constant alone
  const Matrix<double> b = input_basis(layer.view(), vectors);
  ASSERT_EQ(b.rows(), 1u);
  ASSERT_EQ(b.cols(), 3u);
  EXPECT_NEAR(std::fabs(b(0, 1)), 1, 1e-15);
  EXPECT_EQ(b(0, 0), 0);
}

TEST(AblatedInputs, KeepAShareAlongTheBasisAndAllOfTheRest) {
  const LinearAlgebra linalg;
  Matrix<float> x(2, 3);
  x(0, 0) = 3, x(0, 1) = 4, x(0, 2) = 5, x(1, 0) = -1;
  Matrix<double> basis(1, 3);
  basis(0, 0) = 0.6, basis(0, 1) = 0.8;  // x has 5 along it, then -0.6
  const Matrix<float> none = ablated_inputs(linalg, x, basis, 0), half = ablated_inputs(linalg, x, basis, 0.5),
                      same = ablated_inputs(linalg, x, basis, 1), more = ablated_inputs(linalg, x, basis, 2);
  EXPECT_NEAR(none(0, 0), 0, 1e-6);
  EXPECT_NEAR(none(0, 1), 0, 1e-6);
  EXPECT_EQ(none(0, 2), 5);
  EXPECT_NEAR(none(1, 0), -0.64, 1e-6);
  EXPECT_NEAR(none(1, 1), 0.48, 1e-6);
  EXPECT_NEAR(half(0, 0), 1.5, 1e-6);
  EXPECT_NEAR(more(0, 1), 8, 1e-6);
  for (size_t i = 0; i < x.size(); i++) EXPECT_EQ(same.data()[i], x.data()[i]);
}

TEST(FoldAblation, TheFoldedLayerIsTheLayerOnChangedInputs) {
  const LinearAlgebra linalg;
  ThreadPool pool(2);
  for (const bool bias : {false, true}) {
    Layer layer = random_layer(9, 7, bias, GateKind::Silu);
    const Matrix<double> weights = random_matrix(2, 9, 40),
                         basis = input_basis(layer.view(), random_matrix(3, bias ? 8 : 7, 41));
    const Matrix<float> x = random_matrix<float>(50, 7, 42);
    const Matrix<double> changed =
        layer_outputs({linalg, pool, layer.view()}, weights, ablated_inputs(linalg, x, basis, 0.25));
    fold_ablation(linalg, basis, 0.25, layer.left);
    fold_ablation(linalg, basis, 0.25, layer.right);
    const Matrix<double> folded = layer_outputs({linalg, pool, layer.view()}, weights, x);
    for (size_t i = 0; i < folded.size(); i++) EXPECT_NEAR(folded.data()[i], changed.data()[i], 1e-4);
  }
}

TEST(ChangeFit, IsTheLineThroughTrueAgainstPredicted) {
  Matrix<double> predicted(4, 1), truth(4, 1);
  for (size_t i = 0; i < 4; i++) {
    predicted(i, 0) = static_cast<double>(i * i);
    truth(i, 0) = 7 - 0.5 * predicted(i, 0);
  }
  ChangeFit fit = change_fit(truth, predicted);
  EXPECT_NEAR(fit.correlation, -1, 1e-15);
  EXPECT_NEAR(fit.slope, -0.5, 1e-15);
  truth(0, 0) += 1;  // by hand: deviations of p -3.5 -2.5 .5 5.5, of t 2.5 1 -.5 -3: both -28, p 49
  fit = change_fit(truth, predicted);
  EXPECT_NEAR(fit.slope, -28.0 / 49, 1e-15);
  EXPECT_NEAR(fit.correlation, -28 / std::sqrt(49 * 16.5), 1e-15);
  EXPECT_EQ(change_fit(truth, Matrix<double>(4, 1)).slope, 0);  // nothing is predicted
  EXPECT_EQ(change_fit(Matrix<double>(4, 1), predicted).correlation, 0);
}

TEST(ChangeFit, OfSeveralOutputsTakesEachMeanOff) {
  const Matrix<double> predicted = random_matrix(30, 3, 9);
  Matrix<double> truth = predicted;
  for (size_t r = 0; r < 30; r++)
    for (size_t c = 0; c < 3; c++) truth(r, c) += 100.0 * static_cast<double>(c);
  EXPECT_NEAR(change_fit(truth, predicted).correlation, 1, 1e-9);
  EXPECT_NEAR(change_fit(truth, predicted).slope, 1, 1e-9);
}

TEST(OutputChanges, ABilinearLayerDoesExactlyWhatItsEigenvectorsSay) {
  OneImageModel m(5);  // no gate, no biases
  const Directions classes = m.reading.classes();
  const GateTerms line = weights_form(m.reading.layer(0));
  const Activations a = m.reading.run(ablation_images(80), 0);
  const std::vector<UnitForm> forms = unit_forms({m.linalg, m.machine.pool, m.reading.layer(0)}, line, classes.weights);
  for (size_t c = 0; c < 3; c++) {
    const Spectrum& s = forms[c].spectrum;
    const Matrix<double> basis = input_basis(m.reading.layer(0), rows_of(s.vectors, {0, 11}));
    const OutputChanges changes =
        output_changes(m.reading, classes, line, a.inputs, ablated_inputs(m.linalg, a.inputs, basis, 0));
    for (size_t u = 0; u < 3; u++) {
      EXPECT_NEAR(change_fit(changes, u).correlation, 1, 1e-9);
      EXPECT_NEAR(change_fit(changes, u).slope, 1, 1e-5);
    }
    for (size_t i = 0; i < 80; i++) {  // what the two eigenvectors of the class contributed, and nothing else
      const std::vector<double> x(a.inputs.view().row(i).begin(), a.inputs.view().row(i).end());
      const std::vector<double> parts = contributions(s, x);
      EXPECT_NEAR(changes.truth(i, c), parts[0] + parts[11], 1e-5);
    }
  }
}

TEST(OutputChanges, AreThoseOfTheModelWithTheFoldedWeights) {
  for (const bool bias : {false, true}) {
    OneImageModel m(6, 1, bias, GateKind::Sqs);
    const Matrix<uint8_t> images = ablation_images(60);
    const Directions classes = m.reading.classes();
    const GateTerms line = weights_form(m.reading.layer(0));
    const Activations before = m.reading.run(images, 0);
    const std::vector<UnitForm> forms =
        unit_forms({m.linalg, m.machine.pool, m.reading.layer(0)}, line, classes.weights);
    const Matrix<double> basis = input_basis(m.reading.layer(0), rows_of(forms[1].spectrum.vectors, {0, 1, 2}));
    const OutputChanges changes =
        output_changes(m.reading, classes, line, before.inputs, ablated_inputs(m.linalg, before.inputs, basis, 0));
    ImageModel folded = m.model;
    const ParamTable table = classifier_params(folded.config).table;
    fold_ablation(m.linalg, basis, 0, table.find(folded.weights.span(), "blocks.0.weight"));
    const Activations after = ImageReading(folded, m.machine.compute, m.linalg).run(images, 0);
    double largest = 0;
    for (size_t i = 0; i < after.logits.size(); i++) {
      const double change = static_cast<double>(before.logits.data()[i] - after.logits.data()[i]);
      EXPECT_NEAR(change, changes.truth.data()[i], 1e-5);
      largest = std::max(largest, std::fabs(change));
    }
    EXPECT_GT(largest, 1e-3);
    // With a gate the weights alone promise more than comes.
    EXPECT_LT(change_fit(changes.truth, changes.predicted).correlation, 0.99999);
  }
}

}  // namespace
}  // namespace glint

// Reading a language model: what the eigenvectors of a block say is what the block does.
#include "glint/spectra/language_reading.h"

#include <cmath>
#include <numeric>

#include "fixtures.h"
#include "glint/model/language_file.h"
#include "tests/model/model_testing.h"

namespace glint {
namespace {

using namespace fixtures;

struct OneLanguageModel {
  explicit OneLanguageModel(GateKind gate)
      : own(std::make_shared<LanguageModel>(make(gate))),
        model(glint_model(own, "memory")),
        reading(model, machine.compute, linalg) {
    const Rng rng(5, Stream::test);
    for (size_t i = 0; i < 25; i++) ids.push_back(static_cast<TokenId>(rng.below(40, i)));
    row = {std::span(ids).first(24), std::span(ids).last(24)};
  }
  static LanguageModel make(GateKind gate) {
    LanguageModel m;
    m.config = {.vocab = 40,
                .layers = 2,
                .d_model = 16,
                .d_hidden = 12,
                .heads = 2,
                .context = 24,
                .gate = {.kind = gate, .params = {}}};
    const ParamTable table = transformer_params(m.config).table;
    m.weights = Matrix<float>(1, table.floats());
    table.initialise(m.weights.span(), 3);
    return m;
  }
  // Direction . P (gate(L x) * (R x)), number by number.
  double output(size_t layer, std::span<const double> direction, std::span<const float> x) const {
    const GluLayerView view = reading.layer(layer);
    const Matrix<double> p = widened(reading.projection(layer)), l = widened(view.left), r = widened(view.right);
    double sum = 0;
    for (size_t h = 0; h < p.cols(); h++) {
      double left = 0, right = 0, weight = 0;
      for (size_t j = 0; j < x.size(); j++) {
        left += l(h, j) * x[j];
        right += r(h, j) * x[j];
        weight += direction[j] * p(j, h);
      }
      sum += weight * gate_info(own->config.gate.kind).value(left, own->config.gate.params) * right;
    }
    return sum;
  }

  // Directions with these hidden weights at inputs x.
  Reading read(size_t layer, const Matrix<double>& weights, const GateTerms& line, const Matrix<float>& x) const {
    const Directions directions{
        .layer = layer, .names = std::vector<std::string>(weights.rows()), .weights = weights, .constants = {}};
    return glint::read(reading, directions, line, {.inputs = x, .logits = {}, .residual_logits = {}});
  }

  std::shared_ptr<LanguageModel> own;
  FamilyModel model;
  LinearAlgebra linalg;
  model_testing::TestMachine machine{2};
  LanguageReading reading;
  std::vector<TokenId> ids;
  TokenRow row;
};

TEST(LanguageReading, BilinearEigenvectorsAreTheLayer) {
  const OneLanguageModel m(GateKind::Identity);
  for (const size_t layer : {0, 1}) {
    const Matrix<float> x = m.reading.inputs({&m.row, 1}, layer, 100);
    ASSERT_EQ(x.rows(), 24u);
    const std::vector<TokenId> tokens = {7, 31};
    const Matrix<double> directions = m.reading.token_directions(tokens);
    const auto read = m.read(layer, m.reading.hidden(layer, directions), weights_form(m.reading.layer(layer)), x);
    ASSERT_EQ(read.units.size(), 2u);
    EXPECT_NEAR(read.fidelity.r2, 1, 1e-9);
    for (size_t u = 0; u < 2; u++)
      for (size_t i = 0; i < x.rows(); i++) {
        const std::vector<double> at(x.view().row(i).begin(), x.view().row(i).end());
        const std::vector<double> terms = contributions(read.units[u].spectrum, at);
        EXPECT_NEAR(std::accumulate(terms.begin(), terms.end(), 0.0),
                    m.output(layer, directions.view().row(u), x.view().row(i)), 1e-5);
      }
  }
}

TEST(LanguageReading, CalibrationBringsAGateNearer) {
  const OneLanguageModel m(GateKind::Sqs);
  const Matrix<float> x = m.reading.inputs({&m.row, 1}, 1, 100);
  const StoredCalibration stored = m.reading.calibrate({&m.row, 1}, "data");
  ASSERT_EQ(stored.terms[Form::calibrated].size(), 2u);
  const std::vector<TokenId> tokens = {7, 31, 12};
  const Matrix<double> weights = m.reading.hidden(1, m.reading.token_directions(tokens));
  const double plain = m.read(1, weights, weights_form(m.reading.layer(1)), x).fidelity.r2;
  const auto read = m.read(1, weights, stored.terms[Form::calibrated][1], x);
  EXPECT_GT(read.fidelity.r2, plain);
  EXPECT_LE(read.fidelity.r2, 1);
  // The fidelity is against what the gate does, not against another form.
  double error = 0, total = 0, mean = 0;
  std::vector<double> ours, theirs;
  const Matrix<double> directions = m.reading.token_directions(tokens);
  for (size_t i = 0; i < x.rows(); i++) {
    ours.push_back(m.output(1, directions.view().row(0), x.view().row(i)));
    const std::vector<double> at(x.view().row(i).begin(), x.view().row(i).end());
    const std::vector<double> terms = contributions(read.units[0].spectrum, at);
    double sum = std::accumulate(terms.begin(), terms.end(), read.units[0].constant);
    for (size_t j = 0; j < read.units[0].linear.size(); j++) sum += read.units[0].linear[j] * at[j];
    theirs.push_back(sum);
    mean += ours.back() / static_cast<double>(x.rows());
  }
  for (size_t i = 0; i < ours.size(); i++) {
    error += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
    total += (ours[i] - mean) * (ours[i] - mean);
  }
  EXPECT_NEAR(read.fidelity.units[0].r2, 1 - error / total, 1e-4);
}

// 1 - sum (y - f)^2 / sum (y - mean)^2, and cov(part, f) / var(f).
double r2_of(const std::vector<double>& y, const std::vector<double>& f) {
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
  double error = 0, total = 0;
  for (size_t i = 0; i < y.size(); i++) {
    error += (y[i] - f[i]) * (y[i] - f[i]);
    total += (y[i] - mean) * (y[i] - mean);
  }
  return 1 - error / total;
}
double share_of(const std::vector<double>& part, const std::vector<double>& f) {
  const auto n = static_cast<double>(f.size());
  const double part_mean = std::accumulate(part.begin(), part.end(), 0.0) / n,
               mean = std::accumulate(f.begin(), f.end(), 0.0) / n;
  double both = 0, own = 0;
  for (size_t i = 0; i < f.size(); i++) {
    both += (part[i] - part_mean) * (f[i] - mean);
    own += (f[i] - mean) * (f[i] - mean);
  }
  return both / own;
}

TEST(LanguageReading, EigenvectorsAndLinearPartAreTheForm) {
  const OneLanguageModel m(GateKind::Sqs);
  const StoredCalibration stored = m.reading.calibrate({&m.row, 1}, "data");
  const std::vector<TokenId> tokens = {7, 31, 12};
  const Matrix<double> directions = m.reading.token_directions(tokens);
  for (const size_t layer : {0, 1}) {
    const Matrix<float> x = m.reading.inputs({&m.row, 1}, layer, 100);
    const Matrix<double> weights = m.reading.hidden(layer, directions);
    const auto read = m.read(layer, weights, stored.terms[Form::calibrated][layer], x);
    const Matrix<double> form = form_outputs({m.linalg, m.reading.pool(), m.reading.layer(layer)},
                                             stored.terms[Form::calibrated][layer], weights, x);
    double largest = 0;
    for (size_t u = 0; u < tokens.size(); u++) {
      std::vector<double> outputs, squares, linears, sums;
      for (size_t i = 0; i < x.rows(); i++) {
        const std::vector<double> at(x.view().row(i).begin(), x.view().row(i).end());
        const std::vector<double> terms = contributions(read.units[u].spectrum, at);
        const std::vector<double>& w = read.units[u].linear;
        outputs.push_back(m.output(layer, directions.view().row(u), x.view().row(i)));
        squares.push_back(std::accumulate(terms.begin(), terms.end(), 0.0));
        linears.push_back(std::inner_product(w.begin(), w.end(), at.begin(), 0.0));
        sums.push_back(squares[i] + linears[i]);
        EXPECT_NEAR(sums[i], form(i, u), 1e-5);
        largest = std::max(largest, std::fabs(linears[i]));
      }
      EXPECT_NEAR(read.fidelity.units[u].r2, r2_of(outputs, sums), 1e-4);
      EXPECT_NEAR(read.fidelity.units[u].eigenvectors_r2, r2_of(outputs, squares), 1e-4);
      EXPECT_NEAR(read.fidelity.units[u].linear_share, share_of(linears, sums), 1e-4);
    }
    EXPECT_GT(largest, 1e-3);  // there is a linear part to leave out
  }
}

TEST(LanguageReading, WithoutShiftsTheEigenvectorsAreAll) {
  const OneLanguageModel m(GateKind::Sqs);
  const Matrix<float> x = m.reading.inputs({&m.row, 1}, 1, 100);
  const std::vector<TokenId> tokens = {7, 31};
  const auto read =
      m.read(1, m.reading.hidden(1, m.reading.token_directions(tokens)), weights_form(m.reading.layer(1)), x);
  EXPECT_EQ(read.fidelity.each(&Trust::eigenvectors_r2), read.fidelity.each(&Trust::r2));
  EXPECT_EQ(read.fidelity.each(&Trust::linear_share), std::vector<double>(2, 0.0));
}

TEST(LanguageReading, FidelityOfALayerIsThatOfItsTokens) {
  const OneLanguageModel m(GateKind::Silu);
  const Matrix<float> x = m.reading.inputs({&m.row, 1}, 1, 100);
  const GateTerms line = m.reading.calibrate({&m.row, 1}, "data").terms[Form::calibrated][1];
  const auto layer = m.reading.layer_fidelity(1, line, x);
  ASSERT_EQ(layer.units.size(), 40u);
  const std::vector<TokenId> tokens = {0, 17, 39};
  const auto read = m.read(1, m.reading.hidden(1, m.reading.token_directions(tokens)), line, x);
  for (size_t u = 0; u < tokens.size(); u++) {
    EXPECT_NEAR(layer.units[tokens[u]].r2, read.fidelity.units[u].r2, 1e-6);
    EXPECT_NEAR(layer.units[tokens[u]].eigenvectors_r2, read.fidelity.units[u].eigenvectors_r2, 1e-6);
    EXPECT_NEAR(layer.units[tokens[u]].linear_share, read.fidelity.units[u].linear_share, 1e-6);
  }
  // All together: the directions of the residual stream are the outputs.
  Matrix<double> axes(16, 16);
  for (size_t i = 0; i < 16; i++) axes(i, i) = 1;
  const auto all = m.read(1, m.reading.hidden(1, axes), line, x);
  EXPECT_NEAR(layer.r2, all.fidelity.r2, 1e-6);
  EXPECT_NEAR(layer.eigenvectors_r2, all.fidelity.eigenvectors_r2, 1e-6);
  EXPECT_NEAR(layer.linear_share, all.fidelity.linear_share, 1e-6);
}

TEST(LanguageReading, NearTokensByCosineAmongCandidates) {
  const OneLanguageModel m(GateKind::Sqs);
  const ConstMatrixView<float> e = m.reading.input_map().matrix;
  std::vector<double> v(e.cols());
  for (size_t j = 0; j < v.size(); j++) v[j] = 2 * static_cast<double>(e(9, j));  // along token 9
  const auto near = m.reading.near(v, 3);
  ASSERT_EQ(near.positive.size(), 3u);
  EXPECT_EQ(near.positive[0].token, 9);
  EXPECT_NEAR(near.positive[0].cosine, 1, 1e-6);
  EXPECT_GE(near.positive[1].cosine, near.positive[2].cosine);
  EXPECT_LE(near.negative[0].cosine, near.negative[1].cosine);
  EXPECT_LT(near.negative[0].cosine, 0);
  const auto others = m.reading.near(v, 3, [](TokenId t) { return t != 9; });
  EXPECT_EQ(others.positive[0].token, near.positive[1].token);
  EXPECT_EQ(others.negative[0].token, near.negative[0].token);
  EXPECT_EQ(m.reading.near(v, 3, [](TokenId t) { return t == 4; }).positive.size(), 1u);
}

TEST(LanguageReading, ScanIsTheSpectrumOfEveryToken) {
  const OneLanguageModel m(GateKind::Gelu);
  const GateTerms line = weights_form(m.reading.layer(0));
  size_t last = 0;
  const auto all = scan_directions(m.reading, line, m.reading.token_scan(0), {0, m.reading.vocab()},
                                   [&](size_t done) { last = done; });
  ASSERT_EQ(all.size(), 40u);
  EXPECT_EQ(last, 40u);
  const Matrix<float> x = m.reading.inputs({&m.row, 1}, 0, 100);
  for (const TokenId token : {TokenId{0}, TokenId{17}, TokenId{39}}) {
    const std::vector<TokenId> one = {token};
    const auto read = m.read(0, m.reading.hidden(0, m.reading.token_directions(one)), line, x);
    const std::vector<double>& values = read.units[0].spectrum.values;
    EXPECT_EQ(all[token].index, token);
    EXPECT_NEAR(all[token].top, values.front(), 1e-9);
    EXPECT_NEAR(all[token].bottom, values.back(), 1e-9);
    EXPECT_NEAR(all[token].rank.participation, spectrum_rank(values).participation, 1e-6);
  }
}

}  // namespace
}  // namespace glint

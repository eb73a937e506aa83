// The parts of a logit: against transformers (tests/golden/make_logit_parts.py), and the share of a GLU
// against the forms that it is made of.
#include "glint/spectra/logit_parts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "glint/model/family_pass.h"
#include "glint/spectra/language_reading.h"
#include "tests/model/model_testing.h"
#include "tests/spectra/fixtures.h"

namespace glint {
namespace {

class FamilyParts : public ::testing::TestWithParam<const char*> {
 protected:
  FamilyParts()
      : golden(fixtures::golden("logit_parts.json")["models"][GetParam()]),
        model(open_weights(std::string(GLINT_GOLDEN_DIR) + "/families/" + GetParam())),
        machine(2),
        reading(model, machine.compute, linalg),
        trace(reading.follow(golden["tokens"].get<std::vector<TokenId>>())) {}
  Matrix<double> direction(bool difference) const {
    const TokenId token = golden["token"], against = golden["against"];
    Matrix<double> u = reading.token_directions({&token, 1});
    const Matrix<double> other = reading.token_directions({&against, 1});
    for (size_t j = 0; j < u.size() && difference; j++) u.data()[j] -= other.data()[j];
    return u;
  }
  LogitParts parts(bool difference) const {
    const TokenId token = golden["token"], against = golden["against"];
    double logit = trace.logits[token], constant = reading.token_constant(token);
    if (difference) logit -= trace.logits[against], constant -= reading.token_constant(against);
    return logit_parts(trace, direction(difference).span(), constant, logit);
  }
  const nlohmann::json golden;
  const FamilyModel model;
  const model_testing::TestMachine machine;
  const LinearAlgebra linalg;
  const LanguageReading reading;
  const ResidualTrace trace;
};

// Both compute in f32 through a few layers of width 16 with parts of size 1 to 10: 1e-4 is a hundred times
// what rounding leaves. The sum is that of the same stream in double, and the head's product in f32.
TEST_P(FamilyParts, AreThoseOfTransformers) {
  for (const bool difference : {false, true}) {
    const nlohmann::json& want = golden[difference ? "difference" : "one"];
    const LogitParts got = parts(difference);
    EXPECT_NEAR(got.logit, want["logit"].get<double>(), 1e-4);
    EXPECT_NEAR(got.embedding, want["embedding"].get<double>(), 1e-4);
    EXPECT_NEAR(got.constant, want["constant"].get<double>(), 1e-4);
    ASSERT_EQ(got.glu.size(), want["glu"].size());
    for (size_t i = 0; i < got.glu.size(); i++) {
      EXPECT_NEAR(got.attention[i], want["attention"][i].get<double>(), 1e-4) << i;
      EXPECT_NEAR(got.glu[i], want["glu"][i].get<double>(), 1e-4) << i;
    }
    EXPECT_NEAR(got.sum(), got.logit, 1e-5);
  }
}

// The local form leaves nothing out, also behind a norm that follows the GLU; in any form the numbers add up.
TEST_P(FamilyParts, SharesOfAGluAddUp) {
  const LogitParts whole = parts(true);
  for (size_t layer = 0; layer < trace.layers(); layer++) {
    const GluLayerView view = reading.layer(layer);
    const Directions along = reading.directions(layer, direction(true), {"difference"});
    const std::span<const float> row = trace.glu_inputs.view().row(layer);
    const std::vector<double> x(row.begin(), row.end());
    GateTerms shifted = weights_form(view);
    shifted.shift.assign(view.hidden(), 0.2);
    for (const GateTerms& line : {weights_form(view), shifted, local_form(view, x)}) {
      const GluShare s = glu_share({linalg, reading.pool(), view}, layer, along.weights.view().row(0), 0, line, trace,
                                   whole.glu[layer]);
      EXPECT_DOUBLE_EQ(s.quadratic + s.linear + s.constant + s.rest, s.share);
      double terms = 0, linear = 0;
      for (size_t k = 0; k < s.terms.size(); k++) {
        terms += s.terms[k];
        EXPECT_NEAR(s.terms[k], s.scale * s.form.spectrum.values[k] * s.projections[k] * s.projections[k],
                    1e-12 * (1 + std::fabs(s.terms[k])));
      }
      for (size_t j = 0; j < s.form.linear.size(); j++)
        linear += s.scale * s.form.linear[j] * (j < x.size() ? x[j] : 1.0);
      // Pre-activations in f32: a share of 1e-5 of terms of size 10.
      EXPECT_NEAR(terms, s.quadratic, 1e-4);
      EXPECT_NEAR(s.others, s.quadratic - terms, 1e-9);
      EXPECT_NEAR(linear, s.linear, 1e-4);
    }
    const GluShare exact = glu_share({linalg, reading.pool(), view}, layer, along.weights.view().row(0), 0,
                                     local_form(view, x), trace, whole.glu[layer]);
    EXPECT_NEAR(exact.rest, 0, 1e-4) << "layer " << layer;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyParts,
                         ::testing::Values("llama", "llama3", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "olmo",
                                           "olmo2", "stablelm", "stablelm_parallel"));

}  // namespace
}  // namespace glint

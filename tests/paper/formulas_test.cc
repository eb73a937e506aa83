// The paper's formulas: what the numbers are, and what every rule makes of others.
#include "glint/paper/formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace glint {
namespace {

std::map<std::string, std::vector<FormulaNumber>> computed() {
  std::map<std::string, std::vector<FormulaNumber>> all;
  for (const FormulaCheck& c : compute_formulas()) all[c.id] = c.numbers;
  return all;
}

Verdict judged(const std::string& id, const std::vector<double>& values) {
  FormulaCheck check{id, {}};
  for (const double v : values) check.numbers.push_back({"", v});
  for (const FormulaFinding& f : judge_formulas({&check, 1}))
    if (f.id == id) return f.verdict;
  ADD_FAILURE() << "no formula " << id;
  return Verdict::not_tested;
}

TEST(Formulas, NumbersAreThoseOfTheAlgebra) {
  auto all = computed();
  const double c = 0.01, lambda = 0.5;
  EXPECT_EQ(all["limit"][0].value, 0);
  EXPECT_LT(all["factor"][0].value, 1e-14);
  EXPECT_NEAR(all["factor"][1].value, 1, 0.5);  // near 0: 2c against -c
  EXPECT_NEAR(all["gradients"][1].value, 2 * c, 1e-5);
  EXPECT_NEAR(all["gradients"][3].value, 1 / lambda, 1e-5);
  EXPECT_GT(all["direction-factor"][0].value, 0.5);
  EXPECT_LT(all["direction-factor"][1].value, 1e-14);
  EXPECT_EQ(all["direction-kept"][0].value, 1);
  EXPECT_EQ(all["direction-kept"][1].value, 0);
  EXPECT_NEAR(all["direction-kept"][2].value, 2 * c, 1e-15);
  EXPECT_LT(all["p-one"][0].value, 1e-13);
  EXPECT_NEAR(all["symmetric"][0].value, std::sqrt(0.5), 0.2);  // of two independent vectors
  EXPECT_LT(all["symmetric"][1].value, 1e-14);
  const double x = 20;  // d ln((x - c)/(1 + lambda x)) / d ln x
  EXPECT_NEAR(all["quasi-linear"][2].value, x / (x - c) - lambda * x / (1 + lambda * x), 1e-6);
  EXPECT_NEAR(all["quasi-linear"][5].value, all["quasi-linear"][2].value + 1, 1e-6);
}

TEST(Formulas, RulesGiveEveryVerdict) {
  EXPECT_EQ(judged("limit", {0}), Verdict::holds);
  EXPECT_EQ(judged("limit", {1e-3}), Verdict::fails);
  EXPECT_EQ(judged("p-one", {1e-16}), Verdict::holds);
  EXPECT_EQ(judged("p-one", {1e-3}), Verdict::fails);
  EXPECT_EQ(judged("factor", {0, 1}), Verdict::fails);
  EXPECT_EQ(judged("factor", {1, 0}), Verdict::holds);
  EXPECT_EQ(judged("gradients", {2e-6, .02, 2e6, 2}), Verdict::holds);
  EXPECT_EQ(judged("gradients", {2e-6, 2e-6, 2e6, 2}), Verdict::in_part);
  EXPECT_EQ(judged("gradients", {2e-6, 2e-6, 2e6, 2e6}), Verdict::fails);
  EXPECT_EQ(judged("direction-factor", {1.4, 0}), Verdict::fails);
  EXPECT_EQ(judged("direction-factor", {0, 0}), Verdict::holds);
  EXPECT_EQ(judged("direction-kept", {0, 0, 0}), Verdict::holds);
  EXPECT_EQ(judged("direction-kept", {1, 0, .02}), Verdict::in_part);
  EXPECT_EQ(judged("direction-kept", {1, 1, .02}), Verdict::fails);
  EXPECT_EQ(judged("quasi-linear", {1, 2, 1, 2, 3, 2}), Verdict::holds);
  EXPECT_EQ(judged("quasi-linear", {1, .5, .1, 2, 1.5, 1.1}), Verdict::in_part);
  EXPECT_EQ(judged("quasi-linear", {3, .5, .1, 2, 1.5, 1.1}), Verdict::fails);
  EXPECT_EQ(judged("symmetric", {.7, 0}), Verdict::in_part);
  EXPECT_EQ(judged("symmetric", {0, 0}), Verdict::holds);
  EXPECT_EQ(judged("symmetric", {.7, .1}), Verdict::fails);
}

TEST(Formulas, TheTableHasEveryStatementAndNumber) {
  const std::vector<FormulaCheck> checks = compute_formulas();
  const ReportTable t = formulas_table(checks);
  EXPECT_EQ(t.rows.size(), checks.size());
  size_t numbers = 0;
  for (const FormulaCheck& c : checks) numbers += c.numbers.size();
  EXPECT_EQ(t.data.rows(), numbers);
  EXPECT_TRUE(formulas_table({}).rows.empty());
  for (const FormulaFinding& f : judge_formulas({})) EXPECT_EQ(f.verdict, Verdict::not_tested);
}

}  // namespace
}  // namespace glint
